#include "core/model/torch/large_pages.h"

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace lpes::model {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kLine = 64;
/// Address space that LargePages asks for at once.
constexpr std::size_t kRegion = std::size_t{256} << 20;

constexpr std::size_t roundUp(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

/// `size` bytes from the beginning of a large page on. Throws std::bad_alloc.
std::shared_ptr<std::byte> region(std::size_t size) {
    // The system aligns to small pages only: ask for more and begin where a large one does.
    const std::size_t asked = size + kPage;
    void* address = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    void* begin = address;
    std::size_t space = asked;
    std::align(kPage, size, begin, space);
    (void)madvise(begin, size, MADV_HUGEPAGE);  // a wish
    return {static_cast<std::byte*>(begin), [address, asked](std::byte*) { munmap(address, asked); }};
}

std::size_t bytesOf(at::IntArrayRef shape, at::ScalarType type) {
    return static_cast<std::size_t>(c10::multiply_integers(shape)) * c10::elementSize(type);
}

at::Tensor tensorAt(std::byte* data, std::shared_ptr<std::byte> owner, at::IntArrayRef shape, at::ScalarType type) {
    return at::from_blob(
        data, shape, [owner = std::move(owner)](void*) mutable { owner.reset(); }, type);
}

}  // namespace

at::Tensor emptyOnLargePages(at::IntArrayRef shape, at::ScalarType type) {
    const std::size_t bytes = bytesOf(shape, type);
    if (bytes < kPage) return at::empty(shape, type);
    std::shared_ptr<std::byte> own = region(bytes);
    std::byte* data = own.get();
    return tensorAt(data, std::move(own), shape, type);
}

at::Tensor LargePages::take(at::IntArrayRef shape, at::ScalarType type) {
    const std::size_t bytes = roundUp(bytesOf(shape, type), kLine);
    if (m_used + bytes > m_size) {
        m_size = std::max(kRegion, bytes);
        m_region = region(m_size);
        m_used = 0;
    }
    std::byte* data = m_region.get() + m_used;
    m_used += bytes;
    return tensorAt(data, m_region, shape, type);
}

}  // namespace lpes::model
