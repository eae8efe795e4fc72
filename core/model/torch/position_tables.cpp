#include "core/model/torch/position_tables.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace lpes::model {

PositionTables::PositionTables(const ModelConfig& config, at::ScalarType type, std::vector<at::Device> devices,
                               std::size_t maxTables)
    : m_config(config),
      m_model(methodModel(config)),
      m_type(type),
      m_devices(std::move(devices)),
      m_maxTables(maxTables) {}

void PositionTables::beginPass() {
    ++m_clock;
    m_embeddings.clear();
    m_embeddingOf.clear();
}

std::vector<LayerTables> PositionTables::forLayers(const rope::PositionMethod& method,
                                                   std::span<const RotatedSequence> sequences) {
    beginPass();
    const std::int64_t longest = std::max_element(sequences.begin(), sequences.end(), [](const auto& a, const auto& b) {
                                     return a.length < b.length;
                                 })->length;
    std::vector<LayerTables> result;
    result.reserve(static_cast<std::size_t>(m_config.numLayers));
    for (int layer = 0; layer < m_config.numLayers; ++layer) {
        const auto index = static_cast<std::size_t>(layer);
        const double scale = method.scales.empty() ? 1.0 : method.scales[index];
        LayerTables& tables = result.emplace_back();
        const auto embeddingOf = [&](const RotatedSequence& sequence) { return &embedding(method, layer, sequence); };
        const Embedding* first = embeddingOf(sequences.front());
        const bool same = std::all_of(sequences.begin(), sequences.end(),
                                      [&](const RotatedSequence& one) { return embeddingOf(one) == first; });
        tables.sequences = same ? 1 : sequences.size();
        tables.heads = method.headScales.empty() ? 1 : method.headScales[index].size();
        for (std::size_t i = 0; i < tables.sequences; ++i) {
            const Embedding& own = *embeddingOf(sequences[i]);
            const std::int64_t length = same ? longest : sequences[i].length;
            for (std::size_t head = 0; head < tables.heads; ++head) {
                const double headScale = method.headScales.empty() ? 1.0 : method.headScales[index][head];
                tables.tables.push_back(table(own, layer, length, scale * headScale));
            }
        }
    }
    forgetOld();
    return result;
}

RotaryTable PositionTables::forScale(const rope::PositionMethod& method, int layer, const RotatedSequence& sequence,
                                     double scale) {
    return table(embedding(method, layer, sequence), layer, sequence.length, scale);
}

const PositionTables::Embedding& PositionTables::embedding(const rope::PositionMethod& method, int layer,
                                                           const RotatedSequence& sequence) {
    const bool sliding = m_config.slidingRope && m_config.slides(layer);
    const auto length = static_cast<int>(sequence.length);
    EmbeddingKey key{sliding, sequence.path, length, method.divisors.empty() ? 0 : layer};
    const Embedding*& known = m_embeddingOf[key];
    if (known) return *known;
    const rope::RopeConfig rope = rope::methodRope(method, m_model, sliding, sequence.path);
    key.length = rope::lengthVariant(rope, length);
    const auto [found, isNew] = m_embeddings.try_emplace(key);
    if (isNew) {
        const bool oneLength = rope.type == rope::RopeConfig::Type::Dynamic && length > rope.originalContext;
        found->second = {rope::methodFrequencies(method, m_model, layer, sliding, length, sequence.path),
                         rope.attentionFactor, oneLength};
    }
    known = &found->second;
    return *known;
}

const RotaryTable& PositionTables::table(const Embedding& embedding, int layer, std::int64_t length, double scale) {
    const auto index = static_cast<std::size_t>(layer);
    const int device = m_devices.empty() || m_devices[index].is_cpu() ? -1 : m_devices[index].index();
    const auto [found, isNew] = m_tables.try_emplace(Key{device, scale, embedding.amplitude, embedding.frequencies});
    found->second.lastUse = m_clock;
    if (found->second.rows < length) grow(found->second, found->first, length, embedding.oneLength);
    return found->second.table;
}

void PositionTables::grow(Entry& entry, const Key& key, std::int64_t rows, bool oneLength) const {
    // In steps, so that generating token by token does not build a table per token. A table of one length only is not
    // worth more rows than that.
    const std::int64_t wanted = oneLength ? rows : std::max<std::int64_t>({rows, 256, entry.rows + entry.rows / 2});
    const auto added = rope::positionTable(key.frequencies, key.scale, static_cast<int>(entry.rows),
                                           static_cast<int>(wanted - entry.rows), key.amplitude);
    const at::Device device =
        key.device < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<at::DeviceIndex>(key.device));
    const auto extended = [&](const at::Tensor& old, const std::vector<float>& values) {
        const at::Tensor fresh = at::tensor(values).view({added.count, added.half}).to(m_type).to(device);
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
