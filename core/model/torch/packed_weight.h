#pragma once

#include <ATen/core/Tensor.h>

#include "core/model/torch/large_pages.h"

namespace lpes::model {

/// Can bfloat16 weights be kept in the order in which this processor's matrix units read them? With AMX in our own
/// (tile_product.h), where the shape allows it; otherwise, and with AVX512-BF16 alone, in oneDNN's if this LibTorch has
/// it. Without packing every product first orders its weights: a fifth of the time at 570 rows, a third at 190.
[[nodiscard]] bool hasPackedWeights();

/// [out, in] bfloat16 → an opaque tensor of the same size in memory. Call outside InferenceMode.
[[nodiscard]] at::Tensor packWeight(const at::Tensor& weight);
/// The same in that memory, where the order is our own.
[[nodiscard]] at::Tensor packWeight(const at::Tensor& weight, LargePages& memory);
/// The [out, in] tensor again, bit for bit.
[[nodiscard]] at::Tensor unpackWeight(const at::Tensor& packed);

/// x·Wᵀ + b, x [N, in] bfloat16 → [N, out]: `out` where the product can be written there (and `out` is not undefined),
/// else a tensor of its own. No gradients.
[[nodiscard]] at::Tensor packedProduct(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias,
                                       const at::Tensor& out = {});
/// Rows of the weight that was packed.
[[nodiscard]] std::int64_t packedOutputs(const at::Tensor& packed);

}  // namespace lpes::model
