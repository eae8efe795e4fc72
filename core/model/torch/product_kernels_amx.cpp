// Compiled for AMX and AVX-512 with BF16 (see CMakeLists.txt): whoever calls has asked the processor first. No header
// of the standard library with inline functions may be included here (row_kernels_impl.h says why).
#include <cstdint>
#include <cstring>

#include "core/model/torch/product_kernels.h"
#include "core/model/torch/tile_state.h"
#include "core/model/torch/vector_math.h"

namespace lpes::model {
namespace {

constexpr std::int64_t kStepHalves = kPanelColumns * kPanelDepth;
constexpr std::int64_t kTileHalves = kStepHalves / 2;
constexpr std::int64_t kLineHalves = 32;
constexpr std::int64_t kPanelLines = kStepHalves / kLineHalves;  // per step

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

/// Sums of 32 rows by one panel.
struct alignas(64) Sums {
    float values[kPanelRows * kPanelColumns];
};

/// Four tiles of sums: the panel's two by rows 0–15 and 16–31. `ahead` is brought into the second-level cache, so many
/// lines per step, and `beside` is called in each step: the vector units work while the matrix unit waits for its
/// tiles.
template <class Beside>
LPES_INLINE void sumPanel(const std::uint16_t* x, std::int64_t xStride, std::int64_t depth, const std::uint16_t* panel,
                          const std::uint16_t* ahead, std::int64_t aheadLines, Sums& sums, const Beside& beside) {
    settleMemory();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t i = 0; i < depth; i += kPanelDepth, panel += kStepHalves) {
        for (std::int64_t line = 0; line < aheadLines; ++line, ahead += kLineHalves) _mm_prefetch(ahead, _MM_HINT_T1);
        _tile_loadd(4, x + i, xStride * 2);
        _tile_loadd(6, panel, 64);
        _tile_loadd(7, panel + kTileHalves, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, x + 16 * xStride + i, xStride * 2);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        beside();
    }
    float* out = sums.values;
    _tile_stored(0, out, 128);
    _tile_stored(1, out + 16, 128);
    _tile_stored(2, out + 16 * kPanelColumns, 128);
    _tile_stored(3, out + 16 * kPanelColumns + 16, 128);
    settleMemory();
}

/// Sixteen sums with their bias, as storing them would round them.
LPES_INLINE lanes::Floats finished(const float* sums, const std::uint16_t* bias) {
    __m512 values = _mm512_load_ps(sums);
    if (bias) values = _mm512_add_ps(values, widened(bias));
    return lanes::roundTo(static_cast<const Bf16*>(nullptr), (lanes::Floats)values);
}

/// How a row of sums becomes a row of the result. kSums: how many products meet in it.
struct Plain {
    static constexpr int kSums = 1;
    LPES_INLINE static void store(const Sums* sums, std::int64_t at, const std::uint16_t* const* bias,
                                  std::uint16_t* out) {
        storeColumns(_mm512_load_ps(sums->values + at), _mm512_load_ps(sums->values + at + 16), bias[0], out);
    }
};
template <class Gate>
struct Gated {
    static constexpr int kSums = 2;
    LPES_INLINE static void store(const Sums* sums, std::int64_t at, const std::uint16_t* const* bias,
                                  std::uint16_t* out) {
        const auto columns = [&](std::int64_t half) {
            const auto value = [&](int which) {
                return finished(sums[which].values + at + half, bias[which] ? bias[which] + half : nullptr);
            };
            return (__m512)(lanes::roundTo(static_cast<const Bf16*>(nullptr), Gate::of(value(0))) * value(1));
        };
        storeColumns(columns(0), columns(16), nullptr, out);
    }
};

/// Panels outside, so that one stays near while all rows meet it, and the next one comes from memory meanwhile. What
/// has been summed is rounded and stored beside the sums of the next rows.
template <class Result>
LPES_INLINE void multiply(const TileProduct& work, const std::uint16_t* const (&panels)[Result::kSums],
                          const std::uint16_t* const (&biases)[Result::kSums]) {
    constexpr int kSums = Result::kSums;
    Sums sums[2][kSums];
    const std::int64_t steps = work.depth / kPanelDepth, tiles = (work.rows + kPanelRows - 1) / kPanelRows;
    const std::int64_t lines = (kPanelLines + tiles - 1) / tiles,
                       rowsPerStep = (kPanelRows + steps * kSums - 1) / (steps * kSums);
    // What is still to be stored.
    const Sums* from = nullptr;
    const std::uint16_t* bias[kSums] = {};
    std::uint16_t* out = nullptr;
    std::int64_t row = 0, end = 0;
    const auto store = [&](std::int64_t count) {
        for (const std::int64_t until = row + count < end ? row + count : end; row < until; ++row)
            Result::store(from, row * kPanelColumns, bias, out + row * work.outStride);
    };
    int turn = 0;
    for (std::int64_t panel = 0; panel < work.panelCount; ++panel) {
        const std::int64_t offset = panel * work.depth * kPanelColumns;
        for (std::int64_t tile = 0; tile < tiles; ++tile, turn ^= 1) {
            const std::int64_t first = tile * kPanelRows, left = work.rows - first;
            const bool rest = left < kPanelRows && work.rest;
            for (int which = 0; which < kSums; ++which) {
                const std::uint16_t* here = panels[which] + offset;
                sumPanel(rest ? work.rest : work.x + first * work.xStride, rest ? work.depth : work.xStride, work.depth,
                         here, here + work.depth * kPanelColumns + tile * steps * lines * kLineHalves, lines,
                         sums[turn][which], [&] { store(rowsPerStep); });
            }
            store(kPanelRows);
            from = sums[turn];
            for (int which = 0; which < kSums; ++which)
                bias[which] = biases[which] ? biases[which] + panel * kPanelColumns : nullptr;
            out = work.out + first * work.outStride + panel * kPanelColumns;
            row = 0;
            end = left < kPanelRows ? left : kPanelRows;
        }
    }
    store(kPanelRows);
}

void product(const TileProduct& work) {
    multiply<Plain>(work, {work.panels}, {work.bias});
}

template <class Gate>
void gatedProduct(const GatedTileProduct& work) {
    multiply<Gated<Gate>>(work.gate, {work.gate.panels, work.upPanels}, {work.gate.bias, work.upBias});
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
    static constexpr ProductKernels kKernels{
        beginTiles, endTiles, product, gatedProduct<lanes::Silu>, gatedProduct<lanes::GeluTanh>, rowProduct};
    return kKernels;
}

}  // namespace lpes::model
