#include "core/analysis/friedman.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cstddef>

namespace lpes::analysis {

namespace {

/// Ranks from 1, the mean of their places for equal values.
std::vector<double> midRanks(const std::vector<double>& values) {
    std::vector<double> ranks;
    for (const double value : values) {
        const auto below = std::ranges::count_if(values, [value](double other) { return other < value; });
        const auto equal = std::ranges::count(values, value);
        ranks.push_back(static_cast<double>(below) + (static_cast<double>(equal) + 1.0) / 2.0);
    }
    return ranks;
}

}  // namespace

Friedman friedman(std::span<const std::vector<double>> scores) {
    Friedman result;
    const std::size_t conditions = scores.empty() ? 0 : scores.front().size();
    if (conditions < 2) return result;
    result.degreesOfFreedom = static_cast<int>(conditions) - 1;
    const double centre = (static_cast<double>(conditions) + 1.0) / 2.0;
    std::vector<double> sums(conditions, 0.0);  // of ranks less their mean
    double squares = 0.0;
    for (const std::vector<double>& item : scores) {
        const std::vector<double> ranks = midRanks(item);
        for (std::size_t j = 0; j < conditions; ++j) {
            const double rank = ranks[j] - centre;
            sums[j] += rank;
            squares += rank * rank;
        }
    }
    if (!(squares > 0.0)) return result;
    double between = 0.0;
    for (const double sum : sums) between += sum * sum;
    result.chiSquared = result.degreesOfFreedom * between / squares;
    const boost::math::chi_squared distribution(result.degreesOfFreedom);
    result.pValue = boost::math::cdf(boost::math::complement(distribution, result.chiSquared));
    return result;
}

}  // namespace lpes::analysis
