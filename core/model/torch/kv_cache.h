#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/model/model_config.h"

namespace lpes::model {

/// Rotated keys and values of the tokens so far, per layer, with room ahead. Each sequence has a slot. Methods with
/// several paths keep a copy of both for each; methods that rotate the same keys by several bases keep a copy of the
/// keys for each. thread-compatible.
class KvCache {
  public:
    /// `devices` [L]: where each layer's keys and values live.
    KvCache(const ModelConfig& config, at::ScalarType type, std::vector<at::Device> devices);

    /// How many copies in each of how many slots from now on; what was held is given back where that changes something.
    void setCopies(int keyCopies, int valueCopies, std::size_t slots = 1);
    /// Makes room for `tokens` tokens in every slot, keeping the first `keep`. Room grows by half at least, up to
    /// `contextLength`.
    void reserve(int tokens, int keep, int contextLength);
    /// [K, room, D] of a layer.
    [[nodiscard]] const at::Tensor& keys(int layer, std::size_t slot = 0, std::size_t copy = 0) const {
        return m_keys[(static_cast<std::size_t>(layer) * m_slots + slot) * m_keyCopies + copy];
    }
    [[nodiscard]] const at::Tensor& values(int layer, std::size_t slot = 0, std::size_t copy = 0) const {
        return m_values[(static_cast<std::size_t>(layer) * m_slots + slot) * m_valueCopies + copy];
    }
    /// The first `tokens` tokens of one slot into another.
    void copyBeginning(std::size_t from, std::size_t to, int tokens);
    /// Gives the memory back.
    void clear();

  private:
    int m_kvHeads, m_headDim;
    at::ScalarType m_type;
    std::vector<at::Device> m_devices;
    int m_room = 0;
    std::size_t m_keyCopies = 1, m_valueCopies = 1, m_slots = 1;
    std::vector<at::Tensor> m_keys, m_values;  ///< [L · slots · copies]
};

}  // namespace lpes::model
