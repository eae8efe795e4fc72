#include "core/analysis/profile_spread.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/position_bias.h"
#include "core/analysis/statistics.h"

namespace lpes::analysis {

namespace {

std::optional<double> correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const double meanA = mean(a), meanB = mean(b);
    double ab = 0.0, aa = 0.0, bb = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += (a[i] - meanA) * (b[i] - meanB);
        aa += (a[i] - meanA) * (a[i] - meanA);
        bb += (b[i] - meanB) * (b[i] - meanB);
    }
    // Scales are multiples of a grid step; what is smaller than this is the rounding of a constant's mean.
    constexpr double kConstant = 1e-18;
    if (aa < kConstant || bb < kConstant) return std::nullopt;
    return ab / std::sqrt(aa * bb);
}

double absDifference(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return a.empty() ? 0.0 : sum / static_cast<double>(a.size());
}

}  // namespace

ProfileSpread profileSpread(std::span<const std::vector<double>> profiles) {
    ProfileSpread spread;
    if (profiles.empty()) return spread;
    for (std::size_t i = 0; i < profiles.front().size(); ++i) {
        std::vector<double> values;
        for (const std::vector<double>& profile : profiles) values.push_back(profile[i]);
        const auto [low, high] = std::ranges::minmax(values);
        spread.mean.push_back(mean(values));
        spread.low.push_back(low);
        spread.high.push_back(high);
        spread.stddev.push_back(runNoise(values).standardDeviation);
    }
    std::vector<double> differences, correlations;
    for (std::size_t a = 0; a < profiles.size(); ++a) {
        for (std::size_t b = a + 1; b < profiles.size(); ++b) {
            differences.push_back(absDifference(profiles[a], profiles[b]));
            if (const auto one = correlation(profiles[a], profiles[b])) correlations.push_back(*one);
        }
    }
    if (!differences.empty()) spread.meanAbsDifference = mean(differences);
    if (!correlations.empty()) spread.meanCorrelation = mean(correlations);
    return spread;
}

}  // namespace lpes::analysis
