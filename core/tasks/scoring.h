#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// How a generated answer is scored (methods.md §3). Each gives 0 … 1, and the best over the references unless it says
/// otherwise.
enum class Metric {
    Contains,           ///< KV retrieval: the reference occurs in the answer, both lower-cased
    BestSubspan,        ///< MDQA: best_subspan_em on the first line (methods.md §3.1)
    ContainsAll,        ///< RULER's string_match_all: share of the references that occur, both lower-cased
    RougeGeometric,     ///< ZeroSCROLLS: (R1·R2·RL)^(1/3), with stemmer; each ROUGE its maximum over references
    RougeGeometricRaw,  ///< L-Eval: the same without stemmer
    F1,                 ///< ZeroSCROLLS: SQuAD's F1 over words, made ASCII once normalised (token_f1.h)
    F1LEval,            ///< L-Eval's F1: SQuAD's, nothing made ASCII
    ChoiceLetter,       ///< QuALITY in ZeroSCROLLS: the first A–D between word boundaries
    ExpSimilarity,      ///< SpaceDigest: 2^(−10·|p − p̂|)
    Concordance,        ///< BookSumSort: correctly ordered pairs / C(n,2), 0 if no permutation
    ExamLEval,          ///< L-Eval's exact match of the answer as it is (leval_exam.h): topic retrieval
    ExamOneLetter,      ///< … of the first letter in it: quality, tpo
    ExamSomeLetters,    ///< … of its letters, 0.25 for a part of the right ones: coursera
    ExamMath,           ///< … of its last number: gsm100
    ExamCode,           ///< … of its last words: codeU
    ExamJudgement,      ///< … of its true or false, for loyalty and for fact: sci_fi
    Likeliest,          ///< MMLU, C-Eval: the likeliest of the choices; never of a generated text
};

struct ScoringRule {
    Metric metric = Metric::Contains;
    int maxNewTokens = 100;  ///< greedy tokens of an answer at most, the benchmark's own number
    bool binary = true;      ///< 0 or 1 for every answer: proportions, with Wilson's interval
};

/// "contains", "best_subspan_em", "rouge_gm", …: as files and records spell it.
[[nodiscard]] std::string_view metricName(Metric metric);
[[nodiscard]] Result<Metric> parseMetric(const std::string& name);  ///< Usage, with the names that there are
/// True where every score is 0 or 1.
[[nodiscard]] bool isBinary(Metric metric);

/// Why one of the references measures nothing under a metric, as the predicate of a sentence ("does not score by
/// 'f1': …"): no answer scores against it, or each does, also an empty one. Empty where it measures something.
/// Metric::Likeliest has no reference to find fault with.
[[nodiscard]] std::string referenceFault(Metric metric, std::span<const std::string> references, std::size_t index);

/// 0 … 1. `references` must not be empty. An answer or a reference that is not UTF-8 is scored byte by byte where the
/// metric looks at characters. Metric::Likeliest gives 0: it needs likelihoods.
[[nodiscard]] double scoreAnswer(Metric metric, std::span<const std::string> references, std::string_view generated);

}  // namespace lpes::tasks
