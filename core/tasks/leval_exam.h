#pragma once

#include <string>
#include <string_view>

namespace lpes::tasks {

// L-Eval's closed tasks (OpenLMLab/LEval, Evaluation/auto_eval.py, which prepares answers task by task, and em.py,
// which compares them). Whatever is odd here is odd there, and published figures contain it.

/// em.py, exact_match_score. A reference of nothing but A–D, apart from punctuation: 1 if the answer is the same, 0.25
/// if its characters are a subset (an empty answer's are), else 0. Any other reference: 1 if both are numbers and equal
/// (0 if both are and differ), or if the reference occurs in the answer's first line of more than one character, case
/// and spaces aside.
[[nodiscard]] double levalExactMatch(std::string_view reference, std::string_view generated);

/// quality and tpo: the first A–D anywhere in the answer (in "According to … B" the A), "A" where there is none,
/// against the letters of the reference's first word ("(B) Their subconscious …").
[[nodiscard]] double levalOneLetter(std::string_view reference, std::string_view generated);
/// coursera: the letters that the answer begins with ("BC"); unless they are two or more, with those before white
/// space, a full stop or a parenthesis ahead of the word "Question"; "A" where there is none.
[[nodiscard]] double levalSomeLetters(std::string_view reference, std::string_view generated);
/// gsm100: the whole number behind "The answer is", else of the last word with a digit ahead of the first blank line.
[[nodiscard]] double levalMath(std::string_view reference, std::string_view generated);
/// codeU: the last words (three more than the reference has), or those behind "the final output"; words of explanation,
/// quotes, commas and ".0" deleted.
[[nodiscard]] double levalCode(std::string_view reference, std::string_view generated);
/// sci_fi: "loyalty [fact: fact]"; the mean over the parts that the reference has of whether the first word with "true"
/// or "false" in the answer's part is the reference's.
[[nodiscard]] double levalJudgement(std::string_view reference, std::string_view generated);

}  // namespace lpes::tasks
