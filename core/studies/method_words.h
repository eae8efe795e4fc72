#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/rope/position_method.h"

/// What a position method does, for people.
namespace lpes::studies {

/// A part of a method as one sentence without its full stop, with the numbers that it has for this model.
[[nodiscard]] std::string partMeaning(const rope::MethodPart& part, const rope::PositionMethod& method,
                                      const rope::MethodModel& model);

/// {"passes", "attentions_per_layer", "key_caches", "value_caches", "one_prompt", "context", "meaning"}; `context`:
/// tokens that a text may have under the method.
[[nodiscard]] nlohmann::json costJson(const rope::PositionMethod& method, const rope::MethodModel& model);

}  // namespace lpes::studies
