#pragma once

// Private to core/store: numbers of runs inside the texts of a run.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lpes::store {

/// What a run's number in one data base is in another.
using RunNumbers = std::map<std::int64_t, std::int64_t>;

/// JSON text with the number behind every key "run_id" exchanged, every other byte as it was. Numbers that `numbers`
/// does not have stay.
[[nodiscard]] std::string renumbered(std::string_view json, const RunNumbers& numbers);

/// The run that settings name as the whole that they are a part of ("part_of": {"value": "12/LABEL"}): a suite or a
/// study. None where they are no part, or no settings.
[[nodiscard]] std::optional<std::int64_t> wholeOf(const std::string& settingsJson);

/// The text with another run as the whole wherever "part_of" names one; none: it is no part any more. For settings, and
/// for results, which have them under "settings".
[[nodiscard]] std::string withWhole(const std::string& json, std::optional<std::int64_t> whole);

/// Settings without what depends on the data base: equal for two copies of one run.
[[nodiscard]] std::string comparableSettings(const std::string& settingsJson);

}  // namespace lpes::store
