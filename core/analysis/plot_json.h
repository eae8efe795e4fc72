#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/analysis/plot_data.h"
#include "core/base/result.h"

/// Plots as JSON, which is how the command line (no Qt) hands them to the drawing program `lpes-render`.
///
/// {"kind": "curve" | "accuracy" | "convergence" | "progress" | "attention" | "deviation" | "sensitivity" | "pareto" |
/// "loss" | "methods",
/// "title": …, "subtitle": …, …}; the other keys are the fields of the struct in snake_case, roles are "baseline",
/// "current", "best", "other", pairs are arrays of two numbers, estimates arrays of three (value, low, high). JSON has
/// no NaN: a measurement that is not finite is written as null and read back as NaN.
namespace lpes::analysis {

/// Never fails; text that is not UTF-8 is the caller's to repair (dump() with an error handler).
[[nodiscard]] nlohmann::json toJson(const PlotData& data);

/// BadInput with the path of the offending key ("series[1].role is "bset"; …"): a missing or unknown key, a wrong type,
/// an unknown kind or role, arrays whose lengths do not fit together, an empty scale range.
[[nodiscard]] Result<PlotData> fromJson(const nlohmann::json& json);

}  // namespace lpes::analysis
