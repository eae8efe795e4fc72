#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace lpes::model {

/// May this process use AMX with bfloat16, and are there AVX-512 and its BF16 conversions beside it?
[[nodiscard]] bool hasTiles();

/// Can a [out, in] bfloat16 matrix be cut into whole tiles?
[[nodiscard]] bool fitsTiles(const at::Tensor& weight);

/// [out, in] bfloat16 → [out/32, in/32, 2, 16, 32] in the order that the matrix units read (product_kernels.h), and
/// back. Only where fitsTiles.
[[nodiscard]] at::Tensor packTiles(const at::Tensor& weight);
void packTiles(const at::Tensor& weight, const at::Tensor& packed);
[[nodiscard]] std::array<std::int64_t, 5> tileShape(const at::Tensor& weight);
[[nodiscard]] at::Tensor unpackTiles(const at::Tensor& packed);

/// `out` of the [out, in] matrix.
[[nodiscard]] std::int64_t tileOutputs(const at::Tensor& packed);

/// The last rows of x [N, in], where they are no whole tile, completed to one with zeros; else undefined.
[[nodiscard]] at::Tensor completedRows(const at::Tensor& x);

/// out [N, out] = x·Wᵀ + b, x [N, in] with any row stride, out contiguous, bias [out] or undefined; bfloat16, sums in
/// float32. Only where hasTiles(). A row's result depends neither on the other rows (one row alone is summed in another
/// order) nor on the number of threads. One row goes at the speed at which the weights come from memory.
void tileProduct(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias, const at::Tensor& out);

}  // namespace lpes::model
