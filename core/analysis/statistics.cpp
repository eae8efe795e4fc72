#include "core/analysis/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/random.h"

namespace lpes::analysis {

namespace {

constexpr double kConfidence = 0.95;
constexpr double kRounding = 1e-12;  // of means of scores and of nats, which are of the order of 1
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Linear interpolation between order statistics (Hyndman and Fan, type 7), the same as numpy's default.
double quantileOfSorted(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Draws `count` of `count` with replacement, `resamples` times: `take` gets each index that is drawn, `finish` ends a
/// resample. Resample after resample, each index from RandomStream::below: this order is stored behaviour, because p
/// values are compared between machines.
template <class Take, class Finish>
void resample(std::size_t count, std::uint64_t seed, int resamples, Take take, Finish finish) {
    RandomStream random(seed, kStreamBootstrap);
    for (int done = 0; done < resamples; ++done) {
        for (std::size_t i = 0; i < count; ++i) take(random.below(count));
        finish();
    }
}

/// Means of `resamples` draws with replacement, ascending.
std::vector<double> resampledMeans(std::span<const double> values, std::uint64_t seed, int resamples) {
    std::vector<double> means;
    double sum = 0.0;
    resample(
        values.size(), seed, resamples, [&](std::size_t drawn) { sum += values[drawn]; },
        [&] {
            means.push_back(sum / static_cast<double>(values.size()));
            sum = 0.0;
        });
    std::sort(means.begin(), means.end());
    return means;
}

Interval percentileInterval(const std::vector<double>& sortedMeans) {
    constexpr double kTail = (1.0 - kConfidence) / 2.0;
    return {quantileOfSorted(sortedMeans, kTail), quantileOfSorted(sortedMeans, 1.0 - kTail)};
}

bool allFinite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// Finite values that only rounding tells apart.
bool allEqual(std::span<const double> values) {
    const auto [low, high] = std::ranges::minmax(values);
    return high - low <= kRounding * std::max({1.0, std::abs(low), std::abs(high)});
}

}  // namespace

double mean(std::span<const double> values) {
    if (values.empty()) return 0.0;
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

Interval wilsonInterval(std::int64_t successes, std::int64_t n, double confidence) {
    if (n <= 0 || !(confidence < 1.0)) return {0.0, 1.0};
    const double count = static_cast<double>(n);
    const double share = std::clamp(static_cast<double>(successes) / count, 0.0, 1.0);
    if (!(confidence > 0.0)) return {share, share};
    const double z = boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2.0);
    const double denominator = 1.0 + z * z / count;
    const double centre = (share + z * z / (2.0 * count)) / denominator;
    const double half = z / denominator * std::sqrt(share * (1.0 - share) / count + z * z / (4.0 * count * count));
    // At 0 and n the formula gives the ends exactly, but not in floating point.
    return {successes <= 0 ? 0.0 : std::max(0.0, centre - half), successes >= n ? 1.0 : std::min(1.0, centre + half)};
}

PairedBootstrap pairedBootstrap(std::span<const double> a, std::span<const double> b, std::uint64_t seed,
                                int resamples) {
    PairedBootstrap result;
    const std::size_t items = std::min(a.size(), b.size());
    std::vector<double> differences(items);
    for (std::size_t i = 0; i < items; ++i) differences[i] = b[i] - a[i];
    result.meanDifference = mean(differences);
    // Comparisons with NaN are all false, which would read as the smallest p there is.
    if (items < 2 || resamples < 1 || !allFinite(differences)) return result;
    const std::vector<double> means = resampledMeans(differences, seed, resamples);
    if (!allEqual(differences)) result.interval = percentileInterval(means);
    const auto notAbove = std::upper_bound(means.begin(), means.end(), 0.0) - means.begin();
    const auto notBelow = means.end() - std::lower_bound(means.begin(), means.end(), 0.0);
    const double fewer = static_cast<double>(std::min(notAbove, notBelow));
    result.pValue = std::min(1.0, 2.0 * (fewer + 1.0) / (static_cast<double>(resamples) + 1.0));
    return result;
}

Interval bootstrapMeanInterval(std::span<const double> values, std::uint64_t seed, int resamples) {
    if (!allFinite(values)) return {kNaN, kNaN};
    if (values.size() < 2 || resamples < 1) {
        const double only = mean(values);
        return {only, only};
    }
    return percentileInterval(resampledMeans(values, seed, resamples));
}

Interval boundedMeanInterval(std::span<const double> values, std::uint64_t seed, Interval range) {
    if (values.empty()) return range;
    if (!allFinite(values)) return {kNaN, kNaN};
    const double met = std::pow(1.0 - kConfidence, 1.0 / static_cast<double>(values.size()));
    const double value = met * mean(values);
    const Interval bound{value + (1.0 - met) * range.low, value + (1.0 - met) * range.high};
    if (allEqual(values)) return bound;
    const Interval drawn = bootstrapMeanInterval(values, seed);
    if (std::ssize(values) >= kFewestItems) return drawn;
    return {std::min(drawn.low, bound.low), std::max(drawn.high, bound.high)};
}

std::optional<ResampledRows> resampledRows(std::span<const std::vector<double>> rows, std::uint64_t seed,
                                           int resamples) {
    const bool finite = std::ranges::all_of(rows, [](const std::vector<double>& row) { return allFinite(row); });
    if (std::ssize(rows) < kFewestItems || !finite) return std::nullopt;
    ResampledRows resampled;
    resampled.columns = rows.front().size();
    std::vector<double> sums(resampled.columns);
    resample(
        rows.size(), seed, resamples,
        [&](std::size_t drawn) {
            for (std::size_t column = 0; column < sums.size(); ++column) sums[column] += rows[drawn][column];
        },
        [&] {
            for (double& sum : sums)
                resampled.means.push_back(std::exchange(sum, 0.0) / static_cast<double>(rows.size()));
        });
    return resampled;
}

std::optional<Interval> figureInterval(const ResampledRows& resampled,
                                       const std::function<double(std::span<const double>)>& figure, Interval range) {
    std::vector<double> figures, lowest;
    for (std::size_t at = 0; at < resampled.means.size(); at += resampled.columns) {
        const double value = figure(std::span(resampled.means).subspan(at, resampled.columns));
        if (std::isnan(value)) {
            lowest.push_back(range.low);
        } else {
            figures.push_back(value);
        }
    }
    if (figures.empty()) return std::nullopt;
    const bool spread = !allEqual(figures);
    std::ranges::sort(figures);
    const std::size_t undefined = lowest.size();
    lowest.insert(lowest.end(), figures.begin(), figures.end());
    figures.insert(figures.end(), undefined, range.high);
    const Interval interval{percentileInterval(lowest).low, percentileInterval(figures).high};
    return spread || interval.low < interval.high ? std::optional(interval) : std::nullopt;
}

std::optional<Interval> meanOfEstimatesInterval(std::span<const double> estimates,
                                                std::span<const Interval> intervals) {
    const std::size_t count = std::min(estimates.size(), intervals.size());
    if (count == 0) return std::nullopt;
    double below = 0.0, above = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        below += (estimates[i] - intervals[i].low) * (estimates[i] - intervals[i].low);
        above += (intervals[i].high - estimates[i]) * (intervals[i].high - estimates[i]);
    }
    const double centre = mean(estimates.first(count)), size = static_cast<double>(count);
    return Interval{centre - std::sqrt(below) / size, centre + std::sqrt(above) / size};
}

double mcnemarExact(std::int64_t onlyA, std::int64_t onlyB) {
    const std::int64_t discordant = onlyA + onlyB;
    if (onlyA < 0 || onlyB < 0 || discordant == 0) return 1.0;
    const boost::math::binomial fair(static_cast<double>(discordant), 0.5);
    return std::min(1.0, 2.0 * boost::math::cdf(fair, static_cast<double>(std::min(onlyA, onlyB))));
}

Interval pairedShareInterval(std::int64_t onlyA, std::int64_t onlyB, std::int64_t n) {
    if (n <= 0) return {-1.0, 1.0};
    const double count = static_cast<double>(n + 2);
    const double lost = static_cast<double>(onlyA + 1) / count, won = static_cast<double>(onlyB + 1) / count;
    const double z = boost::math::quantile(boost::math::normal(), 0.5 + kConfidence / 2.0);
    const double half = z * std::sqrt((lost + won - (won - lost) * (won - lost)) / count);
    return {std::max(-1.0, won - lost - half), std::min(1.0, won - lost + half)};
}

std::vector<double> holmAdjusted(std::span<const double> pValues) {
    std::vector<std::size_t> known;
    for (std::size_t i = 0; i < pValues.size(); ++i) {
        if (std::isfinite(pValues[i])) known.push_back(i);
    }
    std::ranges::stable_sort(known, {}, [&](std::size_t i) { return pValues[i]; });
    std::vector<double> adjusted(pValues.size(), kNaN);
    double largest = 0.0;
    for (std::size_t rank = 0; rank < known.size(); ++rank) {
        const double one = static_cast<double>(pValues.size() - rank) * pValues[known[rank]];
        largest = std::min(1.0, std::max(largest, one));
        adjusted[known[rank]] = largest;
    }
    return adjusted;
}

}  // namespace lpes::analysis
