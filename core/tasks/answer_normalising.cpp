#include "core/tasks/answer_normalising.h"

#include "core/tasks/python_text.h"
#include "core/text/unicode.h"

namespace lpes::tasks {

namespace {

std::string withoutAsciiPunctuation(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (static_cast<unsigned char>(c) >= 0x80 || !text::isPunctuation(static_cast<char32_t>(c))) out += c;
    }
    return out;
}

bool isWord(char32_t c, WordRule words) {
    if (words == WordRule::Re) return isWordOfRe(c);
    return c != kNoCharacter && text::isWordCharacter(c);  // `regex` and Rust's crate agree on \w (UTS 18)
}

/// re.sub(r"\b(a|an|the)\b", " ", text): both \b together make it a whole run of word characters.
std::string withoutArticles(std::string_view text, WordRule words) {
    std::string out;
    out.reserve(text.size());
    std::size_t begin = 0;  // of the run that is being read
    const auto endRun = [&](std::size_t at) {
        const std::string_view run = text.substr(begin, at - begin);
        out += run == "a" || run == "an" || run == "the" ? " " : run;
    };
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, size] = firstCharacter(text.substr(at));
        if (!isWord(code, words)) {
            endRun(at);
            out += text.substr(at, size);
            begin = at + size;
        }
        at += size;
    }
    endRun(text.size());
    return out;
}

}  // namespace

std::string normaliseAnswer(std::string_view text, WordRule words, bool lower) {
    const std::string letters =
        withoutArticles(withoutAsciiPunctuation(lower ? lowerCase(text) : std::string(text)), words);
    std::string out;
    out.reserve(letters.size());
    for (const std::string_view word : splitWords(letters)) {
        if (!out.empty()) out += ' ';
        out += word;
    }
    return out;
}

}  // namespace lpes::tasks
