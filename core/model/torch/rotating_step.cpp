#include "core/model/torch/rotating_step.h"

#include <ATen/ATen.h>

#include "core/model/torch/attention.h"
#include "core/model/torch/kernels.h"
#include "core/model/torch/packed_keys.h"

namespace lpes::model {

void RotatingStep::attend(const LayerAttention& layer) {
    const std::int64_t heads = layer.config.numHeads, kvHeads = layer.config.numKvHeads, headDim = layer.config.headDim;
    const std::int64_t count = layer.out.size(0);
    Workspace& workspace = layer.workspace;
    const at::TensorOptions options = layer.q.options();
    const at::Tensor queries = workspace.take(Workspace::kQ, {heads, count, headDim}, options);
    const auto rowsOf = [&](std::size_t sequence, const Segment& segment, const at::Tensor& kOut,
                            const at::Tensor& vOut) {
        const std::int64_t source = layer.sourceRow(segment);
        const auto begin = static_cast<std::size_t>(segment.begin), length = static_cast<std::size_t>(segment.length);
        const auto taken = [&](const at::Tensor& all) { return all.narrow(0, source, segment.length); };
        return Rows{sequence,
                    taken(layer.q),
                    taken(layer.k),
                    taken(layer.v),
                    layer.positions.subspan(begin, length),
                    queries.narrow(1, segment.begin, segment.length),
                    kOut,
                    vOut};
    };
    prepare(layer);

    if (layer.cache) {
        for (std::size_t i = 0; i < layer.segments.size(); ++i) {
            const Segment& segment = layer.segments[i];
            const std::int64_t past = layer.positions[static_cast<std::size_t>(segment.begin)];
            const auto held = [&](const at::Tensor& all) { return all.narrow(1, 0, past + segment.length); };
            const at::Tensor keys = held(layer.cache->keys(layer.layer, segment.slot, segment.path));
            const at::Tensor values = held(layer.cache->values(layer.layer, segment.slot, segment.path));
            const Rows rows =
                rowsOf(i, segment, keys.narrow(1, past, segment.length), values.narrow(1, past, segment.length));
            rotate(layer, rows);
            const AttentionPart part{0, segment.length, 0, past + segment.length};
            causalAttention(rows.qOut, keys, values, std::span(&part, 1), layer.rule,
                            layer.out.narrow(0, segment.begin, segment.length), workspace.attention());
            if (layer.observer) layer.observer(layer.layer, rows.qOut, keys, layer.rule);
        }
        return;
    }

    const PackedKeys packed(layer.segments, layer.positions);
    const at::Tensor keys = workspace.take(Workspace::kK, {kvHeads, packed.rows, headDim}, options);
    const at::Tensor values = workspace.take(Workspace::kV, {kvHeads, packed.rows, headDim}, options);
    if (alike(layer.layer) && layer.q.size(0) == count && packed.rows == count) {
        rotate(layer, rowsOf(0, {0, count}, keys, values));
    } else {
        for (std::size_t i = 0; i < layer.segments.size(); ++i) {
            rotate(layer, rowsOf(i, layer.segments[i], packed.own(keys, i), packed.own(values, i)));
            packed.fetchBeginning(keys, layer.segments, i);
            packed.fetchBeginning(values, layer.segments, i);
        }
    }
    causalAttention(queries, keys, values, packed.parts, layer.rule, layer.out, workspace.attention());
    if (layer.observer) layer.observer(layer.layer, queries, keys, layer.rule);
}

void TableStep::rotate(const LayerAttention& layer, const Rows& rows) {
    const LayerTables& tables = m_tables[static_cast<std::size_t>(layer.layer)];
    if (tables.heads == 1) {
        kernels::rotateAndSplit(rows.q, rows.k, rows.v, tables.of(rows.sequence, 0), rows.positions, rows.qOut,
                                rows.kOut, rows.vOut);
        return;
    }
    const std::int64_t kvHeads = rows.kOut.size(0), group = rows.qOut.size(0) / kvHeads, headDim = rows.qOut.size(2);
    for (std::int64_t head = 0; head < kvHeads; ++head) {
        kernels::rotateAndSplit(rows.q.narrow(1, head * group * headDim, group * headDim),
                                rows.k.narrow(1, head * headDim, headDim), rows.v.narrow(1, head * headDim, headDim),
                                tables.of(rows.sequence, static_cast<std::size_t>(head)), rows.positions,
                                rows.qOut.narrow(0, head * group, group), rows.kOut.narrow(0, head, 1),
                                rows.vOut.narrow(0, head, 1));
    }
}

bool TableStep::alike(int layer) const {
    return m_tables[static_cast<std::size_t>(layer)].sequences == 1;
}

}  // namespace lpes::model
