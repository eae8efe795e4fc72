#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

/// GPUs: what the driver says of them, and LibTorch's CUDA half, which is loaded at run time and only when it is asked
/// for. Whatever is missing – driver, library, the right version of either – is a reason in words, never an error and
/// never a crash: a machine without a GPU is an ordinary machine.
namespace lpes::model {

struct Gpu {
    int index = 0;     ///< N of "cuda:N", counted as CUDA_VISIBLE_DEVICES has it
    std::string name;  ///< "NVIDIA H200"
    int computeMajor = 0, computeMinor = 0;
    std::int64_t totalBytes = 0;
};

struct GpuDiscovery {
    std::vector<Gpu> gpus;
    std::string driverVersion;  ///< "580.159.03"; empty when nothing says so
    std::string cudaVersion;    ///< newest CUDA that the driver supports, "13.0"
    std::string problem;        ///< why `gpus` is empty: "there is no NVIDIA driver (libcuda.so.1 was not found)"
};

/// Asks the NVIDIA driver, once. LibTorch is not loaded and no memory of a GPU is taken. thread-safe.
[[nodiscard]] const GpuDiscovery& discoverGpus();

/// Loads LibTorch's CUDA half (about 0.3 s, once) where the driver has a GPU, and says why tensors cannot live on one;
/// empty when they can. Call it before anything else asks LibTorch for CUDA or starts autograd: LibTorch remembers the
/// first answer that it gave itself. thread-safe.
[[nodiscard]] std::string loadGpuSupport();

struct DeviceMemory {
    std::int64_t freeBytes = 0, totalBytes = 0;
};

/// Memory of GPU `index` as of now. Opens the device's primary context for the moment, unless LibTorch has it open.
/// Unsupported when there is no such GPU. thread-safe.
[[nodiscard]] Result<DeviceMemory> gpuMemory(int index);

/// What LibTorch keeps of the GPUs' memory for later goes back to them: another program, another model or a smaller
/// batch may need it. Nothing where LibTorch's CUDA half is not loaded. thread-safe.
void giveBackGpuMemory();

/// One line per GPU, or one line that says why there is none: "no GPU: …". Loads LibTorch's CUDA half. thread-safe.
[[nodiscard]] std::string gpuStatus();

/// Where LibTorch's CUDA half is looked for: beside the loaded libtorch_cpu.so, then in `named` (a LibTorch folder or a
/// site-packages folder, from LPES_LIBTORCH; may be empty), which must hold the same version. Unsupported with the
/// reason when neither has it.
[[nodiscard]] Result<std::filesystem::path> findCudaHalf(const std::filesystem::path& loadedFrom,
                                                         const std::filesystem::path& named);

}  // namespace lpes::model
