#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lpes::text {

/// A character of UTF-8 text that is known to be valid.
struct CodePoint {
    char32_t value = 0;
    std::size_t size = 0;  ///< bytes
};

/// Offset of the first byte that is not part of valid UTF-8 (overlong forms, surrogates and values beyond U+10FFFF are
/// not), or nothing.
[[nodiscard]] std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// The character at `at`. `text` is valid UTF-8 and `at` < size is the first byte of a character.
[[nodiscard]] CodePoint codePointAt(std::string_view text, std::size_t at);
/// The character that ends just before `end`. `text` is valid UTF-8, 0 < `end` ≤ size.
[[nodiscard]] CodePoint codePointBefore(std::string_view text, std::size_t end);
void appendUtf8(std::string& out, char32_t codePoint);

/// Unicode White_Space. PCRE2's \s also holds U+180E, which is not.
[[nodiscard]] bool isWhiteSpace(char32_t codePoint);
[[nodiscard]] bool isLetter(char32_t codePoint);  ///< general category L
/// General categories Nd, Nl, No: Rust's char::is_numeric, which is what the Digits step asks.
[[nodiscard]] bool isNumeric(char32_t codePoint);
/// ASCII punctuation and symbols, and general category P: what the Punctuation step asks.
[[nodiscard]] bool isPunctuation(char32_t codePoint);
/// \w of Rust's regex crate: Alphabetic, marks, Nd, Pc and the two joiners.
[[nodiscard]] bool isWordCharacter(char32_t codePoint);

}  // namespace lpes::text
