#include "core/model/torch/kv_cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace lpes::model {

KvCache::KvCache(const ModelConfig& config, at::ScalarType type, std::vector<at::Device> devices)
    : m_kvHeads(config.numKvHeads),
      m_headDim(config.headDim),
      m_contextLength(config.contextLength),
      m_type(type),
      m_devices(std::move(devices)),
      m_keys(static_cast<std::size_t>(config.numLayers)),
      m_values(static_cast<std::size_t>(config.numLayers)) {}

void KvCache::reserve(int tokens, int keep) {
    if (tokens <= m_room) return;
    const int room = std::max(tokens, std::min(m_contextLength, std::max(256, m_room + m_room / 2)));
    const auto grown = [&](const at::Tensor& old, at::Device device) {
        at::Tensor fresh = at::empty({m_kvHeads, room, m_headDim}, at::TensorOptions(m_type).device(device));
        if (keep > 0) fresh.narrow(1, 0, keep).copy_(old.narrow(1, 0, keep));
        return fresh;
    };
    for (std::size_t layer = 0; layer < m_keys.size(); ++layer) {
        m_keys[layer] = grown(m_keys[layer], m_devices[layer]);
        m_values[layer] = grown(m_values[layer], m_devices[layer]);
    }
    m_room = room;
}

void KvCache::clear() {
    for (at::Tensor& keys : m_keys) keys.reset();
    for (at::Tensor& values : m_values) values.reset();
    m_room = 0;
}

}  // namespace lpes::model
