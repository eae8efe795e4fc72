#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/cuda/cuda_types.h"

namespace lpes::cuda {

/// Keys begin … end−1.
struct KeySpan {
    std::int64_t begin = 0, end = 0;
};

/// Attention by position over all queries: how much of the softmax's mass each key position receives. The N queries
/// are the last N of S positions, query i standing at position S − N + i; it sees key j when
///
///     j ≤ S − N + i   and   (window = 0  or  S − N + i − j < window)
///
///     score(h, i, j) = scale · q[h, i] · k[h / (H/K), j]      products of the stored values, summed in float32
///                      softcap · tanh(score / softcap)        where softcap > 0
///     perHead[h, j]  = Σ_i softmax_j(score)(h, i, j)
///     mean[j]        = Σ_h perHead[h, j] / H
///     spanSums[s]    = Σ_{j in span s} mean[j]
///
/// The mean over queries is mean[j] / N. Nothing of size N·S is stored: one pass finds every row's logarithm of the sum
/// of exponentials, a second one adds up the columns (the two passes that FlashAttention's backward pass makes, Dao et
/// al. 2022, arXiv:2205.14135, appendix B). Strides count elements; rows are D contiguous values.
struct ColumnSumsTask {
    DataType type = DataType::Float32;
    int heads = 0;             ///< H, a multiple of K
    int kvHeads = 0;           ///< K
    int headDim = 0;           ///< D
    std::int64_t queries = 0;  ///< N, 1 to S
    std::int64_t keys = 0;     ///< S
    const void* q = nullptr;   ///< [H, N, D] after rotation
    std::int64_t qHeadStride = 0, qRowStride = 0;
    const void* k = nullptr;  ///< [K, S, D] after rotation
    std::int64_t kHeadStride = 0, kRowStride = 0;
    double scale = 1.0;              ///< usually 1/√D
    double softcap = 0.0;            ///< 0: none
    std::int64_t window = 0;         ///< 0: every earlier key
    const KeySpan* spans = nullptr;  ///< [numSpans], within 0 … S; may overlap
    int numSpans = 0;

    double* mean = nullptr;      ///< [S]
    double* perHead = nullptr;   ///< [H, S], or nullptr when it is not wanted
    double* spanSums = nullptr;  ///< [numSpans]
};

/// What is wrong with the sizes, strides, pointers or numbers of a task; ok when nothing is. Spans are not looked at:
/// they may be device memory.
[[nodiscard]] Status checkTask(const ColumnSumsTask& task);

/// Bytes of scratch memory that columnSums needs: 4·H·N + 8·H·S, a little more for alignment.
[[nodiscard]] std::size_t columnSumsScratchBytes(const ColumnSumsTask& task);

/// On the GPU; every pointer of the task and `scratch` (columnSumsScratchBytes, aligned to 16) is device memory of the
/// current device. Asynchronous on `stream` (a cudaStream_t; nullptr is the default stream). bfloat16 and float16 run
/// on the matrix units where the GPU has them for the type (compute capability 8.0), D is a multiple of 8 up to 256,
/// and rows are aligned to 16 bytes; everything else on the ordinary units. The same bits every time: each column
/// belongs to one block, which adds its queries in order. Within 1e-4 relative of columnSumsCpu. thread-safe.
[[nodiscard]] Status columnSums(const ColumnSumsTask& task, void* scratch, void* stream);

/// Does columnSums take the matrix units on a GPU that has them?
[[nodiscard]] bool fitsMatrixUnits(const ColumnSumsTask& task);

/// The same on the CPU with host pointers, on the calling thread: the reference that the kernel is compared with, and
/// usable on real prompts – blocks of queries, O(64·S) memory, softmax in float32, sums in double.
[[nodiscard]] Status columnSumsCpu(const ColumnSumsTask& task);

}  // namespace lpes::cuda
