#pragma once

#include <nlohmann/json.hpp>

// Private to core/studies.
namespace lpes::studies {

/// What our search would take in the LPES paper's setting: a model of 7B on four H100, 200 items at three positions,
/// beside the 3–4 hours that the paper reports. Arithmetic, not a measurement: 2·parameters FLOP for each token, and
/// causal attention, at a stated share of the H100's rate of bfloat16 products. {"setting", "published_hours": [3, 4],
/// "hours", "hours_low", "hours_high", "candidates", "prompts", "tokens", "flop", "share_of_peak", "assumptions":
/// […]}; `hours_low` and `hours_high` are those of a larger and a smaller share.
[[nodiscard]] nlohmann::json paperForecast();

}  // namespace lpes::studies
