// Compiled for AMX and AVX-512 with BF16 (see CMakeLists.txt): whoever calls has asked the processor first. No header
// of the standard library with inline functions may be included here (row_kernels_impl.h says why).
#include <cstdint>
#include <cstring>

#include "core/model/torch/product_kernels.h"
#include "core/model/torch/tile_state.h"

namespace lpes::model {
namespace {

constexpr std::int64_t kStepHalves = kPanelColumns * kPanelDepth;
constexpr std::int64_t kTileHalves = kStepHalves / 2;

LPES_INLINE __m512 widened(const std::uint16_t* halves) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves))), 16));
}

LPES_INLINE void storeColumns(__m512 low, __m512 high, const std::uint16_t* bias, std::uint16_t* out) {
    if (bias) {
        low = _mm512_add_ps(low, widened(bias));
        high = _mm512_add_ps(high, widened(bias + 16));
    }
    _mm512_storeu_si512(out, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/// Four tiles of sums: the panel's two by rows 0–15 and 16–31.
LPES_INLINE void sumPanel(const std::uint16_t* x, std::int64_t xStride, std::int64_t depth, const std::uint16_t* panel,
                          float* sums) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t i = 0; i < depth; i += kPanelDepth, panel += kStepHalves) {
        _tile_loadd(4, x + i, xStride * 2);
        _tile_loadd(6, panel, 64);
        _tile_loadd(7, panel + kTileHalves, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, x + 16 * xStride + i, xStride * 2);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, 128);
    _tile_stored(1, sums + 16, 128);
    _tile_stored(2, sums + 16 * kPanelColumns, 128);
    _tile_stored(3, sums + 16 * kPanelColumns + 16, 128);
}

void product(const TileProduct& work) {
    alignas(64) float sums[kPanelRows * kPanelColumns];
    for (std::int64_t index = 0; index < work.panelCount; ++index) {
        settleMemory();
        sumPanel(work.x, work.xStride, work.depth, work.panels + index * work.depth * kPanelColumns, sums);
        const std::uint16_t* bias = work.bias ? work.bias + index * kPanelColumns : nullptr;
        for (std::int64_t row = 0; row < work.rows; ++row) {
            const float* from = sums + row * kPanelColumns;
            storeColumns(_mm512_load_ps(from), _mm512_load_ps(from + 16), bias,
                         work.out + row * work.outStride + index * kPanelColumns);
        }
    }
}

void rowProduct(const TileProduct& work) {
    const std::uint16_t* panel = work.panels;
    for (std::int64_t index = 0; index < work.panelCount; ++index) {
        __m512 low[2] = {}, high[2] = {};
        for (std::int64_t i = 0; i < work.depth; i += kPanelDepth, panel += kStepHalves) {
#pragma GCC unroll 16
            for (std::int64_t pair = 0; pair < 16; ++pair) {
                std::uint32_t inputs;
                std::memcpy(&inputs, work.x + i + pair * 2, sizeof inputs);
                const auto x = (__m512bh)_mm512_set1_epi32(static_cast<int>(inputs));
                const auto weights = [&](std::int64_t tile) {
                    return (__m512bh)_mm512_loadu_si512(panel + tile * kTileHalves + pair * 32);
                };
                low[pair % 2] = _mm512_dpbf16_ps(low[pair % 2], weights(0), x);
                high[pair % 2] = _mm512_dpbf16_ps(high[pair % 2], weights(1), x);
            }
        }
        storeColumns(_mm512_add_ps(low[0], low[1]), _mm512_add_ps(high[0], high[1]),
                     work.bias ? work.bias + index * kPanelColumns : nullptr, work.out + index * kPanelColumns);
    }
}

}  // namespace

const ProductKernels& productKernels() {
    static constexpr ProductKernels kKernels{beginTiles, endTiles, product, rowProduct};
    return kKernels;
}

}  // namespace lpes::model
