#include "core/model/torch/decoder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/model/torch/attention.h"
#include "core/model/torch/kernels.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {

at::Tensor Workspace::take(Slot slot, at::IntArrayRef shape, at::ScalarType type) {
    at::Tensor& buffer = m_buffers[slot];
    const std::int64_t size = c10::multiply_integers(shape);
    if (!buffer.defined() || buffer.numel() < size || buffer.scalar_type() != type) {
        buffer.reset();
        buffer = at::empty({size}, type);
    }
    return buffer.narrow(0, 0, size).view(shape);
}

PackedTokens Decoder::embed(std::span<const std::span<const text::TokenId>> prompts, int firstPosition) const {
    PackedTokens tokens;
    std::vector<std::int64_t> ids;
    for (const auto& prompt : prompts) {
        tokens.segments.push_back({static_cast<std::int64_t>(ids.size()), static_cast<std::int64_t>(prompt.size())});
        for (std::size_t i = 0; i < prompt.size(); ++i) {
            ids.push_back(prompt[i]);
            tokens.positions.push_back(firstPosition + static_cast<std::int32_t>(i));
        }
    }
    tokens.hidden = at::embedding(m_weights.embedding, at::tensor(ids, at::kLong));
    return tokens;
}

void Decoder::project(const at::Tensor& input, const Projection& projection, const at::Tensor& out) const {
    at::Tensor target = out;
    if (projection.bias.defined()) {
        at::addmm_out(target, projection.bias, input, projection.weight.t());
    } else {
        at::mm_out(target, input, projection.weight.t());
    }
}

void Decoder::runLayer(int layer, PackedTokens& tokens, const RotaryTable& table, KvCache* cache,
                       const at::Tensor& rows, const AttentionObserver& observer) const {
    const LayerWeights& weights = m_weights.layers[static_cast<std::size_t>(layer)];
    const std::int64_t heads = m_config.numHeads, kvHeads = m_config.numKvHeads, headDim = m_config.headDim;
    const std::int64_t hiddenSize = m_config.hiddenSize, inner = m_config.intermediateSize;
    const at::ScalarType type = tokens.hidden.scalar_type();
    const auto take = [&](Workspace::Slot slot, at::IntArrayRef shape) { return m_workspace.take(slot, shape, type); };
    std::int64_t count = tokens.hidden.size(0);

    at::Tensor normed = take(Workspace::kNormed, {count, hiddenSize});
    kernels::rmsNorm(tokens.hidden, weights.attentionNorm, m_config.rmsNormEps, normed);

    at::Tensor q, k, v;
    if (weights.qkv.size() == 1) {
        const at::Tensor all = take(Workspace::kQkv0, {count, (heads + 2 * kvHeads) * headDim});
        project(normed, weights.qkv[0], all);
        q = all.narrow(1, 0, heads * headDim);
        k = all.narrow(1, heads * headDim, kvHeads * headDim);
        v = all.narrow(1, (heads + kvHeads) * headDim, kvHeads * headDim);
    } else {
        q = take(Workspace::kQkv0, {count, heads * headDim});
        k = take(Workspace::kQkv1, {count, kvHeads * headDim});
        v = take(Workspace::kQkv2, {count, kvHeads * headDim});
        project(normed, weights.qkv[0], q);
        project(normed, weights.qkv[1], k);
        project(normed, weights.qkv[2], v);
    }

    const at::Tensor queries = take(Workspace::kQ, {heads, count, headDim});
    at::Tensor keys, values;
    std::vector<AttentionPart> parts;
    const at::Tensor attended = take(Workspace::kAttended, {count, heads * headDim});
    if (cache) {
        const std::int64_t past = tokens.positions.front();
        keys = cache->keys(layer).narrow(1, 0, past + count);
        values = cache->values(layer).narrow(1, 0, past + count);
        kernels::rotateAndSplit(q, k, v, table, tokens.positions, queries, keys.narrow(1, past, count),
                                values.narrow(1, past, count));
        parts.push_back({0, count, 0, past + count});
    } else {
        keys = take(Workspace::kK, {kvHeads, count, headDim});
        values = take(Workspace::kV, {kvHeads, count, headDim});
        kernels::rotateAndSplit(q, k, v, table, tokens.positions, queries, keys, values);
        for (const Segment& segment : tokens.segments) {
            parts.push_back({segment.begin, segment.length, segment.begin, segment.length});
        }
    }
    causalAttention(queries, keys, values, parts, attended, m_workspace.attention());
    if (observer) observer(layer, queries, keys);

    at::Tensor context = attended;
    if (rows.defined()) {
        context = attended.index_select(0, rows);
        tokens.hidden = tokens.hidden.index_select(0, rows);
        count = rows.size(0);
        normed = normed.narrow(0, 0, count);
    }
    const at::Tensor delta = take(Workspace::kDelta, {count, hiddenSize});
    project(context, weights.output, delta);
    kernels::addRmsNorm(tokens.hidden, delta, weights.mlpNorm, m_config.rmsNormEps, normed);

    at::Tensor gate, up;
    if (weights.gateUp.size() == 1) {
        const at::Tensor both = take(Workspace::kGate, {count, 2 * inner});
        project(normed, weights.gateUp[0], both);
        gate = both.narrow(1, 0, inner);
        up = both.narrow(1, inner, inner);
    } else {
        gate = take(Workspace::kGate, {count, inner});
        up = take(Workspace::kUp, {count, inner});
        project(normed, weights.gateUp[0], gate);
        project(normed, weights.gateUp[1], up);
    }
    const at::Tensor activated = take(Workspace::kActivated, {count, inner});
    kernels::siluMul(gate, up, activated);
    project(activated, weights.down, delta);
    tokens.hidden.add_(delta);
}

void Decoder::runLayers(PackedTokens& tokens, const std::vector<RotaryTable>& tables, const std::stop_token& stop,
                        KvCache* cache, const at::Tensor& rows, const AttentionObserver& observer) const {
    for (int layer = 0; layer < m_config.numLayers; ++layer) {
        if (stop.stop_requested()) throw StopRequested{};
        const bool last = layer + 1 == m_config.numLayers;
        runLayer(layer, tokens, tables[static_cast<std::size_t>(layer)], cache, last ? rows : at::Tensor(), observer);
    }
    if (stop.stop_requested()) throw StopRequested{};
}

at::Tensor Decoder::logits(const at::Tensor& hidden) const {
    const at::Tensor normed = at::empty_like(hidden);
    kernels::rmsNorm(hidden, m_weights.finalNorm, m_config.rmsNormEps, normed);
    return at::mm(normed, m_weights.head.t()).to(at::kFloat);
}

}  // namespace lpes::model
