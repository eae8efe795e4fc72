#include "core/tasks/transliteration.h"

#include <charconv>
#include <unordered_map>
#include <vector>

#include "core/tasks/python_text.h"

namespace lpes::resources {
extern const std::string_view unidecodeTable;
}

namespace lpes::tasks {

namespace {

constexpr char32_t kBlock = 256;  // characters in a line of the table

using Table = std::unordered_map<char32_t, std::vector<std::string_view>>;

/// Takes what stands before the next `end` off `text`.
std::string_view take(std::string_view& text, char end) {
    const std::string_view piece = text.substr(0, text.find(end));
    text.remove_prefix(std::min(piece.size() + 1, text.size()));
    return piece;
}

/// A line is the block's number in hexadecimal and its replacements, separated by tabs; lines with # are remarks.
Table readTable(std::string_view text) {
    Table table;
    while (!text.empty()) {
        std::string_view line = take(text, '\n');
        if (line.starts_with('#')) continue;
        const std::string_view number = take(line, '\t');
        unsigned block = 0;
        std::from_chars(number.data(), number.data() + number.size(), block, 16);
        auto& replacements = table[block];
        while (!line.empty()) replacements.push_back(take(line, '\t'));
    }
    return table;
}

std::string_view replacement(char32_t c) {
    static const Table kTable = readTable(resources::unidecodeTable);
    const auto block = kTable.find(c / kBlock);
    if (block == kTable.end() || block->second.size() <= c % kBlock) return {};
    return block->second[c % kBlock];
}

}  // namespace

std::string toAscii(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto [code, size] = firstCharacter(text);
        if (code < 0x80) {
            out += text.front();
        } else if (code == 0x2028 || code == 0x2029) {
            out.append(code - 0x2027, '\n');  // line and paragraph separator: not in the table, which is read by lines
        } else {
            out += replacement(code);
        }
        text.remove_prefix(size);
    }
    return out;
}

}  // namespace lpes::tasks
