#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/model/model_config.h"

namespace lpes::model {

/// Rotated keys and values of the tokens so far, per layer, with room ahead. thread-compatible.
class KvCache {
  public:
    /// `devices` [L]: where each layer's keys and values live.
    KvCache(const ModelConfig& config, at::ScalarType type, std::vector<at::Device> devices);

    /// Makes room for `tokens` tokens, keeping the first `keep`. Room grows by half at least, up to the context length.
    void reserve(int tokens, int keep);
    /// [K, room, D] of a layer.
    [[nodiscard]] const at::Tensor& keys(int layer) const { return m_keys[static_cast<std::size_t>(layer)]; }
    [[nodiscard]] const at::Tensor& values(int layer) const { return m_values[static_cast<std::size_t>(layer)]; }
    /// Gives the memory back.
    void clear();

  private:
    int m_kvHeads, m_headDim, m_contextLength;
    at::ScalarType m_type;
    std::vector<at::Device> m_devices;
    int m_room = 0;
    std::vector<at::Tensor> m_keys, m_values;
};

}  // namespace lpes::model
