#pragma once

#include <cstdint>

namespace lpes::model {

/// Columns of the result that one panel of packed weights makes.
constexpr std::int64_t kPanelColumns = 32;
/// Inputs per step of a panel, the depth of a tile.
constexpr std::int64_t kPanelDepth = 32;
/// Rows of x that one step takes.
constexpr std::int64_t kPanelRows = 32;

/// x [rows, depth] · Wᵀ + b for a run of panels, bfloat16 with sums in float32. A panel is [depth/32, 2, 16, 16, 2]:
/// per 32 inputs, two tiles of 16 outputs; a tile's row holds a pair of inputs for each of the 16 outputs.
struct TileProduct {
    const std::uint16_t* x;
    std::int64_t xStride, depth, rows;
    /// The last rows, where they are no whole kPanelRows, completed to as many with a stride of depth; nullptr where x
    /// can be read so far.
    const std::uint16_t* rest;
    const std::uint16_t* panels;
    std::int64_t panelCount;
    const std::uint16_t* bias;  ///< [32·panelCount] or nullptr
    std::uint16_t* out;
    std::int64_t outStride;
};

/// The product of a gate beside the one of its factor: out = round(activation(gate)) · up with both rounded first, as
/// gatedActivation (kernels.h) makes it of the stored products.
struct GatedTileProduct {
    TileProduct gate;
    const std::uint16_t* upPanels;
    const std::uint16_t* upBias;  ///< as gate.bias
};

/// Compiled for AMX and AVX-512 with BF16: only where hasTiles().
struct ProductKernels {
    void (*begin)();  ///< before and after a thread's calls of `product`: the tiles' shapes
    void (*end)();
    void (*product)(const TileProduct& work);
    void (*siluProduct)(const GatedTileProduct& work);
    void (*geluProduct)(const GatedTileProduct& work);
    /// One row. Reads weights as fast as they come.
    void (*rowProduct)(const TileProduct& work);
};

[[nodiscard]] const ProductKernels& productKernels();

}  // namespace lpes::model
