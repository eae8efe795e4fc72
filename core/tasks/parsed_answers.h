#pragma once

#include <string_view>

namespace lpes::tasks {

// ZeroSCROLLS' metrics that read one thing out of an answer (tau/zero_scrolls, metrics/: accuracy, exp_similarity,
// concordance_index). Each gives 0 when the answer, or the reference, holds no such thing.

/// 1 if the first letter A–D that stands between word boundaries is the reference's.
[[nodiscard]] double choiceLetterScore(std::string_view reference, std::string_view generated);

/// 2^(−|p − q| / 10) with p and q the first percentages, in percent ("about 62.5% of them").
[[nodiscard]] double percentageSimilarity(std::string_view reference, std::string_view generated);

/// Both are lists of numbers; everything but ASCII digits, commas and white space is deleted first ("1.2" is 12). If
/// the answer's is an order of the reference's numbers, the share of pairs that stand in the reference's order, and 1
/// for a list of one; else 0.
[[nodiscard]] double concordanceIndex(std::string_view reference, std::string_view generated);

}  // namespace lpes::tasks
