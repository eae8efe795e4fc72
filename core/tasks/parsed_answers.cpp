#include "core/tasks/parsed_answers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tasks/python_number.h"
#include "core/tasks/python_text.h"

namespace lpes::tasks {

namespace {

/// re.search(r"\b[A-D]\b", text)
std::optional<char> firstChoiceLetter(std::string_view text) {
    std::size_t begin = 0;  // of the run of word characters that is being read
    const auto letterOf = [&](std::size_t end) -> std::optional<char> {
        if (end - begin == 1 && text[begin] >= 'A' && text[begin] <= 'D') return text[begin];
        return std::nullopt;
    };
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, size] = firstCharacter(text.substr(at));
        if (!isWordOfRe(code)) {
            if (const auto letter = letterOf(at)) return letter;
            begin = at + size;
        }
        at += size;
    }
    return letterOf(text.size());
}

/// The decimal digits that `text` begins with, as ASCII; takes them off.
std::string takeDigits(std::string_view& text) {
    std::string digits;
    while (!text.empty()) {
        const auto [code, size] = firstCharacter(text);
        if (!isDecimalDigit(code)) break;
        digits += asciiDigit(code);
        text.remove_prefix(size);
    }
    return digits;
}

/// The first match of \d+\.?\d*% without its sign.
std::optional<double> firstPercentage(std::string_view text) {
    while (!text.empty()) {
        std::string number = takeDigits(text);
        if (number.empty()) {
            text.remove_prefix(firstCharacter(text).size);
            continue;
        }
        std::string_view rest = text;
        if (rest.starts_with('.')) {
            rest.remove_prefix(1);
            number += '.' + takeDigits(rest);
        }
        if (rest.starts_with('%')) return pythonFloat(number);
    }
    return std::nullopt;
}

/// The numbers of a list as digits without leading zeros, for they may be of any length.
std::vector<std::string> listedNumbers(std::string_view text) {
    std::string kept;
    for (; !text.empty(); text.remove_prefix(firstCharacter(text).size)) {
        const char32_t code = firstCharacter(text).value;
        if (code >= U'0' && code <= U'9') kept += text.front();
        if (code == U',' || isSpace(code)) kept += ' ';
    }
    std::vector<std::string> numbers;
    for (std::string_view word : splitWords(kept)) {
        while (word.size() > 1 && word.front() == '0') word.remove_prefix(1);
        numbers.emplace_back(word);
    }
    return numbers;
}

}  // namespace

double choiceLetterScore(std::string_view reference, std::string_view generated) {
    const auto wanted = firstChoiceLetter(reference);
    return wanted && firstChoiceLetter(generated) == wanted ? 1.0 : 0.0;
}

double percentageSimilarity(std::string_view reference, std::string_view generated) {
    const auto wanted = firstPercentage(reference), given = firstPercentage(generated);
    if (!wanted || !given) return 0.0;
    if (*wanted == *given) return 1.0;
    constexpr double kHalving = 10.0;  // percentage points that halve the score
    return std::exp2(-std::abs(*wanted - *given) / kHalving);
}

double concordanceIndex(std::string_view reference, std::string_view generated) {
    const auto wanted = listedNumbers(reference), given = listedNumbers(generated);
    if (wanted.empty() || !std::is_permutation(wanted.begin(), wanted.end(), given.begin(), given.end())) return 0.0;
    std::map<std::string_view, std::size_t> placeOf;
    for (std::size_t i = 0; i < wanted.size(); ++i) placeOf.emplace(wanted[i], i);
    const std::size_t n = given.size();
    if (n == 1) return 1.0;
    std::size_t ordered = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) ordered += placeOf[given[i]] < placeOf[given[j]] ? 1 : 0;
    }
    return static_cast<double>(ordered) / (static_cast<double>(n) * static_cast<double>(n - 1) / 2.0);
}

}  // namespace lpes::tasks
