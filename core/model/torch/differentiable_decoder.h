#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>

#include "core/model/model_config.h"
#include "core/model/torch/attention_rule.h"
#include "core/model/torch/decoder_weights.h"

/// The decoder on plain, differentiable operations, one prompt of T tokens at a time. The weights are constants of the
/// compute type (packed ones are unpacked, stored ones dequantised, at each use). Nothing here may run inside
/// InferenceMode where a gradient is wanted.
namespace lpes::model::differentiable {

/// Rows of a pass of which the last repeat others: in every layer they have the values of those. Products compute the
/// rows ahead of them alone and copy; on the way back every row has a gradient of its own.
struct RepeatedRows {
    std::int64_t distinct = 0;  ///< rows ahead of the repeated ones
    at::Tensor originals;  ///< [T − distinct] rows among them, on the layer's device; undefined: none is repeated
};

/// x·Wᵀ + b: [T, in] → [T, out].
[[nodiscard]] at::Tensor project(const at::Tensor& input, const Projection& projection, const RepeatedRows& rows = {});

/// Rows of the embedding [T, E] on the first layer's device.
[[nodiscard]] at::Tensor embedded(const ModelConfig& config, const DecoderWeights& weights,
                                  std::span<const std::int64_t> ids);

/// [T, heads·D] → rotated [1, heads, T, D] in the type of `rows`, computed in float32; cos and sin [T, R/2] or
/// [heads, T, R/2] float32, the values from R on pass.
[[nodiscard]] at::Tensor rotated(const at::Tensor& rows, std::int64_t headDim, const at::Tensor& cos,
                                 const at::Tensor& sin);

/// Causal attention: q [1, H, T, D], k and v [1, K, T, D] → [1, H, T, D]. Memory is O(T), but O(H·T²) under a soft cap
/// or a window that hides keys.
[[nodiscard]] at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                   const AttentionRule& rule);

/// What a layer does between its projections: q [T, H·D] and k [T, K·D] before the rotation (normed where the model
/// norms them), v [1, K, T, D] → [1, H, T, D].
using Attend = std::function<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)>;

/// Output of one layer for its input x [T, E], on the layer's device.
[[nodiscard]] at::Tensor layerOutput(const ModelConfig& config, const LayerWeights& layer, const at::Tensor& x,
                                     const Attend& attend, const RepeatedRows& rows = {});

/// Logits of hidden rows [R, E] under a head → [R, V] float32.
[[nodiscard]] at::Tensor logits(const ModelConfig& config, const at::Tensor& finalNorm, const Projection& head,
                                const at::Tensor& rows);

}  // namespace lpes::model::differentiable
