#pragma once

#include <cstdint>

#include "core/model/cuda/cuda_types.h"

namespace lpes::cuda {

/// Heads on their way from a projection to the layout that attention reads. Strides count elements; a head is
/// `headDim` contiguous values on both sides, and heads stand side by side in a row of `from`, so that q, k and v may
/// be views of one fused projection. In place: to = from, toRowStride = rowStride, toHeadStride = headDim; otherwise
/// the two do not overlap.
struct RopeHeads {
    const void* from = nullptr;  ///< [N, heads, D]; nullptr only with heads = 0
    std::int64_t rowStride = 0;
    int heads = 0;
    void* to = nullptr;  ///< head h of row n at h · toHeadStride + n · toRowStride
    std::int64_t toHeadStride = 0, toRowStride = 0;
};

/// Queries and keys to rotate by their positions' angles (Su et al. 2021, arXiv:2104.09864, §3.2), values to carry
/// along. The angles are the layer's tables: which scale, frequencies or method made them is the tables' matter, and
/// the GPU multiplies with the numbers that the CPU multiplies with.
///
///     (a, b) → (round(a·cos) − round(b·sin), round(b·cos) + round(a·sin)), each result rounded to `type`
///
/// where a is element i and b element i + rotaryDim/2 of a head (the half-split layout), and round() rounds to `type`,
/// which are the steps of transformers' apply_rotary_pos_emb in that type. Elements from rotaryDim on pass as they are.
struct RopeTask {
    DataType type = DataType::Float32;
    std::int64_t rows = 0;                    ///< N
    int headDim = 0;                          ///< D
    int rotaryDim = 0;                        ///< even, 2 to D
    RopeHeads q, k;                           ///< rotated
    RopeHeads v;                              ///< laid out only
    const void* cos = nullptr;                ///< [P, rotaryDim/2] of `type`
    const void* sin = nullptr;                ///< [P, rotaryDim/2] of `type`
    std::int64_t firstTableRow = 0;           ///< the table's row of row 0, where tableRows is not there
    const std::int32_t* tableRows = nullptr;  ///< [N] the table's row of each row; nullptr: consecutive ones
};

/// What is wrong with the sizes, strides or pointers of a task; ok when nothing is. Table rows are not looked at: they
/// may be device memory.
[[nodiscard]] Status checkTask(const RopeTask& task);

/// On the GPU; every pointer is device memory of the current device (useDevice). Asynchronous on `stream` (a
/// cudaStream_t; nullptr is the default stream): the arrays outlive the work. The same bits as applyRopeCpu.
/// thread-safe.
[[nodiscard]] Status applyRope(const RopeTask& task, void* stream);

/// The same on the CPU with host pointers: the reference that the kernel is compared with.
[[nodiscard]] Status applyRopeCpu(const RopeTask& task);

}  // namespace lpes::cuda
