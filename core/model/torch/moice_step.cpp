#include "core/model/torch/moice_step.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/model/torch/attention.h"
#include "core/model/torch/kernels.h"

namespace lpes::model {

std::shared_ptr<const MoiceWeights> MoiceWeights::make(std::shared_ptr<const rope::MoiceRouters> routers,
                                                       std::span<const at::Device> devices) {
    auto made = std::make_shared<MoiceWeights>();
    const auto count = static_cast<std::int64_t>(routers->bases.size());
    std::vector<std::int64_t> distinct;  // of each router output
    for (std::size_t i = 0; i < routers->bases.size(); ++i) {
        const auto same = std::find(routers->bases.begin(), routers->bases.end(), routers->bases[i]);
        const auto first = static_cast<int>(same - routers->bases.begin());
        const auto known = std::find(made->experts.begin(), made->experts.end(), first);
        distinct.push_back(known - made->experts.begin());
        if (known == made->experts.end()) made->experts.push_back(first);
    }
    made->merge = at::zeros({count, static_cast<std::int64_t>(made->experts.size())}, at::kFloat);
    for (std::int64_t i = 0; i < count; ++i) made->merge[i][distinct[static_cast<std::size_t>(i)]].fill_(1.0);
    const auto tensor = [](const std::vector<float>& values, std::int64_t rows, at::Device device) {
        return at::tensor(values).view({rows, -1}).t().contiguous().to(device);
    };
    for (std::size_t layer = 0; layer < routers->layers.size(); ++layer) {
        const rope::MoiceRouters::Layer& from = routers->layers[layer];
        const at::Device device = devices[layer];
        made->layers.push_back(
            {tensor(from.w1, count, device), tensor(from.w3, count, device), tensor(from.w2, count, device)});
    }
    made->routers = std::move(routers);
    return made;
}

at::Tensor moiceLogits(const at::Tensor& x, const MoiceWeights::Layer& layer) {
    const at::Tensor wide = x.to(at::kFloat);
    return at::matmul(at::silu(at::matmul(wide, layer.w1)) * at::matmul(wide, layer.w3), layer.w2);
}

at::Tensor keptExperts(const at::Tensor& shares, int topK) {
    return std::get<1>(at::sort(shares, std::optional<bool>(true), -1, true)).narrow(-1, 0, topK);
}

at::Tensor moiceShares(const at::Tensor& logits, int topK) {
    const at::Tensor shares = at::softmax(logits, -1);
    if (topK >= logits.size(-1)) return shares;
    const at::Tensor kept = shares * at::zeros_like(shares).scatter(-1, keptExperts(shares, topK), 1.0);
    return kept / kept.sum(-1, true);
}

MoiceStep::MoiceStep(const rope::PositionMethod& method, const StepContext& context,
                     std::shared_ptr<const MoiceWeights> weights)
    : m_method(method), m_tables(context.tables), m_weights(std::move(weights)) {
    for (const RotatedSequence& sequence : context.sequences)
        m_longest.length = std::max(m_longest.length, sequence.length);
    m_tables.beginPass();
}

void MoiceStep::attend(const LayerAttention& layer) {
    const std::int64_t heads = layer.config.numHeads, kvHeads = layer.config.numKvHeads, headDim = layer.config.headDim;
    const std::int64_t count = layer.out.size(0);
    const int topK = m_weights->routers->topK;
    Workspace& workspace = layer.workspace;
    const at::TensorOptions options = layer.q.options();
    const std::int64_t past = layer.cache ? layer.positions.front() : 0;
    std::vector<AttentionPart> parts;
    if (layer.cache) {
        parts.push_back({0, count, 0, past + count});
    } else {
        for (const Segment& segment : layer.segments)
            parts.push_back({segment.begin, segment.length, segment.begin, segment.length});
    }
    const at::Tensor queries = workspace.take(Workspace::kQ, {heads, count, headDim}, options);
    const at::Tensor values = layer.cache ? layer.cache->values(layer.layer).narrow(1, 0, past + count)
                                          : workspace.take(Workspace::kV, {kvHeads, count, headDim}, options);
    const std::size_t experts = m_weights->experts.size();
    at::Tensor mixed, shares;
    for (std::size_t expert = 0; expert < experts; ++expert) {
        RotatedSequence sequence = m_longest;
        sequence.path = m_weights->experts[expert];
        const at::Tensor keys = layer.cache ? layer.cache->keys(layer.layer, expert).narrow(1, 0, past + count)
                                            : workspace.take(Workspace::kK, {kvHeads, count, headDim}, options);
        const bool first = expert == 0;
        kernels::rotateAndSplit(layer.q, layer.k, first ? layer.v : layer.v.narrow(1, 0, 0),
                                m_tables.forScale(m_method, layer.layer, sequence, 1.0), layer.positions, queries,
                                keys.narrow(1, past, count),
                                first ? values.narrow(1, past, count) : values.narrow(0, 0, 0));
        if (experts == 1) {
            causalAttention(queries, keys, values, parts, layer.rule, layer.out, workspace.attention());
            if (layer.observer) layer.observer(layer.layer, queries, keys, layer.rule);
            return;
        }
        if (first) {
            const MoiceWeights::Layer& router = m_weights->layers[static_cast<std::size_t>(layer.layer)];
            shares = at::matmul(moiceShares(moiceLogits(queries, router), topK), m_weights->merge.to(queries.device()))
                         .transpose(0, 1);
            mixed = workspace.take(Workspace::kMixed, {count, heads, headDim}, options.dtype(at::kFloat)).zero_();
        }
        const at::Tensor share = shares.select(2, static_cast<std::int64_t>(expert)).unsqueeze(-1);
        // Few tokens may all pass an expert by; of many, hardly.
        if (count == 1 && !share.any().item<bool>()) continue;
        const at::Tensor attended = workspace.take(Workspace::kExpert, {count, heads * headDim}, options);
        causalAttention(queries, keys, values, parts, layer.rule, attended, workspace.attention());
        mixed.addcmul_(attended.view({count, heads, headDim}).to(at::kFloat), share);
    }
    layer.out.copy_(mixed.view({count, heads * headDim}));
}

}  // namespace lpes::model
