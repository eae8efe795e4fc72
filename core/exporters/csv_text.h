#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

/// What the readers of comma-separated numbers share.
namespace lpes::exporters {

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r";
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// A whole number or a double in the C locale, whatever the process' locale is. Blanks around it are left out.
template <class T>
[[nodiscard]] std::optional<T> csvNumber(std::string_view text) {
    text = trimmed(text);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// The lines of a text behind its byte order mark, without the blanks around them; empty ones come too.
class CsvLines {
  public:
    explicit CsvLines(std::string_view text) : m_rest(text) {
        constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
        if (m_rest.starts_with(kByteOrderMark)) m_rest.remove_prefix(kByteOrderMark.size());
    }

    std::optional<std::string_view> next() {
        if (m_rest.empty()) return std::nullopt;
        ++m_number;
        const std::size_t end = m_rest.find('\n');
        const std::string_view line = trimmed(m_rest.substr(0, end));
        m_rest.remove_prefix(end == std::string_view::npos ? m_rest.size() : end + 1);
        return line;
    }
    [[nodiscard]] int number() const { return m_number; }  ///< of the line that came last, from 1

  private:
    std::string_view m_rest;
    int m_number = 0;
};

}  // namespace lpes::exporters
