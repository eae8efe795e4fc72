#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::text {

/// sentencepiece's precompiled normalisation map: a double-array trie (Darts-clone's layout: 32-bit units with label,
/// leaf flag and offset) from texts to positions in a block of zero-terminated replacements. Files are hostile: every
/// step of a look-up stays inside the array. immutable.
class Charsmap {
  public:
    /// `blob`: size of the trie in bytes (32 bit, little endian), the trie, the replacements. BadInput when the sizes
    /// do not fit, or the replacements are not UTF-8.
    [[nodiscard]] static Result<Charsmap> make(std::string_view blob);

    struct Match {
        std::size_t size = 0;  ///< bytes of the text
        std::string_view replacement;
    };
    /// The shortest entry that `text` begins with, and the longest.
    [[nodiscard]] std::optional<Match> shortest(std::string_view text) const { return find(text, false); }
    [[nodiscard]] std::optional<Match> longest(std::string_view text) const { return find(text, true); }

  private:
    [[nodiscard]] std::optional<Match> find(std::string_view text, bool longest) const;

    std::vector<std::uint32_t> m_units;
    std::string m_replacements;
};

}  // namespace lpes::text
