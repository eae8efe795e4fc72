#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/store/store.h"

// Private to core/studies: what a suite's benchmarks left in the data base.
namespace lpes::studies {

/// What a comparison's setting "part_of" says: "RUN/LABEL".
[[nodiscard]] std::string suitePartName(std::int64_t suiteRun, const std::string& label);

/// Label → the newest comparison of that benchmark of a suite. Those that have not begun are not there.
[[nodiscard]] Result<std::map<std::string, store::RunRow>> suiteParts(store::StoreReader& reader,
                                                                      std::int64_t suiteRun);

/// {"benchmarks": [label…], "rows": [{"method", "mean_accuracy": […by benchmark], "average"}…]}: rows by method, null
/// for a benchmark that has not finished; the average is over those that have.
[[nodiscard]] nlohmann::json suiteTableJson(std::span<const std::string> methods, const nlohmann::json& parts);

}  // namespace lpes::studies
