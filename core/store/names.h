#pragma once

// Private to core/store: the words that enumerations have in the data base.

#include <optional>
#include <string_view>

#include "core/store/rows.h"

namespace lpes::store {

[[nodiscard]] std::optional<RunState> runStateFromName(std::string_view name);
[[nodiscard]] std::string_view candidateStateName(CandidateRow::State state);  ///< "evaluated", …
[[nodiscard]] std::optional<CandidateRow::State> candidateStateFromName(std::string_view name);

}  // namespace lpes::store
