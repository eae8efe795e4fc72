#pragma once

#include "core/model/cuda/column_sums_body.h"

namespace lpes::cuda {

/// Column sums on the matrix units: four warps, each owning 32 rows whose values stay in registers; tiles of 64 columns
/// in shared memory. Scores are never stored: what mma leaves in a lane's registers is reduced there.
///
/// mma.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"), with lane = 4·g + t: a lane holds
///   a: rows g and g+8, elements 2t, 2t+1, 2t+8, 2t+9     b: column g, the same elements
///   c: rows g (c0, c1) and g+8 (c2, c3), columns 2t and 2t+1
/// Both a and b are pairs of neighbouring elements of a row of D values: no transposing anywhere.
struct MatrixTiles {
    static constexpr int kThreads = 128, kRowsPerWarp = 32, kRows = 128, kColumns = 64, kStep = 16, kPad = 8;
};

template <class T, int steps>
constexpr int matrixSharedBytes() {
    // Rows are 8 elements (4 words) apart from a multiple of 32 words, so that the 32 words of a fragment lie in 32
    // banks.
    return MatrixTiles::kColumns * (steps * MatrixTiles::kStep + MatrixTiles::kPad) * static_cast<int>(sizeof(T)) +
           MatrixTiles::kColumns * static_cast<int>(sizeof(float));
}

/// Two neighbouring elements as a register.
template <class T>
LPES_HOST_DEVICE std::uint32_t pairAt(const T* values) {
    return *reinterpret_cast<const std::uint32_t*>(values);
}

/// One block's work. D ≤ 16·steps; what is missing counts as zero.
template <Pass pass, class T, int steps, class Lane>
LPES_DEVICE void matrixBlock(Lane& lane, const ColumnArguments& a) {
    using Tiles = MatrixTiles;
    constexpr int kStride = steps * Tiles::kStep + Tiles::kPad, kVector = 8;
    struct alignas(16) Vector {
        T values[kVector];
    };
    T* tile = reinterpret_cast<T*>(lane.shared());
    float* tileLogSums = reinterpret_cast<float*>(lane.shared() + Tiles::kColumns * kStride * sizeof(T));

    const Sight<pass> sight(a);
    const int head = lane.blockRow(), warp = lane.thread() / 32, g = lane.thread() % 32 / 4, t = lane.thread() % 4;
    const std::int64_t firstRow = firstOwned<pass>(lane.block(), sight.rows(), Tiles::kRows);
    const std::int64_t warpRow = firstRow + warp * Tiles::kRowsPerWarp;
    const auto lastOf = [&](std::int64_t first, int count) {
        return first + count < sight.rows() ? first + count - 1 : sight.rows() - 1;
    };

    std::uint32_t owned[2][steps][4];
    LPES_UNROLL
    for (int block = 0; block < 2; ++block) {
        LPES_UNROLL
        for (int step = 0; step < steps; ++step) {
            LPES_UNROLL
            for (int i = 0; i < 4; ++i) {
                const std::int64_t row = warpRow + 16 * block + g + 8 * (i % 2);
                const int element = step * Tiles::kStep + 2 * t + 8 * (i / 2);
                owned[block][step][i] =
                    row < sight.rows() && element < a.headDim ? pairAt(ownedRow<pass, T>(a, head, row) + element) : 0u;
            }
        }
    }

    RowState<pass> states[2][2];  // rows 16·block + 8·upper + g of the warp
    const Range columns = sight.columnsOf(firstRow, lastOf(firstRow, Tiles::kRows));
    for (std::int64_t first = columns.begin; first < columns.end; first += Tiles::kColumns) {
        lane.sync();
        for (int item = lane.thread(); item < Tiles::kColumns * steps * 2; item += Tiles::kThreads) {
            const int row = item / (steps * 2), element = item % (steps * 2) * kVector;
            Vector values{};
            if (first + row < columns.end && element < a.headDim) {
                values = *reinterpret_cast<const Vector*>(walkedRow<pass, T>(a, head, first + row) + element);
            }
            *reinterpret_cast<Vector*>(tile + row * kStride + element) = values;
        }
        if (pass == Pass::Columns && lane.thread() < Tiles::kColumns) {
            const std::int64_t query = first + lane.thread();
            tileLogSums[lane.thread()] = query < columns.end ? a.logSums[head * a.queries + query] : 0.0f;
        }
        lane.sync();

        if (warpRow >= sight.rows()) continue;  // uniform in the warp; the block's barriers are still met
        const std::int64_t lastRow = lastOf(warpRow, Tiles::kRowsPerWarp);
        const Range seen = sight.columnsOf(warpRow, lastRow);
        if (seen.begin >= first + Tiles::kColumns || seen.end <= first) continue;
        int begin[2][2], size[2][2];
        LPES_UNROLL
        for (int block = 0; block < 2; ++block) {
            LPES_UNROLL
            for (int upper = 0; upper < 2; ++upper) {
                sight.within(warpRow + 16 * block + 8 * upper + g, first, Tiles::kColumns, begin[block][upper],
                             size[block][upper]);
            }
        }

        LPES_ROLLED
        for (int part = 0; part < Tiles::kColumns; part += 32) {
            float products[2][4][4] = {};
            LPES_UNROLL
            for (int step = 0; step < steps; ++step) {
                LPES_UNROLL
                for (int n = 0; n < 4; ++n) {
                    const T* column = tile + (part + 8 * n + g) * kStride + step * Tiles::kStep + 2 * t;
                    const std::uint32_t low = pairAt(column), high = pairAt(column + 8);
                    LPES_UNROLL
                    for (int block = 0; block < 2; ++block) {
                        lane.template multiplyAdd<T>(products[block][n], owned[block][step], low, high);
                    }
                }
            }
            float logSums[8];
            LPES_UNROLL
            for (int i = 0; i < 8; ++i) {
                logSums[i] = pass == Pass::Columns ? tileLogSums[part + 8 * (i / 2) + 2 * t + i % 2] : 0.0f;
            }
            LPES_UNROLL
            for (int block = 0; block < 2; ++block) {
                LPES_UNROLL
                for (int upper = 0; upper < 2; ++upper) {
                    float scores[8];
                    LPES_UNROLL
                    for (int i = 0; i < 8; ++i) scores[i] = products[block][i / 2][2 * upper + i % 2];
                    toScores(scores, a);
                    LPES_UNROLL
                    for (int i = 0; i < 8; ++i) {
                        const int column = part + 8 * (i / 2) + 2 * t + i % 2;
                        const bool visible = static_cast<unsigned>(column - begin[block][upper]) <
                                             static_cast<unsigned>(size[block][upper]);
                        scores[i] = visible ? scores[i] : kUnseen;
                    }
                    states[block][upper].add(scores, logSums);
                }
            }
        }
        LPES_UNROLL
        for (int block = 0; block < 2; ++block) {
            LPES_UNROLL
            for (int upper = 0; upper < 2; ++upper) states[block][upper].endTile();
        }
    }

    LPES_UNROLL
    for (int block = 0; block < 2; ++block) {
        LPES_UNROLL
        for (int upper = 0; upper < 2; ++upper) {
            RowState<pass>& state = states[block][upper];
            state.combine(lane, 1);
            state.combine(lane, 2);
            const std::int64_t row = warpRow + 16 * block + 8 * upper + g;
            if (t == 0 && row < sight.rows()) state.write(a, head, row);
        }
    }
}

}  // namespace lpes::cuda
