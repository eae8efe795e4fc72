#pragma once

#include <string>

#include "core/base/result.h"
#include "core/model/torch/devices.h"

namespace lpes::model {

/// The NVIDIA driver's own interface (libcuda.so.1), opened at run time, so that no CUDA library is needed to ask
/// whether there is a GPU. Every function may be called from any thread.
[[nodiscard]] GpuDiscovery askCudaDriver();
[[nodiscard]] Result<DeviceMemory> askGpuMemory(int index);

}  // namespace lpes::model
