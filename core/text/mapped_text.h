#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lpes::text {

/// A text that knows, byte by byte, where in the user's text it comes from. It begins as a view of the user's text and
/// takes memory of its own (5 bytes a byte) only when something is appended. Offsets are below 2³¹. thread-compatible.
class MappedText {
  public:
    MappedText() = default;
    /// A view: byte k comes from `begin` + k. `text` outlives the object.
    MappedText(std::string_view text, std::size_t begin) : m_view(text), m_begin(begin), m_isView(true) {}

    [[nodiscard]] std::string_view text() const { return m_isView ? m_view : std::string_view(m_text); }
    [[nodiscard]] std::size_t size() const { return text().size(); }
    /// Offset in the user's text of the byte at `at` ≤ size(); at size() where the text ends.
    [[nodiscard]] std::size_t origin(std::size_t at) const {
        return m_isView ? m_begin + at : at < m_origins.size() ? m_origins[at] : m_end;
    }

    /// The part [begin, end), which lives as long as this text where this is a view.
    [[nodiscard]] MappedText part(std::size_t begin, std::size_t end) const;

    // Building; not for views. std::length_error where the text would pass 2 GiB.
    /// Bytes that all come from `origin`.
    void append(std::string_view bytes, std::size_t origin);
    /// [begin, end) of another text, with its origins.
    void appendPart(const MappedText& from, std::size_t begin, std::size_t end);
    void setEnd(std::size_t origin) { m_end = origin; }

  private:
    void grow(std::size_t count);

    std::string m_text;
    std::vector<std::uint32_t> m_origins;
    std::string_view m_view;
    std::size_t m_begin = 0;
    std::size_t m_end = 0;
    bool m_isView = false;
};

}  // namespace lpes::text
