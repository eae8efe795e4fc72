#pragma once

#include <immintrin.h>

#include <cstdint>

/// What files that are compiled for AMX share; everything here is local to the including file.
namespace lpes::model {
namespace {

#define LPES_INLINE [[gnu::always_inline]] inline

struct alignas(64) TileShapes {
    unsigned char palette = 1, startRow = 0, reserved[14] = {};
    std::uint16_t rowBytes[16] = {};
    unsigned char rows[16] = {};
};

/// Eight tiles of 16 rows by 64 bytes.
void beginTiles() {
    TileShapes shapes;
    for (int tile = 0; tile < 8; ++tile) {
        shapes.rowBytes[tile] = 64;
        shapes.rows[tile] = 16;
    }
    // Not the intrinsic: g++ 12 lets it depend on the first eight bytes only.
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes));
}

void endTiles() {
    _tile_release();
}

/// The compiler does not know that tile instructions read memory.
LPES_INLINE void settleMemory() {
    __asm__ volatile("" ::: "memory");
}

}  // namespace
}  // namespace lpes::model
