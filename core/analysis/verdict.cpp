#include "core/analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace lpes::analysis {

std::string signedNumber(double value, int decimals) {
    std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
    const bool isZero = text.find_first_not_of("0.") == std::string::npos;
    return (value < 0.0 && !isZero ? "\u2212" : "") + text;
}

std::string verdictSentence(const PairedBootstrap& nll, std::optional<double> pValue, double baselineMean,
                            double otherMean, std::int64_t items, std::string_view reference, std::size_t tests) {
    if (items < kFewestItems) {
        return fmt::format("No verdict: too few items, {} scored by both sides at every position where {} are needed",
                           items, kFewestItems);
    }
    if (!std::isfinite(nll.meanDifference) || !pValue) {
        return fmt::format("No verdict: an answer NLL is not a finite number (means {} and {})", otherMean,
                           baselineMean);
    }
    std::string_view outcome = "No significant difference from";
    if (*pValue < kSignificance) outcome = nll.meanDifference < 0.0 ? "Better than" : "Worse than";
    const Interval interval = nll.interval.value_or(Interval{nll.meanDifference, nll.meanDifference});
    // A small effect must not read as "0.000".
    const double largest = std::max({std::abs(nll.meanDifference), std::abs(interval.low), std::abs(interval.high)});
    const int decimals = largest > 0.0 && largest < 0.005 ? 6 : 3;
    const std::string spread = nll.interval ? fmt::format("95 % {} to {}", signedNumber(interval.low, decimals),
                                                          signedNumber(interval.high, decimals))
                                            : std::string("the same for every item");
    return fmt::format(
        "{} {}: answer NLL {} against {} nats (difference {}, {}, p = {:.3g}{}, paired bootstrap over {} items)",
        outcome, reference, signedNumber(otherMean, decimals), signedNumber(baselineMean, decimals),
        signedNumber(nll.meanDifference, decimals), spread, *pValue,
        tests > 1 ? fmt::format(" by Holm over {} tests", tests) : "", items);
}

}  // namespace lpes::analysis
