#pragma once

#include <ATen/core/Tensor.h>

namespace lpes::model {

/// Is there a oneDNN in this LibTorch that multiplies by prepacked bfloat16 weights on this processor's matrix units?
/// Without packing every product first puts its weights into the order that the units read: a fifth of the time at 570
/// rows, a third at 190.
[[nodiscard]] bool hasPackedWeights();

/// [out, in] bfloat16 → an opaque tensor of the same size in memory. Call outside InferenceMode.
[[nodiscard]] at::Tensor packWeight(const at::Tensor& weight);
/// The [out, in] tensor again, bit for bit.
[[nodiscard]] at::Tensor unpackWeight(const at::Tensor& packed);

/// x·Wᵀ + b, x [N, in] bfloat16 → [N, out]. No gradients.
[[nodiscard]] at::Tensor packedProduct(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias);

}  // namespace lpes::model
