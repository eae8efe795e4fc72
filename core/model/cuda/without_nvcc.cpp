#include <utility>

#include "core/model/cuda/column_sums.h"
#include "core/model/cuda/device_buffer.h"
#include "core/model/cuda/rope_kernel.h"

// A build without nvcc: every call says so.
namespace lpes::cuda {
namespace {

constexpr const char* kReason = "this build has no CUDA kernels (it was configured without nvcc)";

}  // namespace

std::string kernelsProblem(int) {
    return kReason;
}
Status synchronize(void*) {
    return Status::failure(kReason);
}
Status useDevice(int) {
    return Status::failure(kReason);
}
Status applyRope(const RopeTask&, void*) {
    return Status::failure(kReason);
}
Status columnSums(const ColumnSumsTask&, void*, void*) {
    return Status::failure(kReason);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept : m_data(std::exchange(other.m_data, nullptr)) {}
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(m_data, other.m_data);
    return *this;
}
DeviceBuffer::~DeviceBuffer() = default;
Status DeviceBuffer::allocate(std::size_t) {
    return Status::failure(kReason);
}
Status DeviceBuffer::upload(const void*, std::size_t) {
    return Status::failure(kReason);
}
Status DeviceBuffer::download(void*, std::size_t) const {
    return Status::failure(kReason);
}

}  // namespace lpes::cuda
