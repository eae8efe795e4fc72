#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <map>

#include "core/model/torch/block_attention.h"

namespace lpes::model {

/// Buffers that one thread's forward passes use again and again, so that no pass waits for fresh pages.
/// thread-compatible.
class Workspace {
  public:
    enum Slot {
        kNormed,
        kQ,
        kK,
        kV,
        kQkv0,
        kQkv1,
        kQkv2,
        kAttended,
        kExpert,
        kMixed,
        kGate,
        kUp,
        kActivated,
        kDelta,
        kBlocks,
        kLogits,
        kSlots
    };
    /// A contiguous tensor of that shape; its content is whatever the slot held on that device.
    [[nodiscard]] at::Tensor take(Slot slot, at::IntArrayRef shape, const at::TensorOptions& options);
    [[nodiscard]] BlockAttentionScratch& attention() { return m_attention; }

  private:
    std::map<int, std::array<at::Tensor, kSlots>> m_buffers;  ///< by device index; −1: CPU
    BlockAttentionScratch m_attention;
};

}  // namespace lpes::model
