// What the loops of block_kernels.h share. Included by one source file per set of processor instructions, hence
// everything here has internal linkage.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lpes::model {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000u;
constexpr std::size_t kBlock = 32;
constexpr std::size_t kSuperBlock = 256;

template <std::size_t Size>
using Bytes = std::array<std::uint8_t, Size>;

/// Copies the next bytes out: the compiler then knows that writing results does not change them.
template <class T>
T take(const std::byte*& in) {
    T value;
    std::memcpy(&value, in, sizeof value);
    in += sizeof value;
    return value;
}

std::uint32_t exponentFull(float value) {
    return (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent;
}

/// By whole numbers and one subtraction, free of branches and of float denormals, which a host program may have
/// switched off: a subnormal half m·2⁻²⁴ is the float with fraction m between 0.5 and 1, less 0.5.
float halfToFloat(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16;
    const std::uint32_t magnitude = half & 0x7fffu;
    const std::uint32_t rebias = magnitude >= 0x7c00u ? 224u << 23 : 112u << 23;
    const std::uint32_t normal = (magnitude << 13) + rebias;
    const auto subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>((126u << 23) | magnitude) - 0.5f);
    const std::uint32_t isSubnormal = magnitude < 0x400u ? ~0u : 0u;
    return std::bit_cast<float>(sign | (normal & ~isSubnormal) | (subnormal & isSubnormal));
}

float takeHalf(const std::byte*& in, std::uint32_t& bad) {
    const float value = halfToFloat(take<std::uint16_t>(in));
    bad |= exponentFull(value);
    return value;
}

float level(int whole) {
    return static_cast<float>(whole);
}

}  // namespace
}  // namespace lpes::model
