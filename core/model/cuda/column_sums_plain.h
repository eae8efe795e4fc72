#pragma once

#include "core/model/cuda/column_sums_body.h"

namespace lpes::cuda {

/// Column sums on the ordinary units, for any type and D: 256 threads in 16 rows of 16, 64 owned rows, tiles of 64
/// columns, 32 elements of D at a time through shared memory as float32. Thread (y, x) has rows 4y … 4y+3 and columns
/// x, x+16, x+32, x+48 of a tile.
struct PlainTiles {
    static constexpr int kThreads = 256, kRows = 64, kColumns = 64, kChunk = 32, kStride = kChunk + 1;
    static constexpr int kSharedBytes = 2 * kRows * kStride * static_cast<int>(sizeof(float));
};

/// One block's work.
template <Pass pass, class T, class Lane>
LPES_DEVICE void plainBlock(Lane& lane, const ColumnArguments& a) {
    using Tiles = PlainTiles;
    float* owned = reinterpret_cast<float*>(lane.shared());
    float* walked = owned + Tiles::kRows * Tiles::kStride;

    const Sight<pass> sight(a);
    const int head = lane.blockRow(), y = lane.thread() / 16, x = lane.thread() % 16;
    const std::int64_t firstRow = firstOwned<pass>(lane.block(), sight.rows(), Tiles::kRows);
    const std::int64_t endRow = firstRow + Tiles::kRows < sight.rows() ? firstRow + Tiles::kRows : sight.rows();
    const Range columns = sight.columnsOf(firstRow, endRow - 1);

    RowState<pass> states[4];
    for (std::int64_t first = columns.begin; first < columns.end; first += Tiles::kColumns) {
        float products[4][4] = {};
        for (int start = 0; start < a.headDim; start += Tiles::kChunk) {
            lane.sync();
            for (int item = lane.thread(); item < Tiles::kRows * Tiles::kChunk; item += Tiles::kThreads) {
                const int row = item / Tiles::kChunk, at = item % Tiles::kChunk, element = start + at;
                const bool inside = element < a.headDim;
                owned[row * Tiles::kStride + at] = inside && firstRow + row < endRow
                                                       ? toFloat(ownedRow<pass, T>(a, head, firstRow + row)[element])
                                                       : 0.0f;
                walked[row * Tiles::kStride + at] = inside && first + row < columns.end
                                                        ? toFloat(walkedRow<pass, T>(a, head, first + row)[element])
                                                        : 0.0f;
            }
            lane.sync();
            for (int at = 0; at < Tiles::kChunk; ++at) {
                float mine[4], theirs[4];
                LPES_UNROLL
                for (int i = 0; i < 4; ++i) {
                    mine[i] = owned[(4 * y + i) * Tiles::kStride + at];
                    theirs[i] = walked[(x + 16 * i) * Tiles::kStride + at];
                }
                LPES_UNROLL
                for (int i = 0; i < 4; ++i) {
                    LPES_UNROLL
                    for (int j = 0; j < 4; ++j) products[i][j] += mine[i] * theirs[j];
                }
            }
        }
        float logSums[4];
        LPES_UNROLL
        for (int j = 0; j < 4; ++j) {
            const std::int64_t query = first + x + 16 * j;
            logSums[j] = pass == Pass::Columns && query < columns.end ? a.logSums[head * a.queries + query] : 0.0f;
        }
        LPES_UNROLL
        for (int i = 0; i < 4; ++i) {
            float scores[4];
            int begin, size;
            sight.within(firstRow + 4 * y + i, first, Tiles::kColumns, begin, size);
            LPES_UNROLL
            for (int j = 0; j < 4; ++j) scores[j] = products[i][j];
            toScores(scores, a);
            LPES_UNROLL
            for (int j = 0; j < 4; ++j) {
                const bool visible = static_cast<unsigned>(x + 16 * j - begin) < static_cast<unsigned>(size);
                scores[j] = visible ? scores[j] : kUnseen;
            }
            states[i].add(scores, logSums);
            states[i].endTile();
        }
    }
    LPES_UNROLL
    for (int i = 0; i < 4; ++i) {
        for (int mask = 1; mask < 16; mask *= 2) states[i].combine(lane, mask);
        const std::int64_t row = firstRow + 4 * y + i;
        if (x == 0 && row < endRow) states[i].write(a, head, row);
    }
}

}  // namespace lpes::cuda
