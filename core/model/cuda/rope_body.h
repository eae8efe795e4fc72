#pragma once

#include "core/model/cuda/numeric.h"
#include "core/model/cuda/rope_kernel.h"

// The rotation's arithmetic, shared by the kernel, the CPU reference and the test that runs the kernel's body on the
// CPU.
namespace lpes::cuda {

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
LPES_HOST_DEVICE void rotatePair(T& a, T& b, T cosine, T sine) {
    const float first = toFloat(a), second = toFloat(b), c = toFloat(cosine), s = toFloat(sine);
    a = fromFloat<T>(roundTo<T>(product(first, c)) - roundTo<T>(product(second, s)));
    b = fromFloat<T>(roundTo<T>(product(second, c)) + roundTo<T>(product(first, s)));
}

/// V neighbouring elements, moved at once.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
    T values[V];
};

template <class Values, class T>
LPES_HOST_DEVICE Values loadPack(const T* from) {
    return *reinterpret_cast<const Values*>(from);
}
template <class Values, class T>
LPES_HOST_DEVICE void storePack(T* to, const Values& values) {
    *reinterpret_cast<Values*>(to) = values;
}

/// Rows per block: their tables' rows stay in the cache while all their heads are turned.
constexpr int kRopeRows = 4;
constexpr int kRopeThreads = 256;

inline std::int64_t ropeBlocks(const RopeTask& task) {
    return (task.rows + kRopeRows - 1) / kRopeRows;
}
/// May elements be moved 16 bytes at a time?
bool ropeVectorized(const RopeTask& task);

template <class T>
LPES_HOST_DEVICE const T* headFrom(const RopeHeads& heads, std::int64_t row, int head, int headDim) {
    return static_cast<const T*>(heads.from) + row * heads.rowStride + static_cast<std::int64_t>(head) * headDim;
}
template <class T>
LPES_HOST_DEVICE T* headTo(const RopeHeads& heads, std::int64_t row, int head) {
    return static_cast<T*>(heads.to) + row * heads.toRowStride + head * heads.toHeadStride;
}

/// One block's work. Lane: thread(), threads(), block().
template <class T, int V, class Lane>
LPES_DEVICE void ropeBlock(Lane& lane, const RopeTask& task) {
    using Values = Pack<T, V>;
    const std::int64_t firstRow = lane.block() * kRopeRows, left = task.rows - firstRow;
    const int rows = left < kRopeRows ? static_cast<int>(left) : kRopeRows;
    // Of a row: pairs of packs that are turned, packs of rotated heads that pass, packs of values.
    const int half = task.rotaryDim / 2, turnedPacks = half / V, passingPacks = (task.headDim - task.rotaryDim) / V;
    const int wholePacks = task.headDim / V, rotated = task.q.heads + task.k.heads;
    const int turned = rotated * turnedPacks, passing = rotated * passingPacks;
    const int perRow = turned + passing + task.v.heads * wholePacks;
    for (int item = lane.thread(); item < rows * perRow; item += lane.threads()) {
        const std::int64_t row = firstRow + item / perRow;
        int rest = item % perRow;
        if (rest >= turned + passing) {
            rest -= turned + passing;
            const int head = rest / wholePacks, i = rest % wholePacks * V;
            storePack(headTo<T>(task.v, row, head) + i,
                      loadPack<Values>(headFrom<T>(task.v, row, head, task.headDim) + i));
            continue;
        }
        const bool turns = rest < turned;
        if (!turns) rest -= turned;
        const int packs = turns ? turnedPacks : passingPacks;
        int head = rest / packs;
        const int i = rest % packs * V;
        const bool isQuery = head < task.q.heads;
        const RopeHeads& heads = isQuery ? task.q : task.k;
        if (!isQuery) head -= task.q.heads;
        const T* from = headFrom<T>(heads, row, head, task.headDim);
        T* to = headTo<T>(heads, row, head);
        if (!turns) {
            storePack(to + task.rotaryDim + i, loadPack<Values>(from + task.rotaryDim + i));
            continue;
        }
        const std::int64_t angles = (task.tableRows ? task.tableRows[row] : task.firstTableRow + row) * half + i;
        const Values cosines = loadPack<Values>(static_cast<const T*>(task.cos) + angles);
        const Values sines = loadPack<Values>(static_cast<const T*>(task.sin) + angles);
        Values first = loadPack<Values>(from + i), second = loadPack<Values>(from + half + i);
        LPES_UNROLL
        for (int v = 0; v < V; ++v) rotatePair(first.values[v], second.values[v], cosines.values[v], sines.values[v]);
        storePack(to + i, first);
        storePack(to + half + i, second);
    }
}

}  // namespace lpes::cuda
