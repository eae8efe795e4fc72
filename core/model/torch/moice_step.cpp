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
    const std::int64_t heads = layer.config.numHeads, headDim = layer.config.headDim;
    const std::int64_t count = layer.out.size(0);
    const int topK = m_weights->routers->topK;
    Workspace& workspace = layer.workspace;
    const at::TensorOptions options = layer.q.options();
    const at::Tensor queries = workspace.take(Workspace::kQ, {heads, count, headDim}, options);
    const PackedKeys packed(layer.segments, layer.positions);
    const std::size_t experts = m_weights->experts.size();
    at::Tensor mixed, shares;
    for (std::size_t expert = 0; expert < experts; ++expert) {
        const Rotated rotated = rotate(layer, packed, expert, queries);
        const bool first = expert == 0;
        if (experts == 1) {
            attendExpert(layer, packed, rotated, queries, layer.out);
            if (layer.observer) layer.observer(layer.layer, queries, rotated.keys.front(), layer.rule);
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
        attendExpert(layer, packed, rotated, queries, attended);
        mixed.addcmul_(attended.view({count, heads, headDim}).to(at::kFloat), share);
    }
    layer.out.copy_(mixed.view({count, heads * headDim}));
}

MoiceStep::Rotated MoiceStep::rotate(const LayerAttention& layer, const PackedKeys& packed, std::size_t expert,
                                     const at::Tensor& queries) {
    RotatedSequence sequence = m_longest;
    sequence.path = m_weights->experts[expert];
    const RotaryTable table = m_tables.forScale(m_method, layer.layer, sequence, 1.0);
    // All experts share the values: the first one puts them where they belong.
    const bool first = expert == 0;
    const auto rotateRows = [&](const Segment& rows, const at::Tensor& keys, const at::Tensor& values) {
        const auto taken = [&](const at::Tensor& all) { return all.narrow(0, rows.begin, rows.length); };
        kernels::rotateAndSplit(
            taken(layer.q), taken(layer.k), first ? taken(layer.v) : taken(layer.v).narrow(1, 0, 0), table,
            layer.positions.subspan(static_cast<std::size_t>(rows.begin), static_cast<std::size_t>(rows.length)),
            queries.narrow(1, rows.begin, rows.length), keys, first ? values : values.narrow(0, 0, 0));
    };
    Rotated result;
    if (layer.cache) {
        for (std::size_t i = 0; i < layer.segments.size(); ++i) {
            const Segment& segment = layer.segments[i];
            const std::int64_t length = packed.parts[i].keys, past = length - segment.length;
            result.keys.push_back(layer.cache->keys(layer.layer, segment.slot, expert).narrow(1, 0, length));
            result.values.push_back(layer.cache->values(layer.layer, segment.slot).narrow(1, 0, length));
            rotateRows(segment, result.keys.back().narrow(1, past, segment.length),
                       result.values.back().narrow(1, past, segment.length));
        }
        return result;
    }
    const std::int64_t kvHeads = layer.config.numKvHeads, headDim = layer.config.headDim;
    const auto room = [&](Workspace::Slot slot) {
        return layer.workspace.take(slot, {kvHeads, packed.rows, headDim}, layer.q.options());
    };
    result = {{room(Workspace::kK)}, {room(Workspace::kV)}};
    const at::Tensor& keys = result.keys.front();
    const at::Tensor& values = result.values.front();
    if (packed.rows == layer.out.size(0)) {
        rotateRows({0, packed.rows}, keys, values);
        return result;
    }
    for (std::size_t i = 0; i < layer.segments.size(); ++i) {
        rotateRows(layer.segments[i], packed.own(keys, i), packed.own(values, i));
        packed.fetchBeginning(keys, layer.segments, i);
        if (first) packed.fetchBeginning(values, layer.segments, i);
    }
    return result;
}

void MoiceStep::attendExpert(const LayerAttention& layer, const PackedKeys& packed, const Rotated& rotated,
                             const at::Tensor& queries, const at::Tensor& out) {
    if (!layer.cache) {
        causalAttention(queries, rotated.keys.front(), rotated.values.front(), packed.parts, layer.rule, out,
                        layer.workspace.attention());
        return;
    }
    for (std::size_t i = 0; i < layer.segments.size(); ++i) {
        const Segment& segment = layer.segments[i];
        const AttentionPart part{0, segment.length, 0, packed.parts[i].keys};
        causalAttention(queries.narrow(1, segment.begin, segment.length), rotated.keys[i], rotated.values[i],
                        std::span(&part, 1), layer.rule, out.narrow(0, segment.begin, segment.length),
                        layer.workspace.attention());
    }
}

}  // namespace lpes::model
