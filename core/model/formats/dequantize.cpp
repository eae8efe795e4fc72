#include "core/model/formats/dequantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/model/formats/storage.h"

namespace lpes::model {

static_assert(std::endian::native == std::endian::little,
              "safetensors and GGUF are little-endian, and bytes are used in place");

namespace {

constexpr std::uint32_t kExponent = 0x7f800000u;
constexpr std::size_t kBlock = 32;
constexpr std::size_t kHalfBlock = kBlock / 2;

template <class T>
T load(const std::byte* in) {
    T value;
    std::memcpy(&value, in, sizeof value);
    return value;
}

std::uint32_t exponentFull(float value) {
    return (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent;
}

/// Free of float denormals, which a host program may have switched off.
float halfToFloat(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16;
    const std::uint32_t magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | kExponent | ((magnitude & 0x3ffu) << 13));
    const float normal = std::bit_cast<float>((magnitude << 13) + (112u << 23));
    const float subnormal = static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude < 0x400u ? subnormal : normal));
}

std::uint16_t roundToBFloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

bool widenQ8(const std::byte* in, std::size_t blocks, float* out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block, in += 2 + kBlock, out += kBlock) {
        const float d = halfToFloat(load<std::uint16_t>(in));
        bad |= exponentFull(d);
        std::array<std::int8_t, kBlock> levels{};
        std::memcpy(levels.data(), in + 2, kBlock);
        for (std::size_t i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(levels[i]);
    }
    return bad == 0;
}

/// Q4_0 (levels − 8), Q4_1 (+ m), Q5_0 (levels − 16), Q5_1 (+ m).
template <bool HasMinimum, bool HasFifthBit>
bool widenNibbles(const std::byte* in, std::size_t blocks, float* out) {
    constexpr int kCentre = HasMinimum ? 0 : HasFifthBit ? 16 : 8;
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block, out += kBlock) {
        const float d = halfToFloat(load<std::uint16_t>(in));
        in += 2;
        float m = 0.0f;
        if constexpr (HasMinimum) {
            m = halfToFloat(load<std::uint16_t>(in));
            in += 2;
        }
        std::uint32_t fifth = 0;
        if constexpr (HasFifthBit) {
            fifth = load<std::uint32_t>(in);
            in += 4;
        }
        bad |= exponentFull(d) | exponentFull(m);
        std::array<std::uint8_t, kHalfBlock> nibbles{};
        std::memcpy(nibbles.data(), in, kHalfBlock);
        in += kHalfBlock;
        for (std::size_t i = 0; i < kHalfBlock; ++i) {
            int low = nibbles[i] & 0x0f;
            int high = nibbles[i] >> 4;
            if constexpr (HasFifthBit) {
                low |= static_cast<int>((fifth >> i) & 1u) << 4;
                high |= static_cast<int>((fifth >> (i + kHalfBlock)) & 1u) << 4;
            }
            out[i] = d * static_cast<float>(low - kCentre) + m;
            out[i + kHalfBlock] = d * static_cast<float>(high - kCentre) + m;
        }
    }
    return bad == 0;
}

}  // namespace

bool widenToFloat(StorageType type, const std::byte* in, std::size_t count, float* out) {
    const std::size_t blocks = count / kBlock;
    std::uint32_t bad = 0;
    switch (type) {
        case StorageType::F32:
            std::memcpy(out, in, count * sizeof(float));
            for (std::size_t i = 0; i < count; ++i) bad |= exponentFull(out[i]);
            return bad == 0;
        case StorageType::F16:
            for (std::size_t i = 0; i < count; ++i) {
                out[i] = halfToFloat(load<std::uint16_t>(in + 2 * i));
                bad |= exponentFull(out[i]);
            }
            return bad == 0;
        case StorageType::BF16:
            for (std::size_t i = 0; i < count; ++i) {
                out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(in + 2 * i)) << 16);
                bad |= exponentFull(out[i]);
            }
            return bad == 0;
        case StorageType::Q8_0:
            return widenQ8(in, blocks, out);
        case StorageType::Q4_0:
            return widenNibbles<false, false>(in, blocks, out);
        case StorageType::Q4_1:
            return widenNibbles<true, false>(in, blocks, out);
        case StorageType::Q5_0:
            return widenNibbles<false, true>(in, blocks, out);
        case StorageType::Q5_1:
            return widenNibbles<true, true>(in, blocks, out);
    }
    return false;
}

bool convertToBFloat16(StorageType type, const std::byte* in, std::size_t count, std::uint16_t* out) {
    std::uint32_t bad = 0;
    if (type == StorageType::BF16) {
        std::memcpy(out, in, count * sizeof(std::uint16_t));
        for (std::size_t i = 0; i < count; ++i) bad |= (out[i] & 0x7f80u) == 0x7f80u;
        return bad == 0;
    }
    constexpr std::size_t kChunk = 1024;  // a multiple of every block size
    std::array<float, kChunk> wide;
    const BlockSize size = blockSize(type);
    while (count > 0) {
        const std::size_t now = std::min(count, kChunk);
        bad |= !widenToFloat(type, in, now, wide.data());
        for (std::size_t i = 0; i < now; ++i) {
            out[i] = roundToBFloat16(wide[i]);
            bad |= (out[i] & 0x7f80u) == 0x7f80u;
        }
        in += now / static_cast<std::size_t>(size.elements) * static_cast<std::size_t>(size.bytes);
        out += now;
        count -= now;
    }
    return bad == 0;
}

}  // namespace lpes::model
