#include "core/model/torch/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <vector>

namespace lpes::model {

namespace {

constexpr std::int64_t kFewestBlockQueries = 16;

bool& blockAttentionInUse() {
    static bool use = hasBlockAttention();
    return use;
}

void fusedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out) {
    const std::int64_t heads = q.size(0), queries = q.size(1), headDim = q.size(2);
    const std::int64_t kvHeads = k.size(0), keys = k.size(1), group = heads / kvHeads;
    const double scale = 1.0 / std::sqrt(static_cast<double>(headDim));
    if (queries == 1) {
        // The heads of a group stand in for queries, so that keys and values need not be repeated per query head.
        const at::Tensor grouped = q.reshape({1, kvHeads, group, headDim});
        const at::Tensor result =
            at::scaled_dot_product_attention(grouped, k.unsqueeze(0), v.unsqueeze(0), {}, 0.0, false, scale);
        out.view({kvHeads, group, headDim}).copy_(result.squeeze(0));
        return;
    }
    std::optional<at::Tensor> mask;
    if (queries < keys) {
        // LibTorch's causal flag aligns the mask with the first key; here the queries are the last ones.
        mask = at::ones({queries, keys}, at::kBool).tril(keys - queries);
    }
    const at::Tensor result = at::scaled_dot_product_attention(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), mask,
                                                               0.0, !mask.has_value(), scale, group > 1);
    out.view({queries, heads, headDim}).copy_(result.squeeze(0).transpose(0, 1));
}

}  // namespace

void useBlockAttention(bool use) {
    blockAttentionInUse() = use && hasBlockAttention();
}

void causalAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     std::span<const AttentionPart> parts, const at::Tensor& out, BlockAttentionScratch& scratch) {
    std::vector<AttentionPart> blocked;
    for (const AttentionPart& part : parts) {
        if (blockAttentionInUse() && q.scalar_type() == at::kBFloat16 && q.size(2) % 2 == 0 &&
            part.queries >= kFewestBlockQueries) {
            blocked.push_back(part);
            continue;
        }
        const auto keys = [&](const at::Tensor& all) { return all.narrow(1, part.keyBegin, part.keys); };
        fusedAttention(q.narrow(1, part.queryBegin, part.queries), keys(k), keys(v),
                       out.narrow(0, part.queryBegin, part.queries));
    }
    if (!blocked.empty()) blockAttention(q, k, v, blocked, out, scratch);
}

at::Tensor lastRowProbabilities(const at::Tensor& q, const at::Tensor& k) {
    const std::int64_t heads = q.size(0), headDim = q.size(1), kvHeads = k.size(0), keys = k.size(1);
    const at::Tensor grouped = q.reshape({kvHeads, heads / kvHeads, headDim}).to(at::kFloat);
    const at::Tensor scores =
        at::matmul(grouped, k.to(at::kFloat).transpose(1, 2)) * (1.0 / std::sqrt(static_cast<double>(headDim)));
    return at::softmax(scores, -1).view({heads, keys});
}

}  // namespace lpes::model
