#pragma once

#include <stop_token>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/model/torch/decoder_weights.h"

namespace lpes::model {

/// The decoder on plain, differentiable operations: d(mean answer NLL)/d(scale of layer h). Angles and their cos and
/// sin are float64 and float32 functions of the scales, queries and keys are rotated in float32; everything else runs
/// in the weights' type. The weights are constants; packed ones are
/// unpacked. Memory grows with L·T, and by a copy of packed weights, until the call returns. Must not run inside
/// InferenceMode. Throws StopRequested.
[[nodiscard]] ScaleGradient differentiateScales(const ModelConfig& config, const DecoderWeights& weights,
                                                const ScoredPrompt& prompt, const LayerScales& scales,
                                                const std::stop_token& stop);

}  // namespace lpes::model
