#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "core/model/torch/block_attention.h"

namespace lpes::model {

/// Causal attention of every part under `rule`: q [H, N, D], k and v [K, M, D] (rows of D contiguous values, any head
/// stride); out [N, H·D] contiguous. Query head h uses key/value head h / (H/K). Without gradients only.
///
/// Which way is taken depends on type, shapes and machine alone (measured on two cores with AMX, one layer of 9 heads,
/// D = 64, LibTorch's fused attention against matmul–softmax–matmul: bfloat16 0.6 against 1.1 ms at T = 190, 6 against
/// 27 ms at 811; float32 1.2 against 1.4 and 13 against 51 ms, so written-out attention is taken only where LibTorch's
/// has no way to say the rule):
///   bfloat16, at least 16 queries, with AMX, D ≤ 256            tileAttention
///   bfloat16, at least 16 queries, with AVX512-BF16, even D     blockAttention
///   fewer than 16 queries (decoding; in bfloat16 not those that go on with a prompt)  row by row, RowKernels::attend
///   a soft cap, or a window that hides keys   matmul–softmax–matmul in float32, blocks of queries against the keys
///                             that they see, so that memory is O(T + window)
///   everything else           LibTorch's fused attention per part
void causalAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     std::span<const AttentionPart> parts, const AttentionRule& rule, const at::Tensor& out,
                     BlockAttentionScratch& scratch);

/// For tests: what to take for bfloat16 at most; a way that the machine lacks gives way to the next. Not while another
/// thread computes.
enum class AttentionWay { Tiles, Blocks, LibTorch };
void useAttention(AttentionWay way);

/// cap·tanh(values / cap); the values themselves where cap is 0.
[[nodiscard]] at::Tensor softcapped(const at::Tensor& values, double cap);

/// Probabilities of the last query: q [H, D] (after rotation), k [K, S, D] → [H, S] float32, softmax in float32; 0 for
/// keys that the window hides.
[[nodiscard]] at::Tensor lastRowProbabilities(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule);

}  // namespace lpes::model
