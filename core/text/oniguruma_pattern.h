#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace lpes::text {

/// A Split pattern of tokenizer.json, which the tokenizers library hands to Oniguruma (Ruby syntax), as a PCRE2 pattern
/// (UTF, UCP) with the same matches: \s becomes Unicode White_Space, \d becomes \p{Nd}, \uHHHH becomes \x{HHHH}.
/// Unsupported, with the piece named, for what the two engines read differently (\w, \b, ^, $, \h, set operations,
/// inline options, scripts, possessive intervals, …); BadInput for a pattern that ends in the middle of something.
[[nodiscard]] Result<std::string> pcre2FromOniguruma(std::string_view pattern);

/// A pattern that matches exactly this text.
[[nodiscard]] std::string pcre2Literal(std::string_view text);

}  // namespace lpes::text
