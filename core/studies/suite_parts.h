#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

// Private to core/studies: the table of a suite's benchmarks.
namespace lpes::studies {

/// {"benchmarks": [label…], "rows": [{"method", "mean_accuracy": […by benchmark], "intervals": [{"low", "high"}…],
/// "average", "average_interval"}…]}: rows by method, null for a benchmark that has not finished; the average is over
/// those that have, its interval out of theirs (analysis::meanOfEstimatesInterval: benchmarks are independent).
[[nodiscard]] nlohmann::json suiteTableJson(std::span<const std::string> methods, const nlohmann::json& parts);

}  // namespace lpes::studies
