#include "core/tasks/text_units.h"

#include <utf8proc.h>

namespace lpes::tasks {

namespace {

bool continues(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// The character at the front of a text and its size; a byte that is no UTF-8 counts as a character of its own.
struct Character {
    utf8proc_int32_t code = -1;
    std::size_t size = 1;
};
Character firstCharacter(std::string_view text) {
    Character first;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &first.code);
    if (size > 0) first.size = static_cast<std::size_t>(size);
    return first;
}

bool isPythonSpace(utf8proc_int32_t code) {
    return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
           code == 0x205F || code == 0x3000;
}

}  // namespace

std::optional<std::size_t> byteOfCharacter(std::string_view text, std::int64_t index) {
    if (index < 0) return std::nullopt;
    std::size_t at = 0;
    for (; index > 0; --index) {
        if (at == text.size()) return std::nullopt;
        ++at;
        while (at < text.size() && continues(text[at])) ++at;
    }
    return at;
}

std::size_t characterStart(std::string_view text, std::size_t byte) {
    while (byte > 0 && byte < text.size() && continues(text[byte])) --byte;
    return byte;
}

std::size_t characterCount(std::string_view text) {
    std::size_t count = 0;
    for (const char byte : text) count += continues(byte) ? 0 : 1;
    return count;
}

bool isUtf8(std::string_view text) {
    while (!text.empty()) {
        const Character first = firstCharacter(text);
        if (first.code < 0) return false;
        text.remove_prefix(first.size);
    }
    return true;
}

std::string_view strippedAsPython(std::string_view text) {
    while (!text.empty()) {
        const Character first = firstCharacter(text);
        if (!isPythonSpace(first.code)) break;
        text.remove_prefix(first.size);
    }
    while (!text.empty()) {
        const std::size_t last = characterStart(text, text.size() - 1);
        if (!isPythonSpace(firstCharacter(text.substr(last)).code)) break;
        text.remove_suffix(text.size() - last);
    }
    return text;
}

std::string_view firstWordAsPython(std::string_view text) {
    text = strippedAsPython(text);
    std::size_t end = 0;
    while (end < text.size()) {
        const Character next = firstCharacter(text.substr(end));
        if (isPythonSpace(next.code)) break;
        end += next.size;
    }
    return text.substr(0, end);
}

std::size_t wordCountAsPython(std::string_view text) {
    std::size_t words = 0;
    bool inWord = false;
    while (!text.empty()) {
        const Character first = firstCharacter(text);
        const bool space = isPythonSpace(first.code);
        if (!space && !inWord) ++words;
        inWord = !space;
        text.remove_prefix(first.size);
    }
    return words;
}

}  // namespace lpes::tasks
