#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Private to core/studies: how the pieces of a report are written in HTML.
namespace lpes::studies {

/// Style sheet of a report: light and dark, no outside reference.
extern const std::string_view kReportStyle;

[[nodiscard]] std::string escapeHtml(const std::string& text);

/// A number of an object in fmt's format; "–" where there is none.
[[nodiscard]] std::string numberIn(const nlohmann::json& object, const char* key, const char* format);
/// A text of an object, other values as JSON; "–" where there is none.
[[nodiscard]] std::string textIn(const nlohmann::json& object, const char* key);
/// The member, or null: a stored result may be damaged or another version's.
[[nodiscard]] nlohmann::json memberOf(const nlohmann::json& object, const char* key);
/// The member where it is an array, else an empty one.
[[nodiscard]] nlohmann::json listIn(const nlohmann::json& object, const char* key);

/// A table whose first column and the columns of `words` are set left. Cells are HTML. Empty without rows.
class HtmlTable {
  public:
    HtmlTable(std::vector<std::string> header, std::vector<std::size_t> words = {})
        : m_header(std::move(header)), m_words(std::move(words)) {}
    void add(std::vector<std::string> cells) { m_rows.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return m_rows.empty(); }
    /// "<h2>title</h2>" and the table; without rows nothing.
    [[nodiscard]] std::string html(const std::string& title = {}) const;

  private:
    [[nodiscard]] std::string row(const std::vector<std::string>& cells, const char* tag) const;

    std::vector<std::string> m_header;
    std::vector<std::size_t> m_words;
    std::vector<std::vector<std::string>> m_rows;
};

}  // namespace lpes::studies
