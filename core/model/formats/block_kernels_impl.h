// The loops of block_kernels.h. Included by one source file per set of processor instructions, hence everything here
// has internal linkage. Levels are widened in loops of 16 or 32 without a branch, which compilers turn into vectors.
//
// Block layouts: block_q4_0 … block_q8_0 in ggml-common.h of ggml-org/ggml.
#pragma once

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "core/model/formats/block_kernels.h"
#include "core/model/formats/super_blocks_impl.h"

namespace lpes::model {
namespace {

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
