#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace lpes::analysis {

struct Interval {
    double low = 0.0, high = 0.0;
};

/// Fewer values have no 95 % interval of their median, whatever it is made of: even from the smallest to the largest of
/// five it is 1 − 2·0.5⁵ = 94 % (order statistics; W. R. Thompson, Annals of Mathematical Statistics 7, 1936).
inline constexpr std::size_t kFewestPairs = 6;

/// Fewer items get no verdict, no p value and no interval of a difference: a bootstrap over a handful of items finds
/// significance where there is none. Of two it is from the smaller to the larger, and excludes 0 as often as not.
inline constexpr std::int64_t kFewestItems = 10;

/// Wilson score interval of a proportion (E. B. Wilson, 1927); n = 0 gives [0, 1].
[[nodiscard]] Interval wilsonInterval(std::int64_t successes, std::int64_t n, double confidence = 0.95);

/// Two-sided paired bootstrap of mean(b) − mean(a) over items (methods.md §2): items are resampled with replacement
/// `resamples` times; p = 2·min(share of resampled means ≤ 0, share ≥ 0), each with one added to numerator and
/// denominator, at most 1. a and b have equal size.
struct PairedBootstrap {
    double meanDifference = 0.0;
    /// Percentile interval of the resampled differences, 95 %. None where all differences are equal (but for rounding):
    /// resampling then knows of no spread.
    std::optional<Interval> interval;
    std::optional<double> pValue;  ///< none for fewer than two items, or where a difference is not finite
};
[[nodiscard]] PairedBootstrap pairedBootstrap(std::span<const double> a, std::span<const double> b, std::uint64_t seed,
                                              int resamples = 10'000);

/// Percentile bootstrap interval of a mean, 95 %. A point where all values are equal.
[[nodiscard]] Interval bootstrapMeanInterval(std::span<const double> values, std::uint64_t seed,
                                             int resamples = 10'000);

/// 95 % interval of the mean of values that lie in `range`: a percentile bootstrap, and where all n values are the same
/// v, of which resampling would make a point, q·v + (1 − q)·[range.low, range.high] with q = 0.05^(1/n). For a value
/// that n of n draws have has at least the probability q, with 95 % confidence (the exact bound of C. J. Clopper and
/// E. S. Pearson, Biometrika 26, 1934), and what else there is may lie anywhere in the range. 1 − q ≈ 3/n is the "rule
/// of three" (J. A. Hanley and A. Lippman-Hand, JAMA 249, 1983). Fewer than kFewestItems unlike values: the hull of the
/// bootstrap and of that bound at their mean, because a bootstrap of so few is too narrow, and unlike values must not
/// seem surer than equal ones of the same mean. No values: the whole range; NaN where one is not finite.
[[nodiscard]] Interval boundedMeanInterval(std::span<const double> values, std::uint64_t seed,
                                           Interval range = {0.0, 1.0});

/// Means of the columns of rows (items) that are drawn whole, so that what belongs to an item moves together: what the
/// intervals of figures of these means are made of. Rows of equal size.
struct ResampledRows {
    std::size_t columns = 0;
    std::vector<double> means;  ///< [resamples][columns]
};
/// None below kFewestItems rows, and where a value is not finite.
[[nodiscard]] std::optional<ResampledRows> resampledRows(std::span<const std::vector<double>> rows, std::uint64_t seed,
                                                         int resamples = 10'000);

/// 95 % percentile interval of a figure of the columns' means. `figure` is NaN for means that have none: such a
/// resample may have any value of `range`, and counts as its low end for the lower end of the interval, as its high end
/// for the upper. None where all resamples that have one have the same and the others are too few to count, because
/// resampling then knows of no spread.
[[nodiscard]] std::optional<Interval> figureInterval(const ResampledRows& resampled,
                                                     const std::function<double(std::span<const double>)>& figure,
                                                     Interval range);

/// 95 % interval of the mean of independent estimates out of their own 95 % intervals: the estimates' mean less
/// √Σ(estimate − low)² / k, and more √Σ(high − estimate)² / k (recovery of variance estimates: G. Y. Zou, W. Huang and
/// X. Zhang, Computational Statistics & Data Analysis 53, 2009). As many intervals as estimates; none for no estimates.
[[nodiscard]] std::optional<Interval> meanOfEstimatesInterval(std::span<const double> estimates,
                                                              std::span<const Interval> intervals);

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
