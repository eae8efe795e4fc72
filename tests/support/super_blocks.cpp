#include "tests/support/super_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "tests/support/block_quantizer.h"

namespace lpes::test {

using model::StorageType;

namespace {

/// Where `bits` bits of a number stand.
struct Place {
    std::size_t byte = 0;
    unsigned shift = 0;
    unsigned bits = 0;
};

/// A level or scale in up to two places, the low bits first.
using Places = std::array<Place, 2>;

struct Layout {
    std::size_t elements, bytes, group;
    int levels;
    bool hasMinimum;  ///< value = scale · level − minimum; else scale · (level − levels / 2)
    int scaleLimit;   ///< largest scale number that the encoder uses
    int scaleCentre;  ///< taken away from a stored scale
    std::size_t d;    ///< byte offset; dmin stands 2 behind
};

Layout layout(StorageType type) {
    switch (type) {
        case StorageType::Q2_K:
            return {256, 84, 16, 4, true, 15, 0, 80};
        case StorageType::Q3_K:
            return {256, 110, 16, 8, false, 31, 32, 108};
        case StorageType::Q4_K:
            return {256, 144, 32, 16, true, 63, 0, 0};
        case StorageType::Q5_K:
            return {256, 176, 32, 32, true, 63, 0, 0};
        case StorageType::Q6_K:
            return {256, 210, 16, 64, false, 127, 0, 208};
        case StorageType::IQ4_NL:
            return {32, 18, 32, 16, false, 1, 0, 0};
        case StorageType::IQ4_XS:
            return {256, 136, 32, 16, false, 31, 32, 0};
        default:
            throw std::runtime_error("not a type with super blocks");
    }
}

constexpr std::array<int, 16> kUneven = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

bool isUneven(StorageType type) {
    return type == StorageType::IQ4_NL || type == StorageType::IQ4_XS;
}

Places levelPlaces(StorageType type, std::size_t e) {
    const std::size_t half = e / 128, in32 = e % 32;
    const auto quarter = static_cast<unsigned>(e % 128 / 32);
    switch (type) {
        case StorageType::Q2_K:
            return {Place{16 + half * 32 + in32, 2 * quarter, 2}};
        case StorageType::Q3_K:
            return {Place{32 + half * 32 + in32, 2 * quarter, 2}, Place{in32, static_cast<unsigned>(e / 32), 1}};
        case StorageType::Q4_K:
            return {Place{16 + e / 64 * 32 + in32, 4 * (quarter % 2), 4}};
        case StorageType::Q5_K:
            return {Place{48 + e / 64 * 32 + in32, 4 * (quarter % 2), 4},
                    Place{16 + in32, static_cast<unsigned>(e / 32), 1}};
        case StorageType::Q6_K:
            return {Place{half * 64 + e % 64, 4 * (quarter / 2), 4}, Place{128 + half * 32 + in32, 2 * quarter, 2}};
        case StorageType::IQ4_NL:
            return {Place{2 + e % 16, e < 16 ? 0u : 4u, 4}};
        default:
            return {Place{8 + e / 32 * 16 + e % 16, in32 < 16 ? 0u : 4u, 4}};
    }
}

Places scalePlaces(StorageType type, std::size_t s) {
    const auto n = static_cast<unsigned>(s);
    switch (type) {
        case StorageType::Q2_K:
            return {Place{s, 0, 4}};
        case StorageType::Q3_K:
            return {Place{96 + s % 8, 4 * (n / 8), 4}, Place{104 + s % 4, 2 * (n / 4), 2}};
        case StorageType::Q4_K:
        case StorageType::Q5_K:
            if (s < 4) return {Place{4 + s, 0, 6}};
            return {Place{8 + s, 0, 4}, Place{s, 6, 2}};
        case StorageType::Q6_K:
            return {Place{192 + s, 0, 8}};
        case StorageType::IQ4_XS:
            return {Place{4 + s / 2, 4 * (n % 2), 4}, Place{2 + s / 4, 2 * (n % 4), 2}};
        default:
            return {};
    }
}

Places minimumPlaces(StorageType type, std::size_t s) {
    if (type == StorageType::Q2_K) return {Place{s, 4, 4}};
    if (s < 4) return {Place{8 + s, 0, 6}};
    return {Place{8 + s, 4, 4}, Place{4 + s, 6, 2}};
}

void put(std::string& bytes, const Places& places, unsigned value) {
    for (const Place& place : places) {
        const unsigned part = value & ((1u << place.bits) - 1u);
        bytes[place.byte] = static_cast<char>(static_cast<unsigned char>(bytes[place.byte]) | (part << place.shift));
        value >>= place.bits;
    }
}

unsigned get(const char* bytes, const Places& places) {
    unsigned value = 0, at = 0;
    for (const Place& place : places) {
        value |= ((static_cast<unsigned char>(bytes[place.byte]) >> place.shift) & ((1u << place.bits) - 1u)) << at;
        at += place.bits;
    }
    return value;
}

void putHalf(std::string& bytes, std::size_t at, float value) {
    const std::uint16_t bits = toHalf(value);
    bytes[at] = static_cast<char>(bits & 0xff);
    bytes[at + 1] = static_cast<char>(bits >> 8);
}

float getHalf(const char* bytes, std::size_t at) {
    return fromHalf(static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) |
                                               (static_cast<unsigned char>(bytes[at + 1]) << 8)));
}

/// The stored scale of group s, in units of d.
int scaleNumber(const char* bytes, StorageType type, std::size_t s) {
    if (type == StorageType::IQ4_NL) return 1;
    const unsigned stored = get(bytes, scalePlaces(type, s));
    return type == StorageType::Q6_K ? static_cast<signed char>(stored)
                                     : static_cast<int>(stored) - layout(type).scaleCentre;
}

float offsetLevel(StorageType type, unsigned stored) {
    if (isUneven(type)) return static_cast<float>(kUneven[stored]);
    const Layout form = layout(type);
    return static_cast<float>(form.hasMinimum ? static_cast<int>(stored) : static_cast<int>(stored) - form.levels / 2);
}

unsigned nearestLevel(StorageType type, float wanted) {
    unsigned best = 0;
    for (unsigned q = 1; q < static_cast<unsigned>(layout(type).levels); ++q) {
        if (std::abs(offsetLevel(type, q) - wanted) < std::abs(offsetLevel(type, best) - wanted)) best = q;
    }
    return best;
}

float largestOf(const std::vector<float>& values) {
    return *std::max_element(values.begin(), values.end());
}

}  // namespace

std::size_t superBlockElements(StorageType type) {
    return layout(type).elements;
}
std::size_t superBlockBytes(StorageType type) {
    return layout(type).bytes;
}

void encodeSuperBlock(std::span<const float> block, StorageType type, std::string& out) {
    const Layout form = layout(type);
    const std::size_t groups = form.elements / form.group;
    std::vector<float> scales(groups), minima(groups);
    for (std::size_t s = 0; s < groups; ++s) {
        const auto part = block.subspan(s * form.group, form.group);
        const auto [low, high] = std::minmax_element(part.begin(), part.end());
        minima[s] = form.hasMinimum ? std::max(0.0f, -*low) : 0.0f;
        const float reach = isUneven(type) ? 113.0f : static_cast<float>(form.levels / 2 - 1);
        scales[s] = form.hasMinimum ? (std::max(*high, 0.0f) + minima[s]) / static_cast<float>(form.levels - 1)
                                    : std::max(-*low, *high) / reach;
    }
    std::string bytes(form.bytes, '\0');
    const auto limit = static_cast<float>(form.scaleLimit);
    putHalf(bytes, form.d, largestOf(scales) / limit);
    const float d = getHalf(bytes.data(), form.d);
    float dmin = 0.0f;
    if (form.hasMinimum) {
        putHalf(bytes, form.d + 2, largestOf(minima) / limit);
        dmin = getHalf(bytes.data(), form.d + 2);
    }
    const auto counted = [&](float value, float unit) {
        return unit == 0.0f ? 0 : std::clamp(static_cast<int>(std::lround(value / unit)), 0, form.scaleLimit);
    };
    for (std::size_t s = 0; s < groups; ++s) {
        const int scale = type == StorageType::IQ4_NL ? 1 : counted(scales[s], d);
        put(bytes, scalePlaces(type, s), static_cast<unsigned>(scale + form.scaleCentre));
        const int minimum = form.hasMinimum ? counted(minima[s], dmin) : 0;
        if (form.hasMinimum) put(bytes, minimumPlaces(type, s), static_cast<unsigned>(minimum));
        const float unit = d * static_cast<float>(scale);
        for (std::size_t e = s * form.group; e < (s + 1) * form.group; ++e) {
            const float wanted = unit == 0.0f ? 0.0f : (block[e] + dmin * static_cast<float>(minimum)) / unit;
            put(bytes, levelPlaces(type, e), nearestLevel(type, wanted));
        }
    }
    out += bytes;
}

void decodeSuperBlock(const char*& in, StorageType type, std::vector<float>& out) {
    const Layout form = layout(type);
    const float d = getHalf(in, form.d);
    const float dmin = form.hasMinimum ? getHalf(in, form.d + 2) : 0.0f;
    for (std::size_t e = 0; e < form.elements; ++e) {
        const std::size_t s = e / form.group;
        const float product =
            d * static_cast<float>(scaleNumber(in, type, s)) * offsetLevel(type, get(in, levelPlaces(type, e)));
        out.push_back(form.hasMinimum
                          ? product - dmin * static_cast<float>(static_cast<int>(get(in, minimumPlaces(type, s))))
                          : product);
    }
    in += form.bytes;
}

}  // namespace lpes::test
