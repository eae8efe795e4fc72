#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lpes::tasks {

/// F-measures of ROUGE (C.-Y. Lin, 2004), each 0 … 1, as google-research's package rouge_score computes them.
struct Rouge {
    double rouge1 = 0.0, rouge2 = 0.0;  ///< words, pairs of neighbouring words
    double rougeL = 0.0;                ///< longest common subsequence; line breaks mean nothing

    /// (R1·R2·RL)^(1/3). The official scripts take it once, of a task's three means; of one answer it is what this
    /// program needs to compare answers, and its mean over a task is at most the official figure (Hölder).
    [[nodiscard]] double geometricMean() const;
};

/// Words are runs of a–z and 0–9 in the lower-cased text; with `stem` those of more than three letters are stemmed
/// (porter_stemmer.h). ROUGE-L takes time in proportion to the product of the lengths, memory to their sum.
[[nodiscard]] Rouge rouge(std::string_view reference, std::string_view generated, bool stem);

/// How many words the text has.
[[nodiscard]] std::size_t rougeWords(std::string_view text);

/// Each of the three at its maximum over the references (methods.md §3.2).
[[nodiscard]] Rouge bestRouge(std::span<const std::string> references, std::string_view generated, bool stem);

}  // namespace lpes::tasks
