#pragma once

#include <string>
#include <utility>

/// Own CUDA kernels, each with a CPU reference beside it. The interface is plain C++17: raw pointers, sizes and
/// strides, no LibTorch and no CUDA type, so that it serves the decoder, the tests and the benchmarks alike, and exists
/// in builds without nvcc (see kernelsProblem).
namespace lpes::cuda {

/// How the elements of an array are stored. Arithmetic is in float32 at least, whatever the type.
enum class DataType { Float32, BFloat16, Float16 };

[[nodiscard]] constexpr int elementBytes(DataType type) {
    return type == DataType::Float32 ? 4 : 2;
}

/// Why a call did nothing; empty when it did what it says.
class Status {
  public:
    Status() = default;
    [[nodiscard]] static Status failure(std::string message) { return Status(std::move(message)); }
    [[nodiscard]] bool ok() const { return m_message.empty(); }
    [[nodiscard]] const std::string& message() const { return m_message; }

  private:
    explicit Status(std::string message) : m_message(std::move(message)) {}
    std::string m_message;
};

/// Empty when the kernels of this build can run on CUDA device `device`. Otherwise why not, as a part of a sentence:
/// "this build was configured without nvcc", "CUDA driver version is insufficient for CUDA runtime version".
/// Starts the CUDA runtime, and leaves the calling thread's current device as it is; thread-safe.
[[nodiscard]] std::string kernelsProblem(int device = 0);

/// Makes `device` current for this thread's calls of this library. Our CUDA runtime is not LibTorch's, but what is
/// current in the driver is one and the same: whoever shares the thread with LibTorch first lets LibTorch make the same
/// device current, and gives it back through LibTorch.
[[nodiscard]] Status useDevice(int device);

/// Waits for everything that was put on the stream (a cudaStream_t; nullptr is the default stream), and says what went
/// wrong meanwhile.
[[nodiscard]] Status synchronize(void* stream);

}  // namespace lpes::cuda
