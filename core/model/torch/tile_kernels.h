#pragma once

#include <cstdint>

namespace lpes::model {

/// Queries whose scores one step computes: two tiles of 16.
constexpr std::int64_t kTileQueries = 32;
/// Keys are packed in steps of this, zero behind the last.
constexpr std::int64_t kTileKeys = 32;
/// Head dimensions are padded to a multiple of this, the depth of a tile.
constexpr std::int64_t kTileDepth = 32;
constexpr std::int64_t kMostTileDepth = 256;
/// Groups of kTileQueries that go through the keys together.
constexpr std::int64_t kMostTileGroups = 8;

/// Up to kTileQueries consecutive queries of one head.
struct TileQueries {
    const std::uint16_t* queries;  ///< [count, headDim]
    std::uint16_t* out;            ///< [count, headDim] with TileAttention::outStride
    std::int64_t position;         ///< of the first one among the keys
    std::int64_t count;
};

/// Queries of one key/value head against its keys. bfloat16 throughout.
struct TileAttention {
    TileQueries groups[kMostTileGroups];
    std::int64_t groupCount;
    std::int64_t headDim, padded;  ///< padded: headDim rounded up to kTileDepth
    std::int64_t outStride;
    const std::uint16_t* keys;    ///< as packTileKeys leaves them, from key 0 on
    const std::uint16_t* values;  ///< as packTileValues leaves them
    std::int64_t window;          ///< 0: all
    float scale, softcap;         ///< softcap 0: none
};

/// The loops of tileAttention, compiled for AMX (tile, bf16) and AVX-512 with BF16. Every thread calls `begin` before
/// and `end` after a run of `attend`: they set and release the tiles' shapes.
struct TileKernels {
    void (*begin)();
    void (*end)();
    /// keys [count, headDim] → [rows, padded], zero-filled; rows a multiple of kTileKeys
    void (*packKeys)(const std::uint16_t* keys, std::int64_t count, std::int64_t headDim, std::int64_t rows,
                     std::int64_t padded, std::uint16_t* packed);
    /// values [count, headDim] → [rows/32, padded/16, 16, 32]: tiles of 16 dimensions by 32 keys, zero-filled
    void (*packValues)(const std::uint16_t* values, std::int64_t count, std::int64_t headDim, std::int64_t rows,
                       std::int64_t padded, std::uint16_t* packed);
    /// scratch: scratchBytes, 64-byte aligned
    void (*attend)(const TileAttention& work, void* scratch);
    std::int64_t scratchBytes;
};

/// Only where hasTiles().
[[nodiscard]] const TileKernels& tileKernels();

}  // namespace lpes::model
