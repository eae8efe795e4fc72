#include "core/model/torch/kv_cache.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace lpes::model {

KvCache::KvCache(const ModelConfig& config, at::ScalarType type)
    : m_kvHeads(config.numKvHeads),
      m_headDim(config.headDim),
      m_contextLength(config.contextLength),
      m_type(type),
      m_keys(static_cast<std::size_t>(config.numLayers)),
      m_values(static_cast<std::size_t>(config.numLayers)) {}

void KvCache::reserve(int tokens, int keep) {
    if (tokens <= m_room) return;
    const int room = std::max(tokens, std::min(m_contextLength, std::max(256, m_room + m_room / 2)));
    const auto grown = [&](const at::Tensor& old) {
        at::Tensor fresh = at::empty({m_kvHeads, room, m_headDim}, m_type);
        if (keep > 0) fresh.narrow(1, 0, keep).copy_(old.narrow(1, 0, keep));
        return fresh;
    };
    for (at::Tensor& keys : m_keys) keys = grown(keys);
    for (at::Tensor& values : m_values) values = grown(values);
    m_room = room;
}

void KvCache::clear() {
    for (at::Tensor& keys : m_keys) keys.reset();
    for (at::Tensor& values : m_values) values.reset();
    m_room = 0;
}

}  // namespace lpes::model
