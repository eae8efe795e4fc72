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
    float scale;                ///< product → score · log2 e where there is no softcap
    float cap, slope;           ///< softcap · log2 e (0: none); product → 2 · score · log2 e / softcap
    float* logSums;             ///< [H, N] log2 of each query's sum of exponentials
    double* columns;            ///< [H, S]
};

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

LPES_HOST_DEVICE inline float quotient(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fdividef(a, b);  // 0 for an infinite b, as wanted below
#else
    return a / b;
#endif
}

/// Products → scores · log2 e, so that exponentials are powers of two. cap · tanh(x) is written as
/// cap · (1 − 2 / (e^2x + 1)): exact to a rounding of the cap, which is all that an exponent needs.
template <int count>
LPES_HOST_DEVICE void toScores(float (&values)[count], const ColumnArguments& a) {
    if (a.cap > 0.0f) {
        LPES_UNROLL
        for (int i = 0; i < count; ++i) values[i] = a.cap - quotient(2.0f * a.cap, power2(values[i] * a.slope) + 1.0f);
    } else {
        LPES_UNROLL
        for (int i = 0; i < count; ++i) values[i] *= a.scale;
    }
}

struct Range {
    std::int64_t begin, end;
};

/// Rows and columns of a pass, and which of them see each other: query i sees key j where 0 ≤ offset + i − j < window.
template <Pass pass>
struct Sight {
    std::int64_t queries, keys, window, offset;  ///< offset: position of the first query

    LPES_HOST_DEVICE explicit Sight(const ColumnArguments& a)
        : queries(a.queries), keys(a.keys), window(a.window), offset(a.keys - a.queries) {}

    LPES_HOST_DEVICE std::int64_t rows() const { return pass == Pass::LogSums ? queries : keys; }
    LPES_HOST_DEVICE std::int64_t columns() const { return pass == Pass::LogSums ? keys : queries; }

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
    /// The columns that one row sees within the tile first … first+count−1, counted from `first`: they have no gaps.
    LPES_HOST_DEVICE void within(std::int64_t row, std::int64_t first, int count, int& begin, int& size) const {
        Range seen = row < rows() ? columnsOf(row, row) : Range{first, first};
        if (seen.begin < first) seen.begin = first;
        if (seen.end > first + count) seen.end = first + count;
        begin = seen.end > seen.begin ? static_cast<int>(seen.begin - first) : 0;
        size = seen.end > seen.begin ? static_cast<int>(seen.end - seen.begin) : 0;
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
