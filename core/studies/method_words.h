#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/rope/position_method.h"

/// What a position method does, for people.
namespace lpes::studies {

/// A part of a method as one sentence without its full stop, with the numbers that it has for this model.
[[nodiscard]] std::string partMeaning(const rope::MethodPart& part, const rope::PositionMethod& method,
                                      const rope::MethodModel& model);

/// Which bases Attention Buckets' search looked at and which it found: "those that a greedy search for 6 found …".
[[nodiscard]] std::string bucketSearchWords(const rope::BucketSearch& search, std::span<const double> found);
/// Which it looks at on any model, in words.
[[nodiscard]] std::string bucketSearchRule();
/// {"min_base", "max_base", "step", "candidates", "first_distance", "last_distance" (tokens), "count" (asked for),
/// "found": [bases in the order in which they were chosen], "words"}; null where no bases were searched for.
[[nodiscard]] nlohmann::json bucketSearchJson(const rope::PositionMethod& method);

/// {"passes", "attentions_per_layer", "key_caches", "value_caches", "one_prompt", "context", "meaning"}; `context`:
/// tokens that a text may have under the method.
[[nodiscard]] nlohmann::json costJson(const rope::PositionMethod& method, const rope::MethodModel& model);

}  // namespace lpes::studies
