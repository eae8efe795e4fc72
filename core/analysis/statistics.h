#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lpes::analysis {

struct Interval {
    double low = 0.0, high = 0.0;
};

/// Wilson score interval of a proportion (E. B. Wilson, 1927); n = 0 gives [0, 1].
[[nodiscard]] Interval wilsonInterval(std::int64_t successes, std::int64_t n, double confidence = 0.95);

/// Two-sided paired bootstrap of mean(b) − mean(a) over items (methods.md §2): items are resampled with replacement
/// `resamples` times; p = 2·min(share of resampled means ≤ 0, share ≥ 0), each with one added to numerator and
/// denominator, at most 1. a and b have equal size; fewer than two items give p = 1.
struct PairedBootstrap {
    double meanDifference = 0.0;
    Interval interval;  ///< percentile interval of the resampled differences, 95 %
    double pValue = 1.0;
};
[[nodiscard]] PairedBootstrap pairedBootstrap(std::span<const double> a, std::span<const double> b, std::uint64_t seed,
                                              int resamples = 10'000);

/// Percentile bootstrap interval of a mean, 95 %.
[[nodiscard]] Interval bootstrapMeanInterval(std::span<const double> values, std::uint64_t seed,
                                             int resamples = 10'000);

/// Exact two-sided McNemar test: `onlyA` items right under A alone, `onlyB` under B alone (binomial, p ≤ 1).
[[nodiscard]] double mcnemarExact(std::int64_t onlyA, std::int64_t onlyB);

/// 95 % interval of (onlyB − onlyA)/n: the change of a share from A to B over the same n items, of which `onlyA` are
/// right under A alone and `onlyB` under B alone. Wald's interval with one more item of either kind (D. Bonett and R.
/// Price, 2012): where no item changes it still has the width that n items leave open, and a bootstrap over them none.
/// n ≤ 0 gives [−1, 1].
[[nodiscard]] Interval pairedShareInterval(std::int64_t onlyA, std::int64_t onlyB, std::int64_t n);

/// Holm's step-down adjustment of several tests' p values (S. Holm, 1979), in their order: the probability that any of
/// them is found by chance alone stays below the level that an adjusted value is held against. At most 1; NaN stays NaN
/// and counts as a test.
[[nodiscard]] std::vector<double> holmAdjusted(std::span<const double> pValues);

[[nodiscard]] double mean(std::span<const double> values);

}  // namespace lpes::analysis
