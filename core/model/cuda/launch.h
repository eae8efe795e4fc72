#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/model/cuda/cuda_types.h"

namespace lpes::cuda {

/// What became of a CUDA call. `work` ends the sentence "the GPU failed while …".
inline Status outcome(cudaError_t error, const char* work) {
    if (error == cudaSuccess) return {};
    return Status::failure(std::string("the GPU failed while ") + work + ": " + cudaGetErrorString(error));
}

/// Right after a kernel launch.
inline Status launched(const char* work) {
    return outcome(cudaGetLastError(), work);
}

}  // namespace lpes::cuda
