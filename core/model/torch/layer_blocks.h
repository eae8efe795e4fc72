#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/model/model_config.h"
#include "core/model/torch/decoder_weights.h"

namespace lpes::model {

/// The steps of a layer before and behind attention, block of rows by block of rows: each goes through norms, products
/// and activation while it is in its processor's second-level cache, with the next weights on their way there. The same
/// bits as one step after the other over all rows.

/// Does this pay: AMX, all matrices in its order, enough rows for every thread and few enough values in one?
[[nodiscard]] bool worthBlocks(const ModelConfig& config, const LayerWeights& weights, std::int64_t rows);

/// Values of bfloat16 that both work in.
[[nodiscard]] std::int64_t blockScratch(const ModelConfig& config, std::int64_t rows);

/// hidden [N, E] += pending (unless undefined); qkv [N, (H+2K)·D] = the projection of its norm.
void startLayer(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& hidden,
                const at::Tensor& pending, const at::Tensor& qkv, const at::Tensor& scratch);

/// context [N, H·D], what attention found; hidden [N, E] becomes what the layer puts out. All contiguous.
void finishLayer(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& context,
                 const at::Tensor& hidden, const at::Tensor& scratch);

}  // namespace lpes::model
