#include "tests/support/block_quantizer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "tests/support/super_blocks.h"

namespace lpes::test {

using model::StorageType;

namespace {

constexpr std::size_t kBlock = 32;

void put16(std::string& out, std::uint16_t value) {
    out.push_back(static_cast<char>(value & 0xff));
    out.push_back(static_cast<char>(value >> 8));
}

std::uint16_t get16(const char* in) {
    return static_cast<std::uint16_t>(static_cast<unsigned char>(in[0]) | (static_cast<unsigned char>(in[1]) << 8));
}

std::uint16_t toBFloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float fromBFloat16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

bool isSuperBlock(StorageType type) {
    return type >= StorageType::Q2_K;
}

struct BlockLayout {
    int levels;       ///< 16 or 32
    bool hasMinimum;  ///< …_1 formats
};

BlockLayout layout(StorageType type) {
    switch (type) {
        case StorageType::Q4_0:
            return {16, false};
        case StorageType::Q4_1:
            return {16, true};
        case StorageType::Q5_0:
            return {32, false};
        case StorageType::Q5_1:
            return {32, true};
        default:
            throw std::runtime_error("not a 4- or 5-bit block format");
    }
}

void encodeQ8(std::span<const float> block, std::string& out) {
    float largest = 0.0f;
    for (const float v : block) largest = std::max(largest, std::abs(v));
    const float d = largest / 127.0f;
    put16(out, toHalf(d));
    for (const float v : block) out.push_back(static_cast<char>(std::lround(d == 0.0f ? 0.0f : v / d)));
}

void encodeBlock(std::span<const float> block, StorageType type, std::string& out) {
    const auto [levels, hasMinimum] = layout(type);
    float d = 0.0f;
    float minimum = 0.0f;
    if (hasMinimum) {
        const auto [low, high] = std::minmax_element(block.begin(), block.end());
        minimum = *low;
        d = (*high - *low) / static_cast<float>(levels - 1);
    } else {
        const float extreme =
            *std::max_element(block.begin(), block.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
        d = extreme / -static_cast<float>(levels / 2);
    }
    std::array<unsigned, kBlock> q{};
    for (std::size_t i = 0; i < kBlock; ++i) {
        const float scaled = d == 0.0f ? 0.0f : (block[i] - minimum) / d;
        const float level = hasMinimum ? scaled + 0.5f : scaled + static_cast<float>(levels / 2) + 0.5f;
        q[i] = static_cast<unsigned>(std::clamp(static_cast<int>(level), 0, levels - 1));
    }
    put16(out, toHalf(d));
    if (hasMinimum) put16(out, toHalf(minimum));
    if (levels == 32) {
        std::uint32_t high = 0;
        for (std::size_t i = 0; i < kBlock; ++i) high |= (q[i] >> 4) << i;
        for (int byte = 0; byte < 4; ++byte) out.push_back(static_cast<char>((high >> (8 * byte)) & 0xff));
    }
    for (std::size_t i = 0; i < kBlock / 2; ++i) {
        out.push_back(static_cast<char>((q[i] & 0x0f) | ((q[i + kBlock / 2] & 0x0f) << 4)));
    }
}

void decodeBlock(const char*& in, StorageType type, std::vector<float>& out) {
    const auto [levels, hasMinimum] = layout(type);
    const float d = fromHalf(get16(in));
    in += 2;
    float minimum = 0.0f;
    if (hasMinimum) {
        minimum = fromHalf(get16(in));
        in += 2;
    }
    std::uint32_t high = 0;
    if (levels == 32) {
        std::memcpy(&high, in, 4);
        in += 4;
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
        const auto byte = static_cast<unsigned char>(in[i % (kBlock / 2)]);
        const unsigned low = i < kBlock / 2 ? byte & 0x0fu : byte >> 4;
        const int q = static_cast<int>(low | (((high >> i) & 1u) << 4));
        out.push_back(hasMinimum ? d * static_cast<float>(q) + minimum : d * static_cast<float>(q - levels / 2));
    }
    in += kBlock / 2;
}

}  // namespace

std::uint16_t toHalf(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    if (!std::isfinite(value)) return static_cast<std::uint16_t>(sign | (std::isnan(value) ? 0x7e00u : 0x7c00u));
    const double magnitude = std::abs(static_cast<double>(value));
    if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude == 0.0) return sign;
    // The distance of two halves near the value is 2^(e−10), and never below 2^−24; nearbyint rounds to even.
    const int exponent = std::max(std::ilogb(magnitude), -14);
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    // `steps` carries the implicit bit (1024); when rounding reaches 2048 it carries into the exponent by itself.
    const std::uint32_t half =
        steps < 1024 ? steps : (static_cast<std::uint32_t>(exponent + 15) << 10) + (steps - 1024);
    return static_cast<std::uint16_t>(sign | half);
}

float fromHalf(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    float magnitude = 0.0f;
    if (exponent == 31) {
        magnitude = fraction == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
        magnitude = std::ldexp(static_cast<float>(fraction), -24);
    } else {
        magnitude = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::string encode(std::span<const float> values, StorageType type) {
    std::string out;
    switch (type) {
        case StorageType::F32:
            return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
        case StorageType::F16:
            for (const float v : values) put16(out, toHalf(v));
            return out;
        case StorageType::BF16:
            for (const float v : values) put16(out, toBFloat16(v));
            return out;
        default:
            break;
    }
    if (isSuperBlock(type)) {
        const std::size_t block = superBlockElements(type);
        if (values.size() % block != 0) throw std::runtime_error("the K formats need multiples of 256 values");
        for (std::size_t i = 0; i < values.size(); i += block) encodeSuperBlock(values.subspan(i, block), type, out);
        return out;
    }
    if (values.size() % kBlock != 0) throw std::runtime_error("the Q formats need multiples of 32 values");
    for (std::size_t i = 0; i < values.size(); i += kBlock) {
        if (type == StorageType::Q8_0) {
            encodeQ8(values.subspan(i, kBlock), out);
        } else {
            encodeBlock(values.subspan(i, kBlock), type, out);
        }
    }
    return out;
}

std::vector<float> decode(const std::string& bytes, StorageType type) {
    std::vector<float> out;
    const char* in = bytes.data();
    const char* end = in + bytes.size();
    while (in < end) {
        switch (type) {
            case StorageType::F32: {
                float v = 0.0f;
                std::memcpy(&v, in, 4);
                out.push_back(v);
                in += 4;
                break;
            }
            case StorageType::F16:
                out.push_back(fromHalf(get16(in)));
                in += 2;
                break;
            case StorageType::BF16:
                out.push_back(fromBFloat16(get16(in)));
                in += 2;
                break;
            case StorageType::Q8_0: {
                const float d = fromHalf(get16(in));
                for (std::size_t i = 0; i < kBlock; ++i)
                    out.push_back(d * static_cast<float>(static_cast<signed char>(in[2 + i])));
                in += 2 + kBlock;
                break;
            }
            default:
                isSuperBlock(type) ? decodeSuperBlock(in, type, out) : decodeBlock(in, type, out);
        }
    }
    return out;
}

}  // namespace lpes::test
