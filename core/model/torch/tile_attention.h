#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "core/model/torch/block_attention.h"

namespace lpes::model {

/// The largest head dimension that tileAttention takes.
constexpr std::int64_t kMostTileHeadDim = 256;

/// blockAttention's contract where hasTiles() (tile_product.h), on the matrix units directly (tile_kernels.h): 32
/// queries meet 128 keys, of several query heads of a group in turn, so that keys and values come from the nearer
/// caches.
///
/// Processor time of one thread, a layer of 9 heads, D = 64, against blockAttention through oneDNN and LibTorch's fused
/// attention: T = 190 0.12, 0.31, 0.55 ms; 811 1.3, 3.9, 5.1 ms; 4,096 34, 84, 77 ms.
void tileAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::span<const AttentionPart> parts,
                   const AttentionRule& rule, const at::Tensor& out, BlockAttentionScratch& scratch);

}  // namespace lpes::model
