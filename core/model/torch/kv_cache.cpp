#include "core/model/torch/kv_cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace lpes::model {

KvCache::KvCache(const ModelConfig& config, at::ScalarType type, std::vector<at::Device> devices)
    : m_kvHeads(config.numKvHeads),
      m_headDim(config.headDim),
      m_type(type),
      m_devices(std::move(devices)),
      m_keys(static_cast<std::size_t>(config.numLayers)),
      m_values(static_cast<std::size_t>(config.numLayers)) {}

void KvCache::setCopies(int keyCopies, int valueCopies, std::size_t slots) {
    const auto keys = static_cast<std::size_t>(keyCopies), values = static_cast<std::size_t>(valueCopies);
    if (keys == m_keyCopies && values == m_valueCopies && slots == m_slots) return;
    m_keyCopies = keys;
    m_valueCopies = values;
    m_slots = slots;
    m_keys.assign(m_devices.size() * slots * keys, at::Tensor());
    m_values.assign(m_devices.size() * slots * values, at::Tensor());
    m_room = 0;
}

void KvCache::reserve(int tokens, int keep, int contextLength) {
    if (tokens <= m_room) return;
    const int room = std::max(tokens, std::min(contextLength, std::max(256, m_room + m_room / 2)));
    const auto grow = [&](std::vector<at::Tensor>& held, std::size_t copies) {
        for (std::size_t i = 0; i < held.size(); ++i) {
            const at::TensorOptions options = at::TensorOptions(m_type).device(m_devices[i / (m_slots * copies)]);
            at::Tensor fresh = at::empty({m_kvHeads, room, m_headDim}, options);
            if (keep > 0) fresh.narrow(1, 0, keep).copy_(held[i].narrow(1, 0, keep));
            held[i] = std::move(fresh);
        }
    };
    grow(m_keys, m_keyCopies);
    grow(m_values, m_valueCopies);
    m_room = room;
}

void KvCache::copyBeginning(std::size_t from, std::size_t to, int tokens) {
    const auto copy = [&](std::vector<at::Tensor>& held, std::size_t copies) {
        for (std::size_t layer = 0; layer < m_devices.size(); ++layer) {
            for (std::size_t i = 0; i < copies; ++i) {
                const at::Tensor& source = held[(layer * m_slots + from) * copies + i];
                held[(layer * m_slots + to) * copies + i].narrow(1, 0, tokens).copy_(source.narrow(1, 0, tokens));
            }
        }
    };
    copy(m_keys, m_keyCopies);
    copy(m_values, m_valueCopies);
}

void KvCache::clear() {
    for (at::Tensor& keys : m_keys) keys.reset();
    for (at::Tensor& values : m_values) values.reset();
    m_room = 0;
}

}  // namespace lpes::model
