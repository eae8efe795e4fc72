#include "core/model/torch/position_tables.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace lpes::model {

PositionTables::PositionTables(const rope::RopeConfig& config, at::ScalarType type, std::size_t maxTables)
    : m_inverseFrequencies(rope::inverseFrequencies(config)), m_type(type), m_maxTables(maxTables) {}

std::vector<RotaryTable> PositionTables::forLayers(const rope::LayerScales& scales, int numLayers, int positions) {
    ++m_clock;
    std::vector<RotaryTable> tables;
    tables.reserve(static_cast<std::size_t>(numLayers));
    for (int layer = 0; layer < numLayers; ++layer) {
        const double scale = scales.empty() ? 1.0 : scales[static_cast<std::size_t>(layer)];
        Entry& entry = m_tables[scale];
        entry.lastUse = m_clock;
        if (entry.rows < positions) grow(entry, scale, positions);
        tables.push_back(entry.table);
    }
    forgetOld();
    return tables;
}

void PositionTables::grow(Entry& entry, double scale, std::int64_t rows) const {
    // In steps, so that generating token by token does not build a table per token.
    const std::int64_t wanted = std::max<std::int64_t>({rows, 256, entry.rows + entry.rows / 2});
    const auto added = rope::positionTable(m_inverseFrequencies, scale, static_cast<int>(entry.rows),
                                           static_cast<int>(wanted - entry.rows));
    const auto extended = [&](const at::Tensor& old, const std::vector<float>& values) {
        const at::Tensor fresh = at::tensor(values).view({added.count, added.half}).to(m_type);
        return old.defined() ? at::cat({old, fresh}) : fresh;
    };
    entry.table = {extended(entry.table.cos, added.cos), extended(entry.table.sin, added.sin)};
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
