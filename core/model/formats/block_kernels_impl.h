// The loops of block_kernels.h. Included by one source file per set of processor instructions, hence everything here
// has internal linkage. Levels are widened in loops of 16 or 32 without a branch, which compilers turn into vectors.
//
// Block layouts: ggml-common.h of ggml-org/ggml (block_q4_0 … block_q6_K, block_iq4_nl, block_iq4_xs).
#include <array>
#include <bit>
#include <cstring>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "core/model/formats/block_kernels.h"
#include "core/model/formats/storage.h"

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

bool widenF32(const std::byte* in, std::size_t count, float* out) {
    std::uint32_t bad = 0;
    std::memcpy(out, in, count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i) bad |= exponentFull(out[i]);
    return bad == 0;
}

float bfloat16ToFloat(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// F16 and BF16, by the chunk so that input and output are known not to overlap.
template <float (*Widen)(std::uint16_t)>
bool widenTwoBytes(const std::byte* in, std::size_t count, float* __restrict out) {
    std::uint32_t bad = 0;
    for (; count >= kBlock; count -= kBlock, out += kBlock) {
        const auto chunk = take<std::array<std::uint16_t, kBlock>>(in);
        for (std::size_t i = 0; i < kBlock; ++i) {
            const float value = Widen(chunk[i]);
            bad |= exponentFull(value);
            out[i] = value;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = Widen(take<std::uint16_t>(in));
        bad |= exponentFull(out[i]);
    }
    return bad == 0;
}

bool widenF16(const std::byte* in, std::size_t count, float* __restrict out) {
#ifdef __F16C__
    // The instruction widens subnormal halves whatever the control register says of denormals.
    __m256i full = _mm256_setzero_si256();
    const __m256i exponent = _mm256_set1_epi32(static_cast<int>(kExponent));
    for (; count >= 8; count -= 8, out += 8, in += 16) {
        const __m256 values = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
        const __m256i bits = _mm256_and_si256(_mm256_castps_si256(values), exponent);
        full = _mm256_or_si256(full, _mm256_cmpeq_epi32(bits, exponent));
        _mm256_storeu_ps(out, values);
    }
    const bool finite = _mm256_testz_si256(full, full) != 0;
    return widenTwoBytes<halfToFloat>(in, count, out) && finite;
#else
    return widenTwoBytes<halfToFloat>(in, count, out);
#endif
}

bool widenQ8(const std::byte* in, std::size_t blocks, float* __restrict out) {
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block, out += kBlock) {
        const float d = takeHalf(in, bad);
        const auto levels = take<std::array<std::int8_t, kBlock>>(in);
        for (std::size_t i = 0; i < kBlock; ++i) out[i] = d * level(levels[i]);
    }
    return bad == 0;
}

/// Q4_0 (levels − 8), Q4_1 (+ m), Q5_0 (levels − 16), Q5_1 (+ m): d, m, 32 fifth bits, then element i of 0 … 15 in the
/// low nibble of byte i and element 16 + i in its high nibble.
template <bool HasMinimum, bool HasFifthBit>
bool widenNibbles(const std::byte* in, std::size_t blocks, float* __restrict out) {
    constexpr int kCentre = HasMinimum ? 0 : HasFifthBit ? 16 : 8;
    constexpr std::size_t kHalf = kBlock / 2;
    std::uint32_t bad = 0;
    for (std::size_t block = 0; block < blocks; ++block, out += kBlock) {
        const float d = takeHalf(in, bad);
        const float m = HasMinimum ? takeHalf(in, bad) : 0.0f;
        const std::uint32_t fifth = HasFifthBit ? take<std::uint32_t>(in) : 0;
        const auto nibbles = take<Bytes<kHalf>>(in);
        for (std::size_t i = 0; i < kHalf; ++i) {
            int low = nibbles[i] & 0x0f;
            int high = nibbles[i] >> 4;
            if constexpr (HasFifthBit) {
                low |= static_cast<int>((fifth >> i) & 1u) << 4;
                high |= static_cast<int>((fifth >> (i + kHalf)) & 1u) << 4;
            }
            out[i] = d * level(low - kCentre) + m;
            out[i + kHalf] = d * level(high - kCentre) + m;
        }
    }
    return bad == 0;
}

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

bool widen(StorageType type, const std::byte* in, std::size_t count, float* out) {
    const std::size_t blocks = count / kBlock, superBlocks = count / kSuperBlock;
    switch (type) {
        case StorageType::F32:
            return widenF32(in, count, out);
        case StorageType::F16:
            return widenF16(in, count, out);
        case StorageType::BF16:
            return widenTwoBytes<bfloat16ToFloat>(in, count, out);
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
        case StorageType::Q2_K:
            return widenQ2K(in, superBlocks, out);
        case StorageType::Q3_K:
            return widenQ3K(in, superBlocks, out);
        case StorageType::Q4_K:
            return widenQ45K<false>(in, superBlocks, out);
        case StorageType::Q5_K:
            return widenQ45K<true>(in, superBlocks, out);
        case StorageType::Q6_K:
            return widenQ6K(in, superBlocks, out);
        case StorageType::IQ4_NL:
            return widenIQ4NL(in, blocks, out);
        case StorageType::IQ4_XS:
            return widenIQ4XS(in, superBlocks, out);
    }
    return false;
}

bool round(const float* __restrict in, std::size_t count, std::uint16_t* __restrict out) {
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(in[i]);
        const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        bad |= (rounded & 0x7f80u) == 0x7f80u;
        out[i] = static_cast<std::uint16_t>(rounded);
    }
    return bad == 0;
}

constexpr BlockKernels kKernels = {widen, round};

}  // namespace
}  // namespace lpes::model
