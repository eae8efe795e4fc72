#pragma once

#include <cstddef>
#include <vector>

#include "core/model/cuda/cuda_types.h"

namespace lpes::cuda {

/// Memory of the current CUDA device, for tests and benchmarks of the kernels (the decoder uses LibTorch's tensors).
/// Movable; freed with the object. thread-compatible.
class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    ~DeviceBuffer();

    /// Allocates; failure when the GPU has not that much memory left, or there is none.
    [[nodiscard]] Status allocate(std::size_t bytes);
    /// Waits for the default stream, then copies. `bytes` at most what was allocated.
    [[nodiscard]] Status upload(const void* from, std::size_t bytes);
    [[nodiscard]] Status download(void* to, std::size_t bytes) const;
    [[nodiscard]] void* data() const { return m_data; }

  private:
    void* m_data = nullptr;
};

}  // namespace lpes::cuda
