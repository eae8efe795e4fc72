#pragma once

#include <string>
#include <string_view>

namespace lpes::text {

/// Characters that Unicode 15 to 16 added: the PCRE2 of Debian 12 knows Unicode 14 and takes them for unassigned.
[[nodiscard]] bool isNewLetter(char32_t codePoint);
[[nodiscard]] bool isNewMark(char32_t codePoint);
[[nodiscard]] bool isNewNumber(char32_t codePoint);

/// True when the text (valid UTF-8) holds one of those letters, marks, numbers, punctuation marks or symbols.
[[nodiscard]] bool holdsNewCharacters(std::string_view text);

/// A PCRE2 pattern whose \p{L}, \p{Lu}, \p{M}, … match them too. Slower.
[[nodiscard]] std::string withNewCharacters(std::string_view pattern);

}  // namespace lpes::text
