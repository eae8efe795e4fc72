#include "core/base/random.h"

#include <cmath>
#include <numbers>

namespace lpes {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    constexpr std::uint64_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57;
    constexpr std::uint32_t kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = kM0 * counter[0], p1 = kM1 * counter[2];
        counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
                   static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
        key[0] += kW0;
        key[1] += kW1;
    }
    return counter;
}

RandomStream::RandomStream(std::uint64_t seed, std::uint32_t purpose, std::uint32_t a, std::uint32_t b)
    : m_key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, m_counter{0, purpose, a, b} {}

std::uint32_t RandomStream::next() {
    if (m_used == 4) {
        m_block = philox4x32(m_counter, m_key);
        ++m_counter[0];
        m_used = 0;
    }
    return m_block[m_used++];
}

double RandomStream::uniform() {
    const std::uint64_t high = next() >> 5, low = next() >> 6;  // 27 + 26 bits
    return static_cast<double>((high << 26) | low) * 0x1.0p-53;
}

double RandomStream::uniform(double low, double high) {
    return low + (high - low) * uniform();
}

std::uint64_t RandomStream::below(std::uint64_t count) {
    // Values beyond the largest multiple of count are drawn again, so that every result is equally likely. The first
    // comparison spares a division: what it accepts lies below that multiple in any case.
    constexpr std::uint64_t kLargest = ~std::uint64_t{0};
    for (;;) {
        const std::uint64_t high = next();
        const std::uint64_t value = (high << 32) | next();
        if (value <= kLargest - count || value <= kLargest - (kLargest % count + 1) % count) return value % count;
    }
}

double RandomStream::normal() {
    if (m_hasSpare) {
        m_hasSpare = false;
        return m_spareNormal;
    }
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    m_spareNormal = radius * std::sin(angle);
    m_hasSpare = true;
    return radius * std::cos(angle);
}

}  // namespace lpes
