#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lpes::tasks {

// Text as Python's str sees it: the benchmarks' own scorers are Python, and their results hang on what it takes for
// white space, a word and a lower-case letter. Everything here takes any bytes.

/// A character of the text, or a byte that is not part of valid UTF-8: then kNoCharacter, which is in no class.
struct Character {
    char32_t value = 0;
    std::size_t size = 0;  ///< bytes
};
inline constexpr char32_t kNoCharacter = 0xffffffff;

/// The character that `text` begins with; `text` is not empty.
[[nodiscard]] Character firstCharacter(std::string_view text);
[[nodiscard]] std::size_t countCharacters(std::string_view text);  ///< len(text); a stray byte counts as one

/// str.lower, code point by code point. A final sigma counts as any other sigma, so that a text is found whatever
/// follows it: the one difference from Python, which writes ς at the end of a word. Stray bytes stay as they are.
[[nodiscard]] std::string lowerCase(std::string_view text);

[[nodiscard]] bool isSpace(char32_t c);           ///< str.isspace, \s: Unicode's white space and U+001C … U+001F
[[nodiscard]] bool isWordOfRe(char32_t c);        ///< \w of Python's `re`: letters, numbers, underscore
[[nodiscard]] bool isDecimalDigit(char32_t c);    ///< \d: general category Nd
[[nodiscard]] char asciiDigit(char32_t decimal);  ///< '0' … '9' of a decimal digit in any script

[[nodiscard]] std::string_view strip(std::string_view text);                               ///< str.strip()
[[nodiscard]] std::vector<std::string_view> splitWords(std::string_view text);             ///< str.split()
[[nodiscard]] std::string_view before(std::string_view text, std::string_view separator);  ///< text.split(separator)[0]
/// str.replace(what, with); `what` is not empty.
[[nodiscard]] std::string replaceAll(std::string_view text, std::string_view what, std::string_view with);
/// part.lower() in text.lower()
[[nodiscard]] bool containsIgnoringCase(std::string_view text, std::string_view part);

}  // namespace lpes::tasks
