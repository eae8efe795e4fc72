#include <string>
#include <thread>
#include <utility>

#include "core/model/cuda/device_buffer.h"
#include "core/model/cuda/launch.h"

namespace lpes::cuda {
namespace {

__global__ void nothing() {}

std::string problemOn(int device) {
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return "there is no NVIDIA driver";
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && device >= count) {
        return "there is no CUDA device " + std::to_string(device) + " (devices: " + std::to_string(count) + ")";
    }
    cudaFuncAttributes attributes;
    if (error == cudaSuccess) error = cudaSetDevice(device);
    // Fails where the build has no machine code that this GPU can run.
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, nothing);
    if (error == cudaSuccess) return {};
    cudaGetLastError();  // the next launch is not to be blamed for it
    return cudaGetErrorString(error);
}

}  // namespace

std::string kernelsProblem(int device) {
    std::string problem;
    // On a thread of its own: asking makes the device current, and the caller's may be another one, which LibTorch's
    // runtime believes to be current as well.
    std::thread([&] { problem = problemOn(device); }).join();
    return problem;
}

Status useDevice(int device) {
    return outcome(cudaSetDevice(device), "becoming the current device");
}

Status synchronize(void* stream) {
    return outcome(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "computing");
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept : m_data(std::exchange(other.m_data, nullptr)) {}
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(m_data, other.m_data);
    return *this;
}
DeviceBuffer::~DeviceBuffer() {
    if (m_data) cudaFree(m_data);
}
Status DeviceBuffer::allocate(std::size_t bytes) {
    if (m_data) cudaFree(std::exchange(m_data, nullptr));
    return outcome(cudaMalloc(&m_data, bytes), "taking memory");
}
Status DeviceBuffer::upload(const void* from, std::size_t bytes) {
    return outcome(cudaMemcpy(m_data, from, bytes, cudaMemcpyHostToDevice), "copying to it");
}
Status DeviceBuffer::download(void* to, std::size_t bytes) const {
    return outcome(cudaMemcpy(to, m_data, bytes, cudaMemcpyDeviceToHost), "copying from it");
}

}  // namespace lpes::cuda
