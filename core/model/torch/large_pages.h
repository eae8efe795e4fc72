#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lpes::model {

/// What LibTorch's allocator gives lies on pages of 4 KiB, and on many processors the walk from address to page is what
/// limits reading: weights come from memory twice as fast from pages of 2 MiB, which also take a tenth of the time to
/// get. Everything here is on such pages where the system has them, and on ordinary ones otherwise. Memory is taken
/// when it is first written to, to the page.

/// As at::empty on the CPU.
[[nodiscard]] at::Tensor emptyOnLargePages(at::IntArrayRef shape, at::ScalarType type);

/// Hands out tensors that lie one behind the other, for many that are smaller than such a page. What a tensor took is
/// free again when all of its neighbours are gone too. thread-compatible.
class LargePages {
  public:
    [[nodiscard]] at::Tensor take(at::IntArrayRef shape, at::ScalarType type);

  private:
    std::shared_ptr<std::byte> m_region;
    std::size_t m_used = 0, m_size = 0;
};

}  // namespace lpes::model
