// ggml's types with blocks of 256, and the IQ4 types. Included like block_bytes_impl.h.
//
// Block layouts: block_q2_K … block_q6_K, block_iq4_nl and block_iq4_xs in ggml-common.h of ggml-org/ggml.
#pragma once

#include "core/model/formats/block_bytes_impl.h"

namespace lpes::model {
namespace {

/// Sixteen groups of 16, each with a 4-bit scale and a 4-bit minimum in one byte; 2-bit levels, d and dmin last. Of
/// either half of the block, byte l holds elements l, 32 + l, 64 + l and 96 + l.
bool widenQ2K(const std::byte* in, std::size_t blocks, float* __restrict out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        const auto scales = take<Bytes<16>>(in);
        const auto levels = take<Bytes<64>>(in);
        const float d = takeHalf(in, bad);
        const float dmin = takeHalf(in, bad);
        for (std::size_t group = 0; group < 16; ++group, out += 16) {
            const float scale = d * level(scales[group] & 0x0f);
            const float minimum = dmin * level(scales[group] >> 4);
            const std::uint8_t* from = levels.data() + group / 8 * 32 + group % 2 * 16;
            const int shift = static_cast<int>(group % 8 / 2) * 2;
            for (std::size_t i = 0; i < 16; ++i) out[i] = scale * level((from[i] >> shift) & 3) - minimum;
        }
    }
    return bad == 0;
}

/// As Q2_K, with a third bit of each level in front (set: nothing is taken away; clear: 4 is), and sixteen 6-bit scales
/// around 32: low nibbles in the first 8 bytes, pairs of high bits in the last 4.
bool widenQ3K(const std::byte* in, std::size_t blocks, float* __restrict out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        const auto third = take<Bytes<32>>(in);
        const auto levels = take<Bytes<64>>(in);
        const auto scales = take<Bytes<12>>(in);
        const float d = takeHalf(in, bad);
        for (std::size_t group = 0; group < 16; ++group, out += 16) {
            const int low = group < 8 ? scales[group] & 0x0f : scales[group - 8] >> 4;
            const int high = (scales[8 + group % 4] >> (2 * (group / 4))) & 3;
            const float scale = d * level((low | (high << 4)) - 32);
            const std::uint8_t* from = levels.data() + group / 8 * 32 + group % 2 * 16;
            const std::uint8_t* bits = third.data() + group % 2 * 16;
            const int shift = static_cast<int>(group % 8 / 2) * 2;
            const int bit = static_cast<int>(group / 2);
            for (std::size_t i = 0; i < 16; ++i) {
                const int q = ((from[i] >> shift) & 3) | (((bits[i] >> bit) & 1) << 2);
                out[i] = scale * level(q - 4);
            }
        }
    }
    return bad == 0;
}

/// Eight 6-bit scales and eight 6-bit minima in 12 bytes, of Q4_K and Q5_K.
struct SixBitScales {
    std::array<int, 8> scale{}, minimum{};

    explicit SixBitScales(const Bytes<12>& packed) {
        for (std::size_t i = 0; i < 4; ++i) {
            scale[i] = packed[i] & 0x3f;
            minimum[i] = packed[4 + i] & 0x3f;
            scale[4 + i] = (packed[8 + i] & 0x0f) | ((packed[i] >> 6) << 4);
            minimum[4 + i] = (packed[8 + i] >> 4) | ((packed[4 + i] >> 6) << 4);
        }
    }
};

/// Q4_K and Q5_K: eight groups of 32 with a 6-bit scale and minimum each. Bytes 32·p … 32·p + 31 hold group 2p in their
/// low and group 2p + 1 in their high nibbles; of Q5_K's 32 bytes of fifth bits, bit g belongs to group g.
template <bool HasFifthBit>
bool widenQ45K(const std::byte* in, std::size_t blocks, float* __restrict out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        const float d = takeHalf(in, bad);
        const float dmin = takeHalf(in, bad);
        const SixBitScales packed(take<Bytes<12>>(in));
        Bytes<32> fifth{};
        if constexpr (HasFifthBit) fifth = take<Bytes<32>>(in);
        for (std::size_t pair = 0; pair < 4; ++pair, out += 2 * kBlock) {
            const auto levels = take<Bytes<32>>(in);
            const float scale0 = d * level(packed.scale[2 * pair]), scale1 = d * level(packed.scale[2 * pair + 1]);
            const float low = dmin * level(packed.minimum[2 * pair]), high = dmin * level(packed.minimum[2 * pair + 1]);
            const int bit = static_cast<int>(2 * pair);
            for (std::size_t i = 0; i < kBlock; ++i) {
                int q = levels[i] & 0x0f;
                if constexpr (HasFifthBit) q |= ((fifth[i] >> bit) & 1) << 4;
                out[i] = scale0 * level(q) - low;
            }
            for (std::size_t i = 0; i < kBlock; ++i) {
                int q = levels[i] >> 4;
                if constexpr (HasFifthBit) q |= ((fifth[i] >> (bit + 1)) & 1) << 4;
                out[kBlock + i] = scale1 * level(q) - high;
            }
        }
    }
    return bad == 0;
}

/// Sixteen groups of 16 with an 8-bit scale each; levels of 6 bits around 32: low nibbles, then the two high bits. Of
/// either half, nibble bytes l and 32 + l hold elements l, 32 + l (low), 64 + l, 96 + l (high).
bool widenQ6K(const std::byte* in, std::size_t blocks, float* __restrict out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        const auto nibbles = take<Bytes<128>>(in);
        const auto pairs = take<Bytes<64>>(in);
        const auto scales = take<std::array<std::int8_t, 16>>(in);
        const float d = takeHalf(in, bad);
        for (std::size_t group = 0; group < 16; ++group, out += 16) {
            const float scale = d * level(scales[group]);
            const std::size_t quarter = group % 8 / 2, half = group / 8, part = group % 2 * 16;
            const std::uint8_t* low = nibbles.data() + half * 64 + quarter % 2 * 32 + part;
            const std::uint8_t* high = pairs.data() + half * 32 + part;
            const int lowShift = static_cast<int>(quarter / 2) * 4;
            const int highShift = static_cast<int>(quarter) * 2;
            for (std::size_t i = 0; i < 16; ++i) {
                const int q = ((low[i] >> lowShift) & 0x0f) | (((high[i] >> highShift) & 3) << 4);
                out[i] = scale * level(q - 32);
            }
        }
    }
    return bad == 0;
}

/// Levels of the IQ4 types, kvalues_iq4nl in ggml-common.h.
constexpr std::array<float, 16> kUnevenLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

void widenUneven(const std::byte*& in, float scale, float* __restrict out) {
    const auto nibbles = take<Bytes<kBlock / 2>>(in);
    for (std::size_t i = 0; i < kBlock / 2; ++i) {
        out[i] = scale * kUnevenLevels[nibbles[i] & 0x0f];
        out[i + kBlock / 2] = scale * kUnevenLevels[nibbles[i] >> 4];
    }
}

bool widenIQ4NL(const std::byte* in, std::size_t blocks, float* out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block, out += kBlock) {
        const float d = takeHalf(in, bad);
        widenUneven(in, d, out);
    }
    return bad == 0;
}

/// Eight groups of 32 with a 6-bit scale around 32 each: two high bits of all of them first, then the low nibbles.
bool widenIQ4XS(const std::byte* in, std::size_t blocks, float* out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
        const float d = takeHalf(in, bad);
        const auto high = take<std::uint16_t>(in);
        const auto low = take<Bytes<4>>(in);
        for (std::size_t group = 0; group < 8; ++group, out += kBlock) {
            const int scale = ((low[group / 2] >> (4 * (group % 2))) & 0x0f) | (((high >> (2 * group)) & 3) << 4);
            widenUneven(in, d * level(scale - 32), out);
        }
    }
    return bad == 0;
}

}  // namespace
}  // namespace lpes::model
