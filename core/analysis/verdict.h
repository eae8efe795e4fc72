#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/analysis/statistics.h"

namespace lpes::analysis {

inline constexpr double kSignificance = 0.05;

/// With the typographic minus sign, which a value that is rounded to 0 has not.
[[nodiscard]] std::string signedNumber(double value, int decimals);

/// `reference` in the words of the sentence. "Better than the baseline: answer NLL 1.585 against 1.823 nats (difference
/// −0.238, 95 % −0.310 to −0.170, p = 0.0002, paired bootstrap over 40 items)". `pValue` decides: the test's own, or
/// one that was adjusted for `tests` of them, which the sentence then says. Fewer than kFewestItems items or a value
/// that is not finite: "No verdict: …" with the reason.
[[nodiscard]] std::string verdictSentence(const PairedBootstrap& nll, std::optional<double> pValue, double baselineMean,
                                          double otherMean, std::int64_t items,
                                          std::string_view reference = "the baseline", std::size_t tests = 1);

}  // namespace lpes::analysis
