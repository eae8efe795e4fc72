#include "core/search/racing.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <numeric>

namespace lpes::search {
namespace {

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// P(T ≥ t) of the paired differences a − b under "b is no worse than a".
RaceVerdict paired(const std::vector<double>& a, const std::vector<double>& b) {
    const double difference = mean(a) - mean(b), error = standardErrorOfDifference(a, b);
    if (!(error > 0.0)) return {difference, difference > 0.0 ? 0.0 : 1.0};
    const boost::math::students_t distribution(static_cast<double>(a.size()) - 1.0);
    return {difference, boost::math::cdf(boost::math::complement(distribution, difference / error))};
}

}  // namespace

double standardErrorOfDifference(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    if (n < 2.0) return 0.0;
    const double difference = mean(a) - mean(b);
    double squares = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(a[i] - b[i] - difference, 2.0);
    return std::sqrt(squares / (n - 1.0) / n);
}

std::vector<std::optional<RaceVerdict>> fallenBehind(std::span<const std::vector<double>> runners,
                                                     std::span<const std::vector<double>> others, std::size_t kept,
                                                     double alpha) {
    std::vector<std::optional<RaceVerdict>> verdicts(runners.size());
    std::vector<const std::vector<double>*> all;
    for (const auto& scores : others) all.push_back(&scores);
    for (const auto& scores : runners) all.push_back(&scores);
    if (all.size() <= kept) return verdicts;
    // Stable, so that equal means leave the older candidate in front whatever the order of completion.
    std::ranges::stable_sort(all, std::greater(), [](const std::vector<double>* scores) { return mean(*scores); });
    const std::vector<double>& toBeat = *all[kept - 1];
    for (std::size_t i = 0; i < runners.size(); ++i) {
        const RaceVerdict verdict = paired(toBeat, runners[i]);
        if (verdict.behind > 0.0 && verdict.pValue < alpha) verdicts[i] = verdict;
    }
    return verdicts;
}

std::vector<int> looks(int items) {
    std::vector<int> at;
    for (const int part : {4, 2}) {
        const int count = std::max((items + part - 1) / part, kFewestItems);
        if (count < items && (at.empty() || count > at.back())) at.push_back(count);
    }
    return at;
}

}  // namespace lpes::search
