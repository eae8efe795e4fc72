#include "core/model/torch/decoder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/model/torch/attention.h"
#include "core/model/torch/kernels.h"
#include "core/model/torch/layer_blocks.h"
#include "core/model/torch/leading_layers.h"
#include "core/model/torch/packed_weight.h"
#include "core/model/torch/stored_matrix.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {

PackedTokens Decoder::embed(std::span<const text::TokenId> prompt) const {
    const PackedPrompt whole{prompt};
    return embed(std::span(&whole, 1));
}

PackedTokens Decoder::embed(std::span<const PackedPrompt> prompts, std::int64_t paths, std::int64_t firstPath) const {
    PackedTokens tokens;
    std::vector<std::int64_t> ids;
    for (const PackedPrompt& prompt : prompts) {
        tokens.segments.push_back({std::ssize(ids), std::ssize(prompt.ids), prompt.continues, prompt.slot,
                                   static_cast<std::size_t>(firstPath)});
        for (std::size_t i = 0; i < prompt.ids.size(); ++i) {
            ids.push_back(prompt.ids[i]);
            tokens.positions.push_back(prompt.firstPosition + static_cast<std::int32_t>(i));
        }
    }
    const std::vector<Segment> once = tokens.segments;
    const std::vector<std::int32_t> positions = tokens.positions;
    for (tokens.sharedBy = 1; tokens.sharedBy < paths; ++tokens.sharedBy) {
        const std::int64_t rows = std::ssize(tokens.positions), segments = std::ssize(tokens.segments);
        for (Segment segment : once) {
            segment.begin += rows;
            segment.path += static_cast<std::size_t>(tokens.sharedBy);
            if (segment.continues >= 0) segment.continues += segments;
            tokens.segments.push_back(segment);
        }
        tokens.positions.insert(tokens.positions.end(), positions.begin(), positions.end());
    }
    tokens.hidden =
        m_weights.storedEmbedding
            ? m_weights.storedEmbedding->gather(ids)
            : at::embedding(m_weights.embedding, at::tensor(ids, at::kLong).to(m_weights.embedding.device()));
    if (m_config.embeddingScale != 1.0) {
        // transformers keeps the factor in the compute type.
        tokens.hidden.mul_(at::full({}, m_config.embeddingScale, tokens.hidden.options()));
    }
    return tokens;
}

at::Tensor Decoder::project(const at::Tensor& input, const Projection& projection, Workspace::Slot slot) const {
    if (projection.packed.defined()) {
        return packedProduct(
            input, projection.packed, projection.bias,
            m_workspace.take(slot, {input.size(0), packedOutputs(projection.packed)}, input.options()));
    }
    if (projection.stored) {
        at::Tensor out = m_workspace.take(slot, {input.size(0), projection.stored->rows()}, input.options());
        projection.stored->product(input, out);
        if (projection.bias.defined()) out.add_(projection.bias);
        return out;
    }
    at::Tensor out = m_workspace.take(slot, {input.size(0), projection.weight.size(0)}, input.options());
    if (projection.bias.defined()) {
        at::addmm_out(out, projection.bias, input, projection.weight.t());
    } else {
        at::mm_out(out, input, projection.weight.t());
    }
    return out;
}

void Decoder::runLayer(int layer, PackedTokens& tokens, AttentionStep& step, KvCache* cache, const at::Tensor& rows,
                       const AttentionObserver& observer) const {
    const LayerWeights& weights = m_weights.layers[static_cast<std::size_t>(layer)];
    const std::int64_t heads = m_config.numHeads, kvHeads = m_config.numKvHeads, headDim = m_config.headDim;
    const std::int64_t hiddenSize = m_config.hiddenSize, inner = m_config.intermediateSize;
    moveTo(tokens, m_weights.devices[static_cast<std::size_t>(layer)]);
    const at::TensorOptions options = tokens.hidden.options();
    const auto take = [&](Workspace::Slot slot, at::IntArrayRef shape) {
        return m_workspace.take(slot, shape, options);
    };
    std::int64_t count = tokens.hidden.size(0);

    at::Tensor normed = take(Workspace::kNormed, {count, hiddenSize});
    const auto inBlocks = [&] { return options.device().is_cpu() && worthBlocks(m_config, weights, count); };
    bool blocks = inBlocks();
    at::Tensor scratch;
    if (blocks) {
        scratch = take(Workspace::kBlocks, {blockScratch(m_config, count)});
    } else {
        kernels::addRmsNorm(tokens.hidden, tokens.pending, weights.attentionNorm, m_config.rmsNormEps, normed);
    }

    at::Tensor q, k, v;
    if (weights.qkv.size() == 1) {
        const std::int64_t columns = (heads + 2 * kvHeads) * headDim;
        const at::Tensor all =
            blocks ? take(Workspace::kQkv0, {count, columns}) : project(normed, weights.qkv[0], Workspace::kQkv0);
        if (blocks) startLayer(m_config, weights, tokens.hidden, tokens.pending, all, scratch);
        q = all.narrow(1, 0, heads * headDim);
        k = all.narrow(1, heads * headDim, kvHeads * headDim);
        v = all.narrow(1, (heads + kvHeads) * headDim, kvHeads * headDim);
    } else {
        q = project(normed, weights.qkv[0], Workspace::kQkv0);
        k = project(normed, weights.qkv[1], Workspace::kQkv1);
        v = project(normed, weights.qkv[2], Workspace::kQkv2);
    }
    tokens.pending.reset();
    if (m_config.queryKeyNorm) {
        kernels::normHeads(q, weights.queryNorm, m_config.rmsNormEps);
        kernels::normHeads(k, weights.keyNorm, m_config.rmsNormEps);
    }

    const auto all = static_cast<std::int64_t>(tokens.positions.size());
    const at::Tensor attended = take(Workspace::kAttended, {all, heads * headDim});
    step.attend({m_config, layer, q, k, v, tokens.segments, tokens.positions, cache, attentionRule(m_config, layer),
                 attended, m_workspace, observer});
    if (tokens.sharedBy > 1) {
        // From here on every path has rows of its own.
        tokens.hidden = tokens.hidden.repeat({tokens.sharedBy, 1});
        tokens.sharedBy = 1;
        count = all;
        normed = take(Workspace::kNormed, {count, hiddenSize});
        blocks = inBlocks();
        if (blocks) scratch = take(Workspace::kBlocks, {blockScratch(m_config, count)});
    }

    at::Tensor context = attended;
    if (rows.defined()) {
        const at::Tensor kept = rows.to(options.device());
        context = attended.index_select(0, kept);
        tokens.hidden = tokens.hidden.index_select(0, kept);
        count = rows.size(0);
        // A row that several answers look at stands in it several times, so there can be more than were computed.
        normed = take(Workspace::kNormed, {count, hiddenSize});
    }
    if (blocks && !rows.defined()) {
        finishLayer(m_config, weights, context, tokens.hidden, scratch);
        return;
    }
    const at::Tensor delta = project(context, weights.output, Workspace::kDelta);
    if (m_config.postNorms) kernels::rmsNorm(delta, weights.postAttentionNorm, m_config.rmsNormEps, delta);
    kernels::addRmsNorm(tokens.hidden, delta, weights.mlpNorm, m_config.rmsNormEps, normed);

    at::Tensor gate, up;
    if (weights.gateUp.size() == 1) {
        const at::Tensor both = project(normed, weights.gateUp[0], Workspace::kGate);
        gate = both.narrow(1, 0, inner);
        up = both.narrow(1, inner, inner);
    } else {
        gate = project(normed, weights.gateUp[0], Workspace::kGate);
        up = project(normed, weights.gateUp[1], Workspace::kUp);
    }
    const at::Tensor activated = take(Workspace::kActivated, {count, inner});
    kernels::gatedActivation(m_config.activation, gate, up, activated);
    tokens.pending = project(activated, weights.down, Workspace::kDelta);
    if (m_config.postNorms) {
        kernels::rmsNorm(tokens.pending, weights.postMlpNorm, m_config.rmsNormEps, tokens.pending);
    }
}

void Decoder::moveTo(PackedTokens& tokens, at::Device device) {
    if (tokens.hidden.device() == device) return;
    tokens.hidden = tokens.hidden.to(device);
    if (tokens.pending.defined()) tokens.pending = tokens.pending.to(device);
}

void Decoder::settle(PackedTokens& tokens) {
    if (tokens.pending.defined()) tokens.hidden.add_(tokens.pending);
    tokens.pending.reset();
}

void Decoder::runLayers(PackedTokens& tokens, AttentionStep& step, const std::stop_token& stop, KvCache* cache,
                        const at::Tensor& rows, const AttentionObserver& observer, LeadingStates* leading) const {
    const int known = leading ? takeLeadingLayers(tokens, *leading) : 0;
    for (int layer = known; layer < m_config.numLayers; ++layer) {
        if (stop.stop_requested()) throw StopRequested{};
        if (leading && layer > known) leaveLeadingLayers(tokens, layer, *leading);
        const bool last = layer + 1 == m_config.numLayers;
        runLayer(layer, tokens, step, cache, last ? rows : at::Tensor(), observer);
    }
    settle(tokens);
    if (stop.stop_requested()) throw StopRequested{};
}

AttentionRule attentionRule(const ModelConfig& config, int layer) {
    return {config.attentionScale, config.attentionSoftcap, config.slides(layer) ? config.slidingWindow : 0};
}

at::Tensor Decoder::logits(const at::Tensor& hidden) const {
    return logitsOnDevice(hidden).cpu();
}

at::Tensor Decoder::logitsOnDevice(const at::Tensor& hidden) const {
    const at::Tensor normed = at::empty_like(hidden);
    kernels::rmsNorm(hidden, m_weights.finalNorm, m_config.rmsNormEps, normed);
    const at::Tensor logits = project(normed, m_weights.head, Workspace::kLogits).to(at::kFloat);
    return softcapped(logits, m_config.logitSoftcap);
}

}  // namespace lpes::model
