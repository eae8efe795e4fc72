#pragma once

#include <string>
#include <string_view>

namespace lpes::tasks {

/// The stem of a word in lower-case ASCII letters and digits: M. F. Porter, "An algorithm for suffix stripping" (1980),
/// with the changes of NLTK's default mode, which the package rouge_score uses. They are: a table of irregular words;
/// words of one or two letters stay; -ies and -ied keep an "ie" in words of four letters; y becomes i behind a
/// consonant alone; -bli for -abli; -alli before the rest of its step; -fulli and -logi; a vowel and a consonant alone
/// count as a short syllable. libstemmer's "porter" has Porter's own later changes only and stems 2 % of the words of
/// L-Eval's texts differently.
[[nodiscard]] std::string porterStem(std::string_view word);

}  // namespace lpes::tasks
