#pragma once

#include <cstdint>

namespace lpes::model {

/// Columns of the result that one panel of packed weights makes.
constexpr std::int64_t kPanelColumns = 32;
/// Inputs per step of a panel, the depth of a tile.
constexpr std::int64_t kPanelDepth = 32;
/// Rows of input that one step takes.
constexpr std::int64_t kPanelRows = 32;

/// x [rows, depth] · Wᵀ + b for a run of panels, bfloat16 with sums in float32. A panel is [depth/32, 2, 16, 16, 2]:
/// per 32 inputs, two tiles of 16 outputs; a tile's row holds a pair of inputs for each of the 16 outputs.
struct TileProduct {
    const std::uint16_t* x;
    std::int64_t xStride, depth, rows;
    const std::uint16_t* panels;
    std::int64_t panelCount;
    const std::uint16_t* bias;  ///< [32·panelCount] or nullptr
    std::uint16_t* out;
    std::int64_t outStride;
};

/// Compiled for AMX and AVX-512 with BF16: only where hasTiles().
struct ProductKernels {
    void (*begin)();  ///< before and after a thread's calls of `product`: the tiles' shapes
    void (*end)();
    /// x has kPanelRows rows, of which only `rows` results are stored.
    void (*product)(const TileProduct& work);
    /// One row. Reads weights as fast as they come.
    void (*rowProduct)(const TileProduct& work);
};

[[nodiscard]] const ProductKernels& productKernels();

}  // namespace lpes::model
