#include "core/tasks/python_text.h"

#include <utf8proc.h>

#include "core/text/unicode.h"

namespace lpes::tasks {

Character firstCharacter(std::string_view text) {
    utf8proc_int32_t code = -1;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &code);
    if (size <= 0) return {kNoCharacter, 1};
    return {static_cast<char32_t>(code), static_cast<std::size_t>(size)};
}

std::size_t countCharacters(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); ++count) text.remove_prefix(firstCharacter(text).size);
    return count;
}

std::string lowerCase(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        constexpr char32_t kCapitalDottedI = 0x130, kFinalSigma = 0x3c2, kSigma = 0x3c3;
        const auto [code, size] = firstCharacter(text);
        if (code == kNoCharacter) {
            out += text.front();
        } else if (code == kCapitalDottedI) {
            out += "i\u0307";  // the one letter whose lower case takes two code points
        } else {
            const auto lower = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
            text::appendUtf8(out, lower == kFinalSigma ? kSigma : lower);
        }
        text.remove_prefix(size);
    }
    return out;
}

bool isSpace(char32_t c) {
    return (c >= 0x1c && c <= 0x1f) || text::isWhiteSpace(c);
}

bool isWordOfRe(char32_t c) {
    return c != kNoCharacter && (c == U'_' || text::isLetter(c) || text::isNumeric(c));
}

bool isDecimalDigit(char32_t c) {
    return c != kNoCharacter && utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}

char asciiDigit(char32_t decimal) {
    // Unicode keeps each script's ten digits together and in order, so that the distance to the first one tells.
    int above = 0;
    while (decimal > static_cast<char32_t>(above) && isDecimalDigit(decimal - static_cast<char32_t>(above) - 1))
        ++above;
    return static_cast<char>('0' + above % 10);
}

std::string_view strip(std::string_view text) {
    std::size_t begin = text.size(), end = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, size] = firstCharacter(text.substr(at));
        if (!isSpace(code)) {
            if (begin == text.size()) begin = at;
            end = at + size;
        }
        at += size;
    }
    return end == 0 ? std::string_view() : text.substr(begin, end - begin);
}

std::vector<std::string_view> splitWords(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t begin = 0;
    const auto endWord = [&](std::size_t at) {
        if (at > begin) words.push_back(text.substr(begin, at - begin));
    };
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, size] = firstCharacter(text.substr(at));
        if (isSpace(code)) {
            endWord(at);
            begin = at + size;
        }
        at += size;
    }
    endWord(text.size());
    return words;
}

std::string_view before(std::string_view text, std::string_view separator) {
    return text.substr(0, text.find(separator));
}

std::string replaceAll(std::string_view text, std::string_view what, std::string_view with) {
    std::string out;
    std::size_t at = 0;
    for (auto hit = text.find(what); hit != std::string_view::npos; hit = text.find(what, at)) {
        out += text.substr(at, hit - at);
        out += with;
        at = hit + what.size();
    }
    out += text.substr(at);
    return out;
}

bool containsIgnoringCase(std::string_view text, std::string_view part) {
    return lowerCase(text).find(lowerCase(part)) != std::string::npos;
}

}  // namespace lpes::tasks
