#pragma once

#include "core/model/cuda/column_sums.h"
#include "core/model/cuda/numeric.h"

// What both kernels of column_sums.cu share: which query sees which key, how a product becomes a score, and what is
// kept of a row. The two passes are one computation with the roles swapped: the first owns queries and walks over keys,
// the second owns keys and walks over queries.
namespace lpes::cuda {

enum class Pass { LogSums, Columns };

/// A ColumnSumsTask as the kernels take it.
struct ColumnArguments {
    const void* q;
    const void* k;
    std::int64_t qHeadStride, qRowStride, kHeadStride, kRowStride;
    std::int64_t queries, keys, window;
    int heads, group, headDim;  ///< group: query heads per key head
    float scale, softcap;
    float* logSums;   ///< [H, N] log2 of each query's sum of exponentials
    double* columns;  ///< [H, S]
};

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kUnseen = -INFINITY;

LPES_HOST_DEVICE inline float power2(float x) {
#if defined(__CUDA_ARCH__)
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#else
    return std::exp2(x);
#endif
}

/// Product → score · log2 e, so that exponentials are powers of two.
LPES_HOST_DEVICE inline float scoreOf(float product, float scale, float softcap) {
    const float score = product * scale;
    return softcap > 0.0f ? softcap * kLog2E * tanhf(score / softcap) : score * kLog2E;
}

struct Range {
    std::int64_t begin, end;
};

/// Rows and columns of a pass, and which of them see each other.
template <Pass pass>
struct Sight {
    std::int64_t queries, keys, window, offset;  ///< offset: position of the first query

    LPES_HOST_DEVICE explicit Sight(const ColumnArguments& a)
        : queries(a.queries), keys(a.keys), window(a.window), offset(a.keys - a.queries) {}

    LPES_HOST_DEVICE std::int64_t rows() const { return pass == Pass::LogSums ? queries : keys; }
    LPES_HOST_DEVICE std::int64_t columns() const { return pass == Pass::LogSums ? keys : queries; }

    LPES_HOST_DEVICE bool sees(std::int64_t row, std::int64_t column) const {
        const std::int64_t query = pass == Pass::LogSums ? row : column, key = pass == Pass::LogSums ? column : row;
        if (query >= queries || key >= keys) return false;
        const std::int64_t distance = offset + query - key;
        return distance >= 0 && (window == 0 || distance < window);
    }
    /// Columns that any of the rows first … last sees (rows that exist).
    LPES_HOST_DEVICE Range columnsOf(std::int64_t first, std::int64_t last) const {
        std::int64_t begin, end;
        if (pass == Pass::LogSums) {
            begin = window == 0 ? 0 : offset + first - window + 1;
            end = offset + last + 1;
        } else {
            begin = first - offset;
            end = window == 0 ? queries : last - offset + window;
        }
        if (begin < 0) begin = 0;
        if (end > columns()) end = columns();
        return {begin, end};
    }
    /// Do all rows first … last see all columns begin … end−1?
    LPES_HOST_DEVICE bool seesAll(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end) const {
        return sees(first, begin) && sees(first, end - 1) && sees(last, begin) && sees(last, end - 1);
    }
};

/// What one thread keeps of a row while it walks over the columns.
template <Pass pass>
struct RowState;

/// The logarithm of a growing sum of powers of two.
template <>
struct RowState<Pass::LogSums> {
    float maximum = kUnseen, sum = 0.0f;

    template <int count>
    LPES_HOST_DEVICE void add(const float (&scores)[count], const float*) {
        float largest = maximum;
        LPES_UNROLL
        for (int i = 0; i < count; ++i) largest = fmaxf(largest, scores[i]);
        if (largest == kUnseen) return;
        float added = 0.0f;
        LPES_UNROLL
        for (int i = 0; i < count; ++i) added += power2(scores[i] - largest);
        sum = sum * power2(maximum - largest) + added;
        maximum = largest;
    }
    LPES_HOST_DEVICE void endTile() {}
    template <class Lane>
    LPES_DEVICE void combine(Lane& lane, int mask) {
        const float otherMaximum = lane.shuffleXor(maximum, mask), otherSum = lane.shuffleXor(sum, mask);
        const float largest = fmaxf(maximum, otherMaximum);
        if (largest == kUnseen) return;
        sum = sum * power2(maximum - largest) + otherSum * power2(otherMaximum - largest);
        maximum = largest;
    }
    LPES_HOST_DEVICE void write(const ColumnArguments& a, int head, std::int64_t row) const {
        a.logSums[head * a.queries + row] = maximum + log2f(sum);
    }
};

/// The shares that a key receives; in float within a tile, in double over the tiles.
template <>
struct RowState<Pass::Columns> {
    float part = 0.0f;
    double total = 0.0;

    template <int count>
    LPES_HOST_DEVICE void add(const float (&scores)[count], const float* logSums) {
        LPES_UNROLL
        for (int i = 0; i < count; ++i) part += power2(scores[i] - logSums[i]);
    }
    LPES_HOST_DEVICE void endTile() {
        total += static_cast<double>(part);
        part = 0.0f;
    }
    template <class Lane>
    LPES_DEVICE void combine(Lane& lane, int mask) {
        total += lane.shuffleXor(total, mask);
    }
    LPES_HOST_DEVICE void write(const ColumnArguments& a, int head, std::int64_t row) const {
        a.columns[head * a.keys + row] = total;
    }
};

/// The rows that a pass owns and the columns that it walks over, as arrays of T.
template <Pass pass, class T>
LPES_HOST_DEVICE const T* ownedRow(const ColumnArguments& a, int head, std::int64_t row) {
    return pass == Pass::LogSums ? static_cast<const T*>(a.q) + head * a.qHeadStride + row * a.qRowStride
                                 : static_cast<const T*>(a.k) + head / a.group * a.kHeadStride + row * a.kRowStride;
}
template <Pass pass, class T>
LPES_HOST_DEVICE const T* walkedRow(const ColumnArguments& a, int head, std::int64_t row) {
    return ownedRow < pass == Pass::LogSums ? Pass::Columns : Pass::LogSums, T > (a, head, row);
}

/// Blocks with the most work first: late queries, early keys.
template <Pass pass>
LPES_HOST_DEVICE std::int64_t firstOwned(std::int64_t block, std::int64_t rows, int perBlock) {
    const std::int64_t blocks = (rows + perBlock - 1) / perBlock;
    return (pass == Pass::LogSums ? blocks - 1 - block : block) * perBlock;
}

}  // namespace lpes::cuda
