#pragma once

#include <string>
#include <string_view>

namespace lpes::tasks {

/// Text in ASCII, character by character, by the table of the Python package Unidecode 1.4.0, which ZeroSCROLLS' F1
/// uses: "é" → "e", "–" → "-", "北" → "Bei " (with the space: it divides words). What the table does not have falls
/// away, and so do bytes that are not UTF-8. The table itself is compiled in because nothing else agrees with it: ICU's
/// "Any-Latin; Latin-ASCII" differs on a quarter of the non-ASCII characters in L-Eval and NaturalQuestions ("—" → "-",
/// where Unidecode has "--"; symbols; every Semitic, Indic and Han text), decomposition without marks on three quarters
/// (already at typographic quotes).
[[nodiscard]] std::string toAscii(std::string_view text);

}  // namespace lpes::tasks
