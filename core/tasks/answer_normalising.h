#pragma once

#include <string>
#include <string_view>

namespace lpes::tasks {

/// Which library's \b stands around an article. They differ at combining marks and circled letters: only to `regex` is
/// "a" with an accent of its own one word.
enum class WordRule {
    Re,     ///< Python's `re`: ZeroSCROLLS, L-Eval
    Regex,  ///< the package `regex`: lost-in-the-middle
};

/// SQuAD's normalize_answer, in its order: lower case → the 32 ASCII punctuation characters are deleted → the words a,
/// an, the become a space → white space collapses to single spaces. Punctuation outside ASCII stays, and "Theo" is no
/// article. With `lower` false the first step is left out: L-Eval's exam tasks, where letters are choices.
[[nodiscard]] std::string normaliseAnswer(std::string_view text, WordRule words, bool lower = true);

}  // namespace lpes::tasks
