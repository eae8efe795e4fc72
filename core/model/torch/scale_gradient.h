#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/shared_prefixes.h"

namespace lpes::model {

/// The decoder on plain, differentiable operations: d(mean answer NLL)/d(every scale of `method`), prompt by prompt.
/// Tokens of all prompts share the matrix products; attention stays inside each prompt, and each has scales of its own
/// to differentiate, so that one backward pass keeps the prompts apart. Angles and their cos and sin are float64 and
/// float32 functions of the scales, queries and keys are rotated in float32; everything else runs in the weights' type.
/// The weights are constants; packed ones are unpacked. A beginning that prompts share goes through the products once
/// on the way there, and back for each of them: their gradients differ. `shared`: of scoredSequences(batch). Memory
/// grows with L·T, and by a copy of packed weights, until the call returns. `method` has passed differentiableScales.
/// Must not run inside InferenceMode. Throws StopRequested.
[[nodiscard]] std::vector<ScaleGradient> differentiateScales(const ModelConfig& config, const DecoderWeights& weights,
                                                             std::span<const ScoredPrompt> batch,
                                                             const SharedPrefixes& shared, const PositionMethod& method,
                                                             const std::stop_token& stop);

/// Usage where the method has no scales to differentiate; Unsupported where it is more than scales of one kind: by
/// layer, by layer and key/value head, or divisors by layer and frequency.
[[nodiscard]] Result<void> differentiableScales(const PositionMethod& method);

}  // namespace lpes::model
