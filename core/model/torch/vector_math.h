#pragma once

#include <cstdint>
#include <cstring>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include "core/model/torch/row_kernels.h"

/// Sixteen float lanes that the compiler maps to whatever instructions the including file is compiled for (for
/// row_kernels_impl.h only; everything is local to that file).
namespace lpes::model {
namespace {
namespace lanes {

#define LPES_INLINE [[gnu::always_inline]] inline

constexpr int kLanes = 16;
using Floats [[gnu::vector_size(64)]] = float;
using Words [[gnu::vector_size(64)]] = std::uint32_t;
using Ints [[gnu::vector_size(64)]] = std::int32_t;
using Halves [[gnu::vector_size(32)]] = std::uint16_t;

LPES_INLINE Floats broadcast(float value) {
    return Floats{} + value;
}

/// A cast between vector types keeps the bits.
LPES_INLINE Words bitsOf(Floats values) {
    return (Words)values;
}
LPES_INLINE Floats floatsOf(Words bits) {
    return (Floats)bits;
}

/// Rounds to bfloat16 (nearest even) and widens again; NaN stays NaN.
LPES_INLINE Words roundedBits(Floats values) {
    const Words bits = bitsOf(values);
    const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    return values == values ? rounded : Words{} + 0x7fc00000u;
}

LPES_INLINE Floats load(const float* from) {
    Floats values;
    std::memcpy(&values, from, sizeof values);
    return values;
}
LPES_INLINE Floats load(const Bf16* from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return floatsOf(__builtin_convertvector(halves, Words) << 16);
}
LPES_INLINE void store(float* to, Floats values) {
    std::memcpy(to, &values, sizeof values);
}
LPES_INLINE void store(Bf16* to, Floats values) {
#ifdef __AVX512BF16__
    const __m256bh halves = _mm512_cvtneps_pbh(values);
#else
    const Halves halves = __builtin_convertvector(roundedBits(values) >> 16, Halves);
#endif
    std::memcpy(to, &halves, sizeof halves);
}

/// The first `count` < kLanes values, the rest zero.
template <class T>
LPES_INLINE Floats loadSome(const T* from, std::int64_t count) {
    T padded[kLanes] = {};
    for (std::int64_t i = 0; i < count; ++i) padded[i] = from[i];
    return load(padded);
}
template <class T>
LPES_INLINE void storeSome(T* to, Floats values, std::int64_t count) {
    T padded[kLanes];
    store(padded, values);
    for (std::int64_t i = 0; i < count; ++i) to[i] = padded[i];
}

/// What a value becomes when it is stored as T.
LPES_INLINE Floats roundTo(const float*, Floats values) {
    return values;
}
LPES_INLINE Floats roundTo(const Bf16*, Floats values) {
#ifdef __AVX512BF16__
    return (Floats)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(values)), 16);
#else
    return floatsOf(roundedBits(values));
#endif
}

/// Sum of the lanes, pairwise: the same order everywhere.
LPES_INLINE float sum(Floats values) {
    float lane[kLanes];
    std::memcpy(lane, &values, sizeof values);
    for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
    }
    return lane[0];
}

/// e^x within 2 units in the last place for x in [−87, 88], clamped outside; NaN stays NaN.
/// Range reduction by ln 2 in two parts and the degree-5 polynomial of Cephes' expf (S. Moshier).
LPES_INLINE Floats exponential(Floats x) {
    const Floats bounded = x > 88.0f ? broadcast(88.0f) : x;
    const Floats clamped = bounded < -87.0f ? broadcast(-87.0f) : bounded;
    // Adding 1.5·2²³ leaves the nearest integer in the low bits.
    const Floats magic = broadcast(12582912.0f);
    const Floats shifted = clamped * 1.44269504088896341f + magic;
    const Floats n = shifted - magic;
    const Floats r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
    Floats p = broadcast(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const Words exponent = (bitsOf(shifted) - bitsOf(magic) + 127u) << 23;
    return p * floatsOf(exponent);
}

struct Silu {
    LPES_INLINE static Floats of(Floats x) { return x / (broadcast(1.0f) + exponential(-x)); }
};

/// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks & Gimpel 2016), with (1 + tanh y)/2 = 1/(1 + e^(−2y)).
struct GeluTanh {
    LPES_INLINE static Floats of(Floats x) {
        const Floats twice = (x + x * x * x * 0.044715f) * 1.5957691216057308f;
        return x / (broadcast(1.0f) + exponential(-twice));
    }
};

}  // namespace lanes
}  // namespace
}  // namespace lpes::model
