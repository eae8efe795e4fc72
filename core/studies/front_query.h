#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/exporters/profile.h"
#include "core/store/store.h"

namespace lpes::studies {

/// The profile of member `number` (from 1, as tables and plots count) of a finished search's Pareto front. Its
/// provenance says which member it is and what it does on the held-out items; of one that was not asked them, that it
/// was not. Usage where the run has no front or the front has no such member.
[[nodiscard]] Result<exporters::Profile> profileOfFront(store::StoreReader& store, const store::RunRow& run,
                                                        std::int64_t number);
/// `profileJson`: the run's own profile; empty: it has none yet.
[[nodiscard]] Result<exporters::Profile> profileOfFront(const store::RunRow& run, const std::string& profileJson,
                                                        std::int64_t number);

}  // namespace lpes::studies
