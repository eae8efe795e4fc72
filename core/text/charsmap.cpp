#include "core/text/charsmap.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/unicode.h"

namespace lpes::text {

namespace {

std::uint32_t littleEndian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t k = 4; k-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[at + k]);
    return value;
}

// The fields of a unit, as Darts-clone packs them.
bool hasLeaf(std::uint32_t unit) {
    return ((unit >> 8) & 1u) != 0;
}
std::uint32_t leafValue(std::uint32_t unit) {
    return unit & 0x7FFF'FFFFu;
}
std::uint32_t label(std::uint32_t unit) {
    return unit & 0x8000'00FFu;
}
std::uint32_t offsetOf(std::uint32_t unit) {
    return (unit >> 10) << ((unit & 0x200u) >> 6);
}

}  // namespace

Result<Charsmap> Charsmap::make(std::string_view blob) {
    const auto broken = [](const std::string& what) {
        return fail(ErrorCode::BadInput,
                    fmt::format("The tokenizer's precompiled_charsmap is damaged ({}); fetch its files again.", what));
    };
    if (blob.size() < 4) return broken(fmt::format("{} bytes", blob.size()));
    const std::size_t trieBytes = littleEndian(blob, 0);
    if (trieBytes % 4 != 0 || trieBytes == 0 || trieBytes > blob.size() - 4) {
        return broken(fmt::format("a trie of {} bytes in {}", trieBytes, blob.size()));
    }
    Charsmap made;
    made.m_units.reserve(trieBytes / 4);
    for (std::size_t at = 4; at < 4 + trieBytes; at += 4) made.m_units.push_back(littleEndian(blob, at));
    made.m_replacements = blob.substr(4 + trieBytes);
    if (const auto bad = firstInvalidUtf8(made.m_replacements)) {
        return broken(fmt::format("replacements that are not UTF-8 at byte {}", *bad));
    }
    return made;
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool longest) const {
    std::optional<Match> found;
    std::size_t node = offsetOf(m_units[0]);
    for (std::size_t k = 0; k < text.size() && text[k] != '\0'; ++k) {
        const auto byte = static_cast<unsigned char>(text[k]);
        node ^= byte;
        if (node >= m_units.size() || label(m_units[node]) != byte) break;
        const bool leaf = hasLeaf(m_units[node]);
        node ^= offsetOf(m_units[node]);
        if (!leaf) continue;
        if (node >= m_units.size()) break;
        const std::size_t begin = leafValue(m_units[node]);
        if (begin > m_replacements.size()) break;
        // A damaged trie may point into the middle of a character; what comes out of it must stay UTF-8.
        if (begin < m_replacements.size() && (static_cast<unsigned char>(m_replacements[begin]) & 0xC0u) == 0x80u)
            break;
        const std::size_t end = std::min(m_replacements.find('\0', begin), m_replacements.size());
        found = Match{k + 1, std::string_view(m_replacements).substr(begin, end - begin)};
        if (!longest) break;
    }
    return found;
}

}  // namespace lpes::text
