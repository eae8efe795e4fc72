#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace lpes::tasks {

/// A text with placeholders in braces, as Python's str.format has them: {question} is replaced, {{ and }} stand for
/// braces.
class PromptTemplate {
  public:
    /// The error is what is wrong with it: an unknown placeholder (names the known ones), a brace without its partner.
    [[nodiscard]] static tl::expected<PromptTemplate, std::string> parse(std::string_view text,
                                                                         std::span<const std::string_view> known);

    [[nodiscard]] int count(std::string_view placeholder) const;
    /// Calls `literal` with the text between placeholders and `fill` with their names, in order.
    void visit(const std::function<void(const std::string&)>& literal,
               const std::function<void(const std::string&)>& fill) const;

  private:
    struct Part {
        std::string text;
        bool placeholder = false;
    };
    std::vector<Part> m_parts;
};

}  // namespace lpes::tasks
