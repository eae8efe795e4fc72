#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/random.h"

namespace lpes::tasks {

/// What item `index` of a generated data set draws from: (seed, purpose, index) alone.
[[nodiscard]] RandomStream itemStream(std::uint64_t seed, std::uint32_t purpose, std::int64_t index);

/// Hexadecimal digits, eight from each word, the low end first. Stored behaviour.
[[nodiscard]] std::string drawHex(RandomStream& random, int digits);
/// RFC 9562: version 4 (random), variant 10. Stored behaviour.
[[nodiscard]] std::string drawUuid(RandomStream& random);
/// `wanted` of 0 … count−1 without replacement: the first places of a Fisher–Yates shuffle. Stored behaviour.
[[nodiscard]] std::vector<std::size_t> drawPlaces(RandomStream& random, std::size_t count, std::size_t wanted);

/// What `draw` gives, again while it gives what was there before. There have to be `count` different ones.
template <class Draw>
std::vector<std::string> drawDistinct(int count, Draw draw) {
    std::vector<std::string> texts;
    std::unordered_set<std::string> seen;
    while (texts.size() < static_cast<std::size_t>(count)) {
        std::string text = draw();
        if (seen.insert(text).second) texts.push_back(std::move(text));
    }
    return texts;
}

/// The places of a Fisher–Yates shuffle of 0 … count−1 one after the other, in memory of what was drawn alone.
class PlaceDrawer {
  public:
    PlaceDrawer(RandomStream& random, std::size_t count) : m_random(random), m_count(count) {}
    /// Usable `count` times.
    [[nodiscard]] std::size_t next();

  private:
    [[nodiscard]] std::size_t at(std::size_t place) const;
    RandomStream& m_random;
    std::size_t m_count, m_drawn = 0;
    std::unordered_map<std::size_t, std::size_t> m_moved;
};

}  // namespace lpes::tasks
