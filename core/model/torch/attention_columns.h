#pragma once

#include <ATen/core/Tensor.h>

#include <stop_token>

#include "core/model/torch/attention_rule.h"

namespace lpes::model {

/// How much of the softmax's mass each key receives from all queries: q [H, T, D], k [K, T, D] after rotation → [T]
/// float64 on their device,
///
///     c_k = Σ_{t ≥ k} (1/H) Σ_h A_{h,t,k}
///
/// which add up to T. Our kernel where it runs, else columnSumsInBlocks. `stop` is looked at between blocks of queries
/// (throws StopRequested).
[[nodiscard]] at::Tensor columnSums(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule,
                                    const std::stop_token& stop);

/// The same out of LibTorch's operators, in blocks of queries: memory is O(T).
[[nodiscard]] at::Tensor columnSumsInBlocks(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule,
                                            const std::stop_token& stop);

}  // namespace lpes::model
