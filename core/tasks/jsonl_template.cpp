#include "core/tasks/jsonl_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lpes::tasks {

tl::expected<PromptTemplate, std::string> PromptTemplate::parse(std::string_view text,
                                                                std::span<const std::string_view> known) {
    PromptTemplate made;
    std::string literal;
    while (!text.empty()) {
        const char c = text.front();
        if (c != '{' && c != '}') {
            const std::string_view plain = text.substr(0, text.find_first_of("{}"));
            literal += plain;
            text.remove_prefix(plain.size());
            continue;
        }
        if (text.size() > 1 && text[1] == c) {
            literal += c;
            text.remove_prefix(2);
            continue;
        }
        const std::size_t end = c == '{' ? text.find('}') : std::string_view::npos;
        if (end == std::string_view::npos) {
            return tl::unexpected(
                fmt::format("has a '{}' without its partner; a brace of the text is written twice", c));
        }
        const std::string_view name = text.substr(1, end - 1);
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return tl::unexpected(
                fmt::format("has the unknown placeholder '{{{}}}'; there are {{{}}}, and a brace of the "
                            "text is written twice",
                            name, fmt::join(known, "}, {")));
        }
        if (!literal.empty()) made.m_parts.push_back({std::exchange(literal, {}), false});
        made.m_parts.push_back({std::string(name), true});
        text.remove_prefix(end + 1);
    }
    if (!literal.empty()) made.m_parts.push_back({std::move(literal), false});
    return made;
}

int PromptTemplate::count(std::string_view placeholder) const {
    return static_cast<int>(std::count_if(m_parts.begin(), m_parts.end(), [&](const Part& part) {
        return part.placeholder && part.text == placeholder;
    }));
}

void PromptTemplate::visit(const std::function<void(const std::string&)>& literal,
                           const std::function<void(const std::string&)>& fill) const {
    for (const Part& part : m_parts) (part.placeholder ? fill : literal)(part.text);
}

}  // namespace lpes::tasks
