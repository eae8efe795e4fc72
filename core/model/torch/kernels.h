#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "core/model/model_config.h"
#include "core/model/torch/position_tables.h"
#include "core/model/torch/row_kernels.h"

/// Element-wise steps of a decoder layer, fused so that each reads and writes its rows once. All of them follow the
/// roundings of transformers' Llama in the compute type, take float32 or bfloat16, split rows over the session's
/// threads, and give the same bits for any number of them. The inner loops are row_kernels.h.
namespace lpes::model::kernels {

/// Does this processor run the version for wide vectors (AVX-512 F, BW, DQ, VL and BF16)?
[[nodiscard]] bool hasWideVectors();
/// For tests: false runs the portable version everywhere. Not while another thread computes.
void useWideVectors(bool use);

/// The inner loops of the version in use: of blockAttention, and of rows of T = float or Bf16.
[[nodiscard]] const AttentionKernels& attentionKernels();
template <class T>
[[nodiscard]] const RowKernels<T>& rowKernels();
template <>
[[nodiscard]] const RowKernels<float>& rowKernels<float>();
template <>
[[nodiscard]] const RowKernels<Bf16>& rowKernels<Bf16>();

/// out = weight · round(x · rsqrt(mean(x²) + eps)), mean in float32. x, out [N, E], weight [E] of x's type; a float32
/// weight beside bfloat16 x is multiplied before the one rounding (Gemma).
void rmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& out);

/// x += delta, then out = rmsNorm(x).
void addRmsNorm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double eps,
                const at::Tensor& out);

/// Norms every head on its own and in place: x [N, H·D] with any row stride, weight [D], as rmsNorm.
void normHeads(const at::Tensor& x, const at::Tensor& weight, double eps);

/// out = round(activation(gate)) · up. gate, up [N, I] with any row stride, out [N, I]
void gatedActivation(Activation activation, const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out);

/// Rotates queries and keys by their positions' angles and lays everything out by head:
/// q [N, H·D], k, v [N, K·D] with any row stride → qOut [H, N, D], kOut and vOut [K, N, D] with any head stride.
/// Half-split: (a, b) → (a·cos − b·sin, b·cos + a·sin), a the first half of the R ≤ D leading values that the table has
/// angles for; the other values pass. tableRows [N]: the table's row of each token.
void rotateAndSplit(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const RotaryTable& table,
                    std::span<const std::int32_t> tableRows, const at::Tensor& qOut, const at::Tensor& kOut,
                    const at::Tensor& vOut);

}  // namespace lpes::model::kernels
