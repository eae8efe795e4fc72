#pragma once

#include <cstdint>

#include "core/model/cuda/cuda_types.h"

namespace lpes::cuda {

/// Queries and keys to rotate in place by their positions' angles, with one layer's scale. Strides count elements, so
/// that q and k may be views of one fused projection.
///
///     angle = (position / scale) · inverseFrequencies[i]          in double (Su et al. 2021, arXiv:2104.09864, §3.2)
///     cos, sin rounded to float32, times attentionFactor in float32, rounded to `type`
///     (a, b) → (round(a·cos) − round(b·sin), round(b·cos) + round(a·sin)), each result rounded to `type`
///
/// where a is element i and b element i + rotaryDim/2 of a head (the half-split layout), and round() rounds to `type`,
/// which are the steps of transformers' apply_rotary_pos_emb in that type. Elements from rotaryDim on stay as they are.
struct RopeTask {
    DataType type = DataType::Float32;
    std::int64_t rows = 0;  ///< N
    int headDim = 0;        ///< D
    int rotaryDim = 0;      ///< even, 2 to D
    void* q = nullptr;      ///< [N, qHeads, D], heads contiguous; nullptr only with qHeads = 0
    std::int64_t qRowStride = 0;
    int qHeads = 0;
    void* k = nullptr;  ///< [N, kHeads, D]; nullptr only with kHeads = 0
    std::int64_t kRowStride = 0;
    int kHeads = 0;
    const std::int32_t* positions = nullptr;     ///< [N]
    const double* inverseFrequencies = nullptr;  ///< [rotaryDim/2]
    double scale = 1.0;                          ///< s > 0: positions are divided by it
    double attentionFactor = 1.0;
};

/// What is wrong with the sizes, strides, pointers or numbers of a task; ok when nothing is.
[[nodiscard]] Status checkTask(const RopeTask& task);

/// Rotates on the GPU; every pointer is device memory of the current device. Asynchronous on `stream` (a cudaStream_t;
/// nullptr is the default stream): the arrays outlive the work. cos and sin of an angle are within 1e-6 of the exact
/// ones for any angle below 1e8 (double throughout, sincospi for the reduction), also at the last position of a
/// 10-million-token context. thread-safe.
[[nodiscard]] Status ropeInPlace(const RopeTask& task, void* stream);

/// The same on the CPU with host pointers: the reference that the kernel is compared with, and its twin where there is
/// no GPU. Results differ from the kernel's only where cos or sin lie within 1e-8 of a rounding boundary.
[[nodiscard]] Status ropeInPlaceCpu(const RopeTask& task);

}  // namespace lpes::cuda
