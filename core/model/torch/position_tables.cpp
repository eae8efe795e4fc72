#include "core/model/torch/position_tables.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <utility>

namespace lpes::model {

PositionTables::PositionTables(const ModelConfig& config, at::ScalarType type, std::size_t maxTables)
    : m_config(config), m_type(type), m_maxTables(maxTables) {}

std::vector<RotaryTable> PositionTables::forLayers(const rope::LayerScales& scales,
                                                   std::span<const std::int64_t> lengths) {
    ++m_clock;
    const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<RotaryTable> tables;
    tables.reserve(static_cast<std::size_t>(m_config.numLayers));
    std::map<std::pair<bool, double>, RotaryTable> made;
    for (int layer = 0; layer < m_config.numLayers; ++layer) {
        const double scale = scales.empty() ? 1.0 : scales[static_cast<std::size_t>(layer)];
        const bool sliding = m_config.slidingRope && m_config.slides(layer);
        const rope::RopeConfig& rope = m_config.ropeOf(layer);
        const auto variantOf = [&](std::int64_t length) { return rope::lengthVariant(rope, static_cast<int>(length)); };
        const int variant = variantOf(longest);
        const bool same = std::all_of(lengths.begin(), lengths.end(),
                                      [&](std::int64_t length) { return variantOf(length) == variant; });
        if (same) {
            tables.push_back(table(sliding, longest, variant, scale, longest));
            continue;
        }
        RotaryTable& joined = made[{sliding, scale}];
        if (!joined.cos.defined()) joined = mixed(sliding, scale, lengths);
        tables.push_back(joined);
    }
    forgetOld();
    return tables;
}

const RotaryTable& PositionTables::table(bool sliding, std::int64_t length, int variant, double scale,
                                         std::int64_t rows) {
    Entry& entry = m_tables[{sliding, variant, scale}];
    entry.lastUse = m_clock;
    if (entry.rows < rows) {
        grow(entry, sliding ? *m_config.slidingRope : m_config.rope, static_cast<int>(length), scale, rows);
    }
    return entry.table;
}

RotaryTable PositionTables::mixed(bool sliding, double scale, std::span<const std::int64_t> lengths) {
    const rope::RopeConfig& rope = sliding ? *m_config.slidingRope : m_config.rope;
    std::map<int, std::int64_t> rowsOfVariant;
    for (const std::int64_t length : lengths) {
        std::int64_t& rows = rowsOfVariant[rope::lengthVariant(rope, static_cast<int>(length))];
        rows = std::max(rows, length);
    }
    std::map<int, std::int64_t> firstRow;
    std::vector<at::Tensor> cos, sin;
    std::int64_t total = 0;
    for (const auto& [variant, rows] : rowsOfVariant) {
        const RotaryTable& part = table(sliding, rows, variant, scale, rows);
        cos.push_back(part.cos.narrow(0, 0, rows));
        sin.push_back(part.sin.narrow(0, 0, rows));
        firstRow[variant] = total;
        total += rows;
    }
    auto rows = std::make_shared<std::vector<std::int32_t>>();
    for (const std::int64_t length : lengths) {
        const std::int64_t first = firstRow[rope::lengthVariant(rope, static_cast<int>(length))];
        for (std::int64_t i = 0; i < length; ++i) rows->push_back(static_cast<std::int32_t>(first + i));
    }
    return {at::cat(cos), at::cat(sin), std::move(rows)};
}

void PositionTables::grow(Entry& entry, const rope::RopeConfig& rope, int length, double scale,
                          std::int64_t rows) const {
    // In steps, so that generating token by token does not build a table per token. A table of one length only is not
    // worth more rows than that.
    const bool oneLength = rope.type == rope::RopeConfig::Type::Dynamic && length > rope.originalContext;
    const std::int64_t wanted = oneLength ? rows : std::max<std::int64_t>({rows, 256, entry.rows + entry.rows / 2});
    const auto added = rope::positionTable(rope::inverseFrequencies(rope, length), scale, static_cast<int>(entry.rows),
                                           static_cast<int>(wanted - entry.rows), rope.attentionFactor);
    const auto extended = [&](const at::Tensor& old, const std::vector<float>& values) {
        const at::Tensor fresh = at::tensor(values).view({added.count, added.half}).to(m_type);
        return old.defined() ? at::cat({old, fresh}) : fresh;
    };
    entry.table = {extended(entry.table.cos, added.cos), extended(entry.table.sin, added.sin), nullptr};
    entry.rows = wanted;
}

void PositionTables::forgetOld() {
    while (m_tables.size() > m_maxTables) {
        const auto oldest = std::min_element(m_tables.begin(), m_tables.end(), [](const auto& a, const auto& b) {
            return a.second.lastUse < b.second.lastUse;
        });
        if (oldest->second.lastUse == m_clock) return;
        m_tables.erase(oldest);
    }
}

}  // namespace lpes::model
