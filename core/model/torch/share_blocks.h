#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "core/model/torch/attention_rule.h"

namespace lpes::model {

/// What some queries give to the keys that any of them sees.
struct ShareBlock {
    std::int64_t firstQuery = 0, queries = 0;
    std::int64_t firstKey = 0, keys = 0;
    at::Tensor shares;  ///< [K, H/K · queries, keys] float32 softmax; 0 for what a query does not see
};

/// Causal attention written out in LibTorch's operators, on any device: scores, soft cap, mask and softmax in float32,
/// for blocks of queries against the keys that they see, so that memory is O(S). q [H, N, D] are the last N of the S
/// positions of k [K, S, D]; query head h uses key head h / (H/K). The body sees blocks in order, and may change the
/// shares.
void forShareBlocks(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule,
                    const std::function<void(const ShareBlock&)>& body);

}  // namespace lpes::model
