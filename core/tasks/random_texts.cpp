#include "core/tasks/random_texts.h"

#include <string_view>

namespace lpes::tasks {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

RandomStream itemStream(std::uint64_t seed, std::uint32_t purpose, std::int64_t index) {
    return {seed, purpose, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)};
}

std::string drawHex(RandomStream& random, int digits) {
    std::string text(static_cast<std::size_t>(digits), '0');
    for (std::size_t i = 0; i < text.size(); i += 8) {
        std::uint32_t bits = random.next();
        for (std::size_t k = i; k < text.size() && k < i + 8; ++k, bits >>= 4) text[k] = kHexDigits[bits & 15];
    }
    return text;
}

std::string drawUuid(RandomStream& random) {
    std::string digits = drawHex(random, 32);
    digits[12] = '4';
    const std::size_t variant = kHexDigits.find(digits[16]) & 3;
    digits[16] = kHexDigits[8 + variant];
    for (const std::size_t dash : {20, 16, 12, 8}) digits.insert(dash, 1, '-');
    return digits;
}

std::vector<std::size_t> drawPlaces(RandomStream& random, std::size_t count, std::size_t wanted) {
    PlaceDrawer drawer(random, count);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < wanted; ++i) places.push_back(drawer.next());
    return places;
}

std::size_t PlaceDrawer::at(std::size_t place) const {
    const auto found = m_moved.find(place);
    return found == m_moved.end() ? place : found->second;
}

std::size_t PlaceDrawer::next() {
    const std::size_t from = m_drawn + m_random.below(m_count - m_drawn);
    const std::size_t drawn = at(from);
    m_moved[from] = at(m_drawn);
    ++m_drawn;
    return drawn;
}

}  // namespace lpes::tasks
