#include "core/model/torch/ms_poe_step.h"

#include <ATen/ATen.h>

#include "core/model/torch/attention.h"
#include "core/model/torch/kernels.h"
#include "core/rope/rivals.h"

namespace lpes::model {

namespace {

/// One ratio per query head out of one per key/value head.
std::vector<double> spread(const std::vector<double>& ratios, std::size_t heads) {
    std::vector<double> all;
    for (std::size_t head = 0; head < heads; ++head) all.push_back(ratios[head / (heads / ratios.size())]);
    return all;
}

}  // namespace

MsPoeStep::MsPoeStep(const rope::PositionMethod& method, const StepContext& context)
    : m_method(method),
      m_tables(context.tables),
      m_own(context.tables.forLayers(method, context.sequences)),
      m_sequences(context.sequences.begin(), context.sequences.end()),
      m_decidingRows(context.decidingRows.begin(), context.decidingRows.end()),
      m_kept(context.kept.begin(), context.kept.end()) {}

bool MsPoeStep::alike(int layer) const {
    return !m_method.msPoe->applies(layer) && m_own[static_cast<std::size_t>(layer)].sequences == 1;
}

std::vector<double> MsPoeStep::scores(const LayerAttention& layer, std::size_t sequence) const {
    const rope::MsPoe& msPoe = *m_method.msPoe;
    const std::int64_t headDim = layer.config.headDim, heads = layer.config.numHeads, kvHeads = layer.config.numKvHeads;
    const Segment& segment = layer.segments[sequence];
    const std::int64_t source = layer.sourceRow(segment), seen = m_decidingRows[sequence] + 1;
    // Only the deciding query is needed, and the keys up to it.
    at::Tensor q = layer.q.narrow(0, source + seen - 1, 1), k = layer.k.narrow(0, source, seen);
    if (msPoe.variant == rope::MethodPart::Variant::Paper) {
        const RotaryTable& own = m_own[static_cast<std::size_t>(layer.layer)].of(sequence, 0);
        const auto positions =
            layer.positions.subspan(static_cast<std::size_t>(segment.begin), static_cast<std::size_t>(seen));
        const at::Tensor qOut = at::empty({heads, 1, headDim}, q.options());
        const at::Tensor kOut = at::empty({kvHeads, seen, headDim}, q.options());
        const at::Tensor none = kOut.narrow(0, 0, 0);
        kernels::rotateAndSplit(q, q.narrow(1, 0, 0), q.narrow(1, 0, 0), own, positions.last(1), qOut, none, none);
        kernels::rotateAndSplit(k.narrow(1, 0, 0), k, k.narrow(1, 0, 0), own, positions, none, kOut, none);
        q = qOut.select(1, 0);
        k = kOut;
    } else {
        q = q.view({heads, headDim});
        k = k.unflatten(1, {kvHeads, headDim}).transpose(0, 1);
    }
    const at::Tensor rows = lastRowProbabilities(q, k, layer.rule).cpu().contiguous();
    const float* data = rows.const_data_ptr<float>();
    std::vector<double> result;
    for (std::int64_t head = 0; head < heads; ++head) {
        result.push_back(
            rope::msPoeScore({data + head * seen, static_cast<std::size_t>(seen)}, msPoe.threshold, msPoe.variant));
    }
    return result;
}

std::vector<double> MsPoeStep::choose(const LayerAttention& layer, std::size_t sequence) const {
    const rope::MsPoe& msPoe = *m_method.msPoe;
    if (msPoe.headOrder == rope::MethodPart::HeadOrder::Normal) return rope::msPoeFixedRatios(msPoe.ratios);
    const std::vector<double> byHead = scores(layer, sequence);
    if (msPoe.groupRatio != rope::MethodPart::GroupRatio::Mean) {
        return rope::msPoeHeadRatios(byHead, msPoe.ratios, msPoe.variant);
    }
    const std::size_t heads = byHead.size(), kvHeads = msPoe.ratios.size(), group = heads / kvHeads;
    std::vector<double> means(kvHeads);
    for (std::size_t head = 0; head < heads; ++head) means[head / group] += byHead[head] / static_cast<double>(group);
    return spread(rope::msPoeHeadRatios(means, msPoe.ratios, msPoe.variant), heads);
}

void MsPoeStep::prepare(const LayerAttention& layer) {
    if (!m_method.msPoe->applies(layer.layer)) return;
    const auto index = static_cast<std::size_t>(layer.layer);
    m_ratios.clear();
    for (std::size_t sequence = 0; sequence < layer.segments.size(); ++sequence) {
        if (m_kept.empty()) {
            m_ratios.push_back(choose(layer, sequence));
            continue;
        }
        std::vector<std::vector<double>>& kept = m_kept[sequence]->byLayer;
        kept.resize(static_cast<std::size_t>(layer.config.numLayers));
        if (kept[index].empty()) kept[index] = choose(layer, sequence);
        m_ratios.push_back(kept[index]);
    }
}

RotaryTable MsPoeStep::table(int layer, std::size_t sequence, double ratio) const {
    return m_tables.forScale(m_method, layer, m_sequences[sequence], ratio);
}

void MsPoeStep::rotate(const LayerAttention& layer, const Rows& rows) {
    if (!m_method.msPoe->applies(layer.layer)) {
        kernels::rotateAndSplit(rows.q, rows.k, rows.v,
                                m_own[static_cast<std::size_t>(layer.layer)].of(rows.sequence, 0), rows.positions,
                                rows.qOut, rows.kOut, rows.vOut);
        return;
    }
    const std::int64_t heads = rows.qOut.size(0), kvHeads = rows.kOut.size(0), headDim = rows.qOut.size(2);
    const std::vector<double>& ratios = m_ratios[rows.sequence];
    const std::vector<double> keyRatios = rope::msPoeKeyRatios(ratios, static_cast<int>(kvHeads));
    const auto head = [&](const at::Tensor& all, std::int64_t index, std::int64_t count) {
        return all.narrow(1, index * headDim, count * headDim);
    };
    const at::Tensor noRows = rows.k.narrow(1, 0, 0), noHeads = rows.kOut.narrow(0, 0, 0);
    for (std::int64_t i = 0; i < heads; ++i) {
        kernels::rotateAndSplit(head(rows.q, i, 1), noRows, noRows,
                                table(layer.layer, rows.sequence, ratios[static_cast<std::size_t>(i)]), rows.positions,
                                rows.qOut.narrow(0, i, 1), noHeads, noHeads);
    }
    for (std::int64_t i = 0; i < kvHeads; ++i) {
        kernels::rotateAndSplit(rows.q.narrow(1, 0, 0), head(rows.k, i, 1), head(rows.v, i, 1),
                                table(layer.layer, rows.sequence, keyRatios[static_cast<std::size_t>(i)]),
                                rows.positions, rows.qOut.narrow(0, 0, 0), rows.kOut.narrow(0, i, 1),
                                rows.vOut.narrow(0, i, 1));
    }
}

}  // namespace lpes::model
