// Compiled for AMX and AVX-512 with BF16 (see CMakeLists.txt): whoever calls has asked the processor first. No header
// of the standard library with inline functions may be included here (row_kernels_impl.h says why).
//
// Scores are computed transposed, Sᵀ = K·Qᵀ, and so is the result, Oᵀ = Vᵀ·Pᵀ. So a vector holds sixteen queries:
// maxima, sums and corrections are one vector each and need no reduction across lanes, keys are read as they lie, and
// two rows of probabilities interleaved are what the matrix unit takes as its second operand.
//
// Probabilities are 2^(score − shift). The shift is the largest score of the first keys that a query sees; it is raised
// only when later scores would make sums huge, which hardly ever happens, so that maxima are not looked for in every
// block and earlier results are not rescaled. Nothing is lost: floating-point numbers are as precise at 2^30 as at 1.
#include <cstdint>
#include <cstring>

#include "core/model/torch/tile_kernels.h"
#include "core/model/torch/tile_state.h"

namespace lpes::model {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kTileWords = 256;  // 16 rows of 64 bytes
constexpr std::int64_t kStepScores = kTileKeys * kTileQueries;
/// Keys that go through the three steps (scores, probabilities, result) together: going back and forth between tiles
/// and vectors costs a hundred cycles, and scores should not leave the nearer caches.
constexpr std::int64_t kKeyBlock = 128;
constexpr std::int64_t kBlockSteps = kKeyBlock / kTileKeys;
/// Probabilities of 32 keys may add up to this before the shifts are raised: what came before keeps its relative
/// precision, and float32 its range.
constexpr float kMostShare = 0x1p40f;
constexpr float kNoScore = -__builtin_inff();

struct alignas(64) GroupState {
    float result[kMostTileDepth * kTileQueries];                  // [padded, 32 queries]
    std::uint32_t queries[kMostTileDepth / 32 * 2 * kTileWords];  // per depth step: tiles of queries 0–15 and 16–31
    float shifts[kTileQueries];                                   // a query's probabilities are in units of 2^shift
    float sums[kTileQueries];
    bool fresh;  // a query may not have seen a key yet
};

/// Scores of a step of 32 keys: tiles (keys 0–15, queries 0–15), (0–15, 16–31), (16–31, 0–15), (16–31, 16–31).
struct alignas(64) Scratch {
    float scores[kBlockSteps * kStepScores];
    std::uint32_t shares[kBlockSteps * 2 * kTileWords];  // pairs of keys: tiles of queries 0–15 and 16–31
    GroupState groups[kMostTileGroups];
};

/// [16, 16] words, rows become columns.
LPES_INLINE void transpose(__m512i (&r)[16]) {
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    constexpr int kEven = 0x88, kOdd = 0xdd;
    for (int i = 0; i < 4; ++i) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], kEven);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], kOdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], kEven);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], kOdd);
    }
    for (int i = 0; i < 4; ++i) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], kEven);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], kOdd);
        r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], kEven);
        r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], kOdd);
    }
}

/// Which of the 32 halves from `first` on exist in a row of `size`.
LPES_INLINE __mmask32 presentHalves(std::int64_t first, std::int64_t size) {
    const std::int64_t left = size - first;
    return left >= 32 ? 0xffffffffu : left <= 0 ? 0u : (1u << left) - 1u;
}

void packKeys(const std::uint16_t* keys, std::int64_t count, std::int64_t headDim, std::int64_t rows,
              std::int64_t padded, std::uint16_t* packed) {
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < padded; i += 32) {
            const __mmask32 present = row < count ? presentHalves(i, headDim) : 0u;
            _mm512_storeu_si512(packed + row * padded + i, _mm512_maskz_loadu_epi16(present, keys + row * headDim + i));
        }
    }
}

void packValues(const std::uint16_t* values, std::int64_t count, std::int64_t headDim, std::int64_t rows,
                std::int64_t padded, std::uint16_t* packed) {
    for (std::int64_t first = 0; first < rows; first += kTileKeys) {
        for (std::int64_t i = 0; i < padded; i += kLanes) {
            const auto present = static_cast<__mmask16>(presentHalves(i, headDim));
            const auto row = [&](std::int64_t index) {
                const __mmask16 mask = index < count ? present : static_cast<__mmask16>(0);
                return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, values + index * headDim + i));
            };
            __m512i pairs[16];
            for (int pair = 0; pair < 16; ++pair) {
                pairs[pair] = _mm512_or_si512(row(first + 2 * pair), _mm512_slli_epi32(row(first + 2 * pair + 1), 16));
            }
            transpose(pairs);
            std::uint16_t* tile = packed + first * padded + i * kTileKeys;
            for (int r = 0; r < 16; ++r) _mm512_storeu_si512(tile + r * kTileKeys, pairs[r]);
        }
    }
}

/// 2^x for x ≤ 0, −∞ included, by 2^⌊x⌋ · p(x − ⌊x⌋); p is the minimax polynomial of that degree on [0, 1).
LPES_INLINE __m512 fraction(__m512 x) {
    return _mm512_reduce_ps(x, 0x09);  // x − ⌊x⌋
}
/// Relative error 3e-6.
LPES_INLINE __m512 powerOfTwo(__m512 x) {
    const __m512 r = fraction(x);
    __m512 p = _mm512_set1_ps(0.013534137326100672f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.05201148997950207f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.24144276210395194f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.6930038265422569f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0000025943059008f));
    return _mm512_scalef_ps(p, x);
}
/// 2^x, relative error 8e-5, plus half a unit of the bfloat16 below it: cutting off the lower half then rounds.
LPES_INLINE __m512i probability(__m512 x) {
    const __m512 r = fraction(x);
    __m512 p = _mm512_set1_ps(0.07802419427823298f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.2260672100004824f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.6958337406556094f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.9999251728358091f + 0x1p-8f));
    return _mm512_castps_si512(_mm512_scalef_ps(p, x));
}

/// Scores of 32 keys [32, padded] and 32 queries.
LPES_INLINE void scoreStep(const std::uint16_t* keys, std::int64_t padded, const std::uint32_t* queries,
                           float* scores) {
    const std::int64_t stride = padded * 2;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t depth = 0; depth < padded; depth += kTileDepth, queries += 2 * kTileWords) {
        _tile_loadd(4, keys + depth, stride);
        _tile_loadd(6, queries, 64);
        _tile_loadd(7, queries + kTileWords, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, keys + 16 * padded + depth, stride);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, scores, 64);
    _tile_stored(1, scores + kTileWords, 64);
    _tile_stored(2, scores + 2 * kTileWords, 64);
    _tile_stored(3, scores + 3 * kTileWords, 64);
}

/// Scores [32 keys, 32 queries] in tiles become cap · tanh(score · scale / cap).
void capScores(float* scores, float scale, float cap) {
    const __m512 factor = _mm512_set1_ps(2.0f * 1.44269504088896341f * scale / cap), most = _mm512_set1_ps(126.0f);
    const __m512 one = _mm512_set1_ps(1.0f), two = _mm512_set1_ps(2.0f), outer = _mm512_set1_ps(cap);
    for (std::int64_t i = 0; i < kStepScores; i += kLanes) {
        const __m512 x = _mm512_min_ps(_mm512_mul_ps(_mm512_load_ps(scores + i), factor), most);
        const __m512 tanh = _mm512_sub_ps(one, _mm512_div_ps(two, _mm512_add_ps(powerOfTwo(x), one)));
        _mm512_store_ps(scores + i, _mm512_mul_ps(outer, tanh));
    }
}

/// Hides, among 32 keys from `key` on, those behind a query and those that its window has left. Queries are at
/// `position` and the 31 after it.
void hideScores(float* scores, std::int64_t key, std::int64_t position, std::int64_t window) {
    const auto lanesBelow = [](std::int64_t lane) { return lane <= 0 ? 0u : lane >= 16 ? 0xffffu : (1u << lane) - 1u; };
    for (std::int64_t row = 0; row < kTileKeys; ++row) {
        for (std::int64_t half = 0; half < 2; ++half) {
            const std::int64_t ahead = key + row - (position + half * kLanes);  // the lane of the query at this key
            const unsigned seen = ~lanesBelow(ahead) & (window > 0 ? lanesBelow(ahead + window) : 0xffffu);
            float* at = scores + row / 16 * 2 * kTileWords + half * kTileWords + row % 16 * kLanes;
            _mm512_store_ps(
                at, _mm512_mask_mov_ps(_mm512_set1_ps(kNoScore), static_cast<__mmask16>(seen), _mm512_load_ps(at)));
        }
    }
}

/// Scores of 32 keys → probabilities in units of 2^shift, pairs of keys in one word, and their sums.
LPES_INLINE void shareStep(const float* scores, __m512 factor, const __m512 (&shift)[2], std::uint32_t* shares,
                           __m512 (&sums)[2]) {
    const auto ones = (__m512bh)_mm512_set1_epi32(0x3f803f80);
#pragma GCC unroll 4
    for (std::int64_t pair = 0; pair < 16; ++pair) {
        const float* even = scores + pair / 8 * 2 * kTileWords + pair % 8 * 2 * kLanes;
        for (int half = 0; half < 2; ++half) {
            const auto share = [&](const float* from) {
                return probability(_mm512_fmsub_ps(_mm512_load_ps(from + half * kTileWords), factor, shift[half]));
            };
            const __m512i words =
                _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(share(even), 16), share(even + kLanes));
            _mm512_store_si512(shares + half * kTileWords + pair * kLanes, words);
            sums[half] = _mm512_dpbf16_ps(sums[half], (__m512bh)words, ones);
        }
    }
}

/// result [padded, 32] += valuesᵀ · shares over `steps` of 32 keys.
LPES_INLINE void weighValues(const std::uint16_t* values, std::int64_t padded, const std::uint32_t* shares,
                             std::int64_t steps, float* result) {
    for (std::int64_t dim = 0; dim < padded; dim += 32) {
        float* target = result + dim * kTileQueries;
        _tile_loadd(0, target, 128);
        _tile_loadd(1, target + 16, 128);
        _tile_loadd(2, target + 16 * kTileQueries, 128);
        _tile_loadd(3, target + 16 * kTileQueries + 16, 128);
        for (std::int64_t step = 0; step < steps; ++step) {
            const std::uint16_t* tile = values + step * kTileKeys * padded + dim * kTileKeys;
            const std::uint32_t* share = shares + step * 2 * kTileWords;
            _tile_loadd(4, tile, 64);
            _tile_loadd(6, share, 64);
            _tile_loadd(7, share + kTileWords, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_loadd(5, tile + 16 * kTileKeys, 64);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(0, target, 128);
        _tile_stored(1, target + 16, 128);
        _tile_stored(2, target + 16 * kTileQueries, 128);
        _tile_stored(3, target + 16 * kTileQueries + 16, 128);
    }
}

void startGroup(const TileAttention& work, const TileQueries& group, GroupState& state) {
    for (std::int64_t depth = 0; depth < work.padded; depth += kTileDepth) {
        for (std::int64_t half = 0; half < 2; ++half) {
            __m512i rows[16];
            for (std::int64_t i = 0; i < 16; ++i) {
                const std::int64_t row = half * kLanes + i;
                const __mmask32 present = row < group.count ? presentHalves(depth, work.headDim) : 0u;
                rows[i] = _mm512_maskz_loadu_epi16(present, group.queries + row * work.headDim + depth);
            }
            transpose(rows);
            std::uint32_t* tile = state.queries + (depth / kTileDepth * 2 + half) * kTileWords;
            for (std::int64_t i = 0; i < 16; ++i) _mm512_store_si512(tile + i * kLanes, rows[i]);
        }
    }
    for (std::int64_t half = 0; half < 2; ++half) {
        _mm512_store_ps(state.shifts + half * kLanes, _mm512_set1_ps(kNoScore));
        _mm512_store_ps(state.sums + half * kLanes, _mm512_setzero_ps());
    }
    state.fresh = true;
    std::memset(state.result, 0, static_cast<std::size_t>(work.padded * kTileQueries) * sizeof(float));
}

/// −∞ · factor − 0 is −∞ for every score of a query that has seen no key, where −∞ − (−∞) would be no number.
LPES_INLINE __m512 shiftOf(const GroupState& state, int half) {
    const __m512 shift = _mm512_load_ps(state.shifts + half * kLanes);
    return _mm512_max_ps(shift, _mm512_set1_ps(-3e38f));
}

/// Brings what has been summed so far to new maxima.
void correctGroup(const __m512 (&correction)[2], std::int64_t padded, GroupState& state) {
    for (int half = 0; half < 2; ++half) {
        float* sums = state.sums + half * kLanes;
        _mm512_store_ps(sums, _mm512_mul_ps(_mm512_load_ps(sums), correction[half]));
        for (std::int64_t dim = 0; dim < padded; ++dim) {
            float* target = state.result + dim * kTileQueries + half * kLanes;
            _mm512_store_ps(target, _mm512_mul_ps(_mm512_load_ps(target), correction[half]));
        }
    }
}

/// Raises the shifts of `state` to the maxima of these scores too; answers the correction for earlier sums.
void raiseShifts(const float* scores, __m512 factor, GroupState& state, __m512 (&correction)[2]) {
    const __m512 nothing = _mm512_set1_ps(kNoScore);
    for (int half = 0; half < 2; ++half) {
        float* shift = state.shifts + half * kLanes;
        const __m512 before = _mm512_load_ps(shift);
        __m512 largest = nothing;
        for (std::int64_t tile = half; tile < 4; tile += 2) {
            for (std::int64_t i = 0; i < kTileWords; i += kLanes)
                largest = _mm512_max_ps(largest, _mm512_load_ps(scores + tile * kTileWords + i));
        }
        const __m512 after = _mm512_max_ps(before, _mm512_mul_ps(largest, factor));
        // Before the first visible key both are −∞, and their difference is no number.
        const __mmask16 seen = _mm512_cmp_ps_mask(after, nothing, _CMP_GT_OQ);
        correction[half] = _mm512_mask_mov_ps(_mm512_set1_ps(1.0f), seen, powerOfTwo(_mm512_sub_ps(before, after)));
        _mm512_store_ps(shift, after);
    }
}

/// `keys` keys from `first` on: at most kKeyBlock.
void attendBlock(const TileAttention& work, const TileQueries& group, std::int64_t first, std::int64_t keys,
                 Scratch& scratch, GroupState& state) {
    const std::int64_t steps = (keys + kTileKeys - 1) / kTileKeys, padded = work.padded;
    const std::int64_t lastPosition = group.position + kTileQueries - 1;
    const bool capped = work.softcap > 0.0f;
    const __m512 factor = _mm512_set1_ps(1.44269504088896341f * (capped ? 1.0f : work.scale));
    const __m512 most = _mm512_set1_ps(kMostShare);
    std::int64_t weighed = 0;
    const auto weigh = [&](std::int64_t until) {
        settleMemory();
        weighValues(work.values + (first + weighed * kTileKeys) * padded, padded,
                    scratch.shares + weighed * 2 * kTileWords, until - weighed, state.result);
        weighed = until;
    };
    settleMemory();
    for (std::int64_t step = 0; step < steps; ++step) {
        scoreStep(work.keys + (first + step * kTileKeys) * padded, padded, state.queries,
                  scratch.scores + step * kStepScores);
    }
    settleMemory();
    for (std::int64_t step = 0; step < steps; ++step) {
        float* scores = scratch.scores + step * kStepScores;
        std::uint32_t* shares = scratch.shares + step * 2 * kTileWords;
        const std::int64_t key = first + step * kTileKeys;
        if (capped) capScores(scores, work.scale, work.softcap);
        const bool leaving = work.window > 0 && key <= lastPosition - work.window;
        if (key + kTileKeys - 1 > group.position || leaving) hideScores(scores, key, group.position, work.window);
        const auto share = [&](__m512(&sums)[2]) {
            const __m512 shift[2] = {shiftOf(state, 0), shiftOf(state, 1)};
            sums[0] = sums[1] = _mm512_setzero_ps();
            shareStep(scores, factor, shift, shares, sums);
        };
        __m512 sums[2];
        bool raise = state.fresh;
        if (!raise) {
            share(sums);
            raise =
                (_mm512_cmp_ps_mask(sums[0], most, _CMP_NLE_UQ) | _mm512_cmp_ps_mask(sums[1], most, _CMP_NLE_UQ)) != 0;
        }
        if (raise) {
            if (weighed < step) weigh(step);
            __m512 correction[2];
            raiseShifts(scores, factor, state, correction);
            correctGroup(correction, padded, state);
            share(sums);
            state.fresh = leaving;
        }
        for (int half = 0; half < 2; ++half) {
            float* total = state.sums + half * kLanes;
            _mm512_store_ps(total, _mm512_add_ps(_mm512_load_ps(total), sums[half]));
        }
    }
    weigh(steps);
}

void finishGroup(const TileAttention& work, const TileQueries& group, const GroupState& state) {
    for (std::int64_t half = 0; half < 2; ++half) {
        const __m512 share = _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_load_ps(state.sums + half * kLanes));
        for (std::int64_t dim = 0; dim < work.headDim; dim += kLanes) {
            __m512i rows[16];
            for (std::int64_t i = 0; i < 16; ++i) {
                const float* from = state.result + (dim + i) * kTileQueries + half * kLanes;
                rows[i] = _mm512_castps_si512(_mm512_mul_ps(_mm512_load_ps(from), share));
            }
            transpose(rows);
            const auto present = static_cast<__mmask16>(presentHalves(dim, work.headDim));
            for (std::int64_t i = 0; i < 16 && half * kLanes + i < group.count; ++i) {
                const auto halves = (__m256i)_mm512_cvtneps_pbh(_mm512_castsi512_ps(rows[i]));
                _mm256_mask_storeu_epi16(group.out + (half * kLanes + i) * work.outStride + dim, present, halves);
            }
        }
    }
}

void attend(const TileAttention& work, void* memory) {
    auto& scratch = *static_cast<Scratch*>(memory);
    std::int64_t first = -1, last = 0;
    for (std::int64_t i = 0; i < work.groupCount; ++i) {
        const TileQueries& group = work.groups[i];
        startGroup(work, group, scratch.groups[i]);
        const std::int64_t seen =
            work.window > 0 && group.position >= work.window ? group.position - work.window + 1 : 0;
        first = first < 0 || seen < first ? seen : first;
        last = group.position + group.count > last ? group.position + group.count : last;
    }
    for (std::int64_t key = first / kKeyBlock * kKeyBlock; key < last; key += kKeyBlock) {
        for (std::int64_t i = 0; i < work.groupCount; ++i) {
            const std::int64_t left = work.groups[i].position + work.groups[i].count - key;
            if (left <= 0) continue;
            attendBlock(work, work.groups[i], key, left < kKeyBlock ? left : kKeyBlock, scratch, scratch.groups[i]);
        }
    }
    for (std::int64_t i = 0; i < work.groupCount; ++i) finishGroup(work, work.groups[i], scratch.groups[i]);
}

}  // namespace

const TileKernels& tileKernels() {
    static constexpr TileKernels kKernels{beginTiles, endTiles, packKeys, packValues, attend, sizeof(Scratch)};
    return kKernels;
}

}  // namespace lpes::model
