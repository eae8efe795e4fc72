#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// Element types and their roundings, the same on both sides: kernel bodies are compiled by nvcc for the GPU and by the
// host compiler for the tests that run them on the CPU.
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define LPES_HOST_DEVICE __host__ __device__
#define LPES_DEVICE __device__
#define LPES_UNROLL _Pragma("unroll")
#define LPES_ROLLED _Pragma("unroll 1")
#else
#define LPES_HOST_DEVICE
#define LPES_DEVICE
#define LPES_UNROLL
#define LPES_ROLLED
#endif

namespace lpes::cuda {

/// bfloat16 as stored: the upper half of a float32.
struct BFloat16 {
    std::uint16_t bits;
};
/// IEEE 754 binary16 as stored.
struct Float16 {
    std::uint16_t bits;
};

namespace detail {

LPES_HOST_DEVICE inline std::uint32_t bitsOf(float value) {
    std::uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

LPES_HOST_DEVICE inline float floatOf(std::uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline float halfToFloat(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00u) return floatOf(sign | 0x7f800000u | (rest & 0x3ffu) << 13);  // infinity or not a number
    if (rest >= 0x0400u) return floatOf(sign | ((rest << 13) + (112u << 23)));
    const float small = static_cast<float>(rest) * 0x1p-24f;  // subnormal
    return floatOf(sign | bitsOf(small));
}

/// Nearest, ties to even.
inline std::uint16_t floatToHalf(float value) {
    const std::uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (rest >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and more
    if (rest < 0x38800000u) {  // below 2^-14: whole multiples of 2^-24; adding 0.5 rounds them in the float's last bit
        const float shifted = floatOf(rest) + 0.5f;
        return static_cast<std::uint16_t>(sign | (bitsOf(shifted) - bitsOf(0.5f)));
    }
    const std::uint32_t rounded = rest + 0x0fffu + (rest >> 13 & 1u) - (112u << 23);
    return static_cast<std::uint16_t>(sign | rounded >> 13);
}

}  // namespace detail

LPES_HOST_DEVICE inline float toFloat(float value) {
    return value;
}
LPES_HOST_DEVICE inline float toFloat(BFloat16 value) {
    return detail::floatOf(static_cast<std::uint32_t>(value.bits) << 16);
}
LPES_HOST_DEVICE inline float toFloat(Float16 value) {
#if defined(__CUDA_ARCH__)
    return __half2float(__ushort_as_half(value.bits));
#else
    return detail::halfToFloat(value.bits);
#endif
}

/// fromFloat<T>(x): x rounded to T, nearest, ties to even.
template <class T>
LPES_HOST_DEVICE T fromFloat(float value);

template <>
LPES_HOST_DEVICE inline float fromFloat<float>(float value) {
    return value;
}
template <>
LPES_HOST_DEVICE inline BFloat16 fromFloat<BFloat16>(float value) {
#if defined(__CUDA_ARCH__)
    return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
    const std::uint32_t bits = detail::bitsOf(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fffu};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
#endif
}
template <>
LPES_HOST_DEVICE inline Float16 fromFloat<Float16>(float value) {
#if defined(__CUDA_ARCH__)
    return {__half_as_ushort(__float2half_rn(value))};
#else
    return {detail::floatToHalf(value)};
#endif
}

template <class T>
LPES_HOST_DEVICE float roundTo(float value) {
    return toFloat(fromFloat<T>(value));
}

}  // namespace lpes::cuda
