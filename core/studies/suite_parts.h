#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

// Private to core/studies: the table of a suite's benchmarks.
namespace lpes::studies {

/// {"benchmarks": [label…], "rows": [{"method", "mean_accuracy": […by benchmark], "intervals": [{"low", "high"}…],
/// "average", "average_interval", "held_out": […by benchmark], "average_held_out"}…], "shared_items": [[label,
/// label]…]}: rows by method, null for a benchmark that has not finished; "held_out" is false where the method's
/// profile was searched on items of the benchmark, and null where nobody knows; the average is over those that have,
/// its interval out of theirs (analysis::meanOfEstimatesInterval). That takes them for independent: null where two of
/// them are in `sharedItems`, of which the table has those.
[[nodiscard]] nlohmann::json suiteTableJson(std::span<const std::string> methods, const nlohmann::json& parts,
                                            std::span<const std::pair<std::string, std::string>> sharedItems);

}  // namespace lpes::studies
