#pragma once

#include "core/model/cuda/numeric.h"
#include "core/model/cuda/rope_kernel.h"

// The rotation's arithmetic, shared by the kernel, the CPU reference and the test that runs the kernel's body on the
// CPU.
namespace lpes::cuda {

/// cos and sin of one angle, rounded to T.
template <class T>
LPES_HOST_DEVICE void rotaryAngle(std::int32_t position, double scale, double frequency, float attentionFactor,
                                  float& cosine, float& sine) {
    const double angle = static_cast<double>(position) / scale * frequency;
    double c, s;
#if defined(__CUDA_ARCH__)
    // In half turns, so that reducing a large angle is exact and needs no slow path.
    sincospi(angle * 0.318309886183790671538, &s, &c);
#else
    c = std::cos(angle);
    s = std::sin(angle);
#endif
    cosine = roundTo<T>(static_cast<float>(c) * attentionFactor);
    sine = roundTo<T>(static_cast<float>(s) * attentionFactor);
}

/// No product may be fused with the sum: transformers rounds it first. nvcc fuses unless told so; the host compiler is
/// told by a flag.
LPES_HOST_DEVICE inline float product(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

template <class T>
LPES_HOST_DEVICE void rotatePair(T& a, T& b, float cosine, float sine) {
    const float first = toFloat(a), second = toFloat(b);
    a = fromFloat<T>(roundTo<T>(product(first, cosine)) - roundTo<T>(product(second, sine)));
    b = fromFloat<T>(roundTo<T>(product(second, cosine)) + roundTo<T>(product(first, sine)));
}

/// V neighbouring elements, moved at once.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
    T values[V];
};

/// Rows per block: angles of a row are computed once and serve all its heads.
constexpr int kRopeRows = 4;
constexpr int kRopeThreads = 256;

inline std::int64_t ropeBlocks(const RopeTask& task) {
    return (task.rows + kRopeRows - 1) / kRopeRows;
}
inline std::size_t ropeSharedBytes(const RopeTask& task) {
    return sizeof(float) * 2 * kRopeRows * static_cast<std::size_t>(task.rotaryDim / 2);
}
/// May elements be moved 16 bytes at a time?
bool ropeVectorized(const RopeTask& task);

/// One block's work. Lane: thread(), threads(), block(), shared(), sync().
template <class T, int V, class Lane>
LPES_DEVICE void ropeBlock(Lane& lane, const RopeTask& task) {
    const int half = task.rotaryDim / 2;
    const std::int64_t firstRow = lane.block() * kRopeRows, left = task.rows - firstRow;
    const int rows = left < kRopeRows ? static_cast<int>(left) : kRopeRows;
    float* cosines = reinterpret_cast<float*>(lane.shared());
    float* sines = cosines + kRopeRows * half;
    for (int item = lane.thread(); item < rows * half; item += lane.threads()) {
        const int row = item / half, i = item - row * half;
        rotaryAngle<T>(task.positions[firstRow + row], task.scale, task.inverseFrequencies[i],
                       static_cast<float>(task.attentionFactor), cosines[item], sines[item]);
    }
    lane.sync();

    const int packs = half / V, perRow = (task.qHeads + task.kHeads) * packs;
    for (int item = lane.thread(); item < rows * perRow; item += lane.threads()) {
        const int row = item / perRow, inRow = item - row * perRow;
        const int head = inRow / packs, i = (inRow - head * packs) * V;
        T* values =
            head < task.qHeads
                ? static_cast<T*>(task.q) + (firstRow + row) * task.qRowStride + head * task.headDim
                : static_cast<T*>(task.k) + (firstRow + row) * task.kRowStride + (head - task.qHeads) * task.headDim;
        using Values = Pack<T, V>;
        Values first = *reinterpret_cast<const Values*>(values + i);
        Values second = *reinterpret_cast<const Values*>(values + half + i);
        LPES_UNROLL
        for (int v = 0; v < V; ++v) {
            rotatePair(first.values[v], second.values[v], cosines[row * half + i + v], sines[row * half + i + v]);
        }
        *reinterpret_cast<Values*>(values + i) = first;
        *reinterpret_cast<Values*>(values + half + i) = second;
    }
}

}  // namespace lpes::cuda
