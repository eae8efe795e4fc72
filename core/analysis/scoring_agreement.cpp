#include "core/analysis/scoring_agreement.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

namespace lpes::analysis {

namespace {

/// How many prompts are right in neither way, in the other one alone, in the one alone, in both.
using Counts = std::array<double, 4>;

double kappaOf(std::span<const double> counts) {
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    const double one = (counts[2] + counts[3]) / all, other = (counts[1] + counts[3]) / all;
    const double chance = one * other + (1.0 - one) * (1.0 - other);
    if (!(chance < 1.0)) return std::numeric_limits<double>::quiet_NaN();
    return ((counts[0] + counts[3]) / all - chance) / (1.0 - chance);
}

}  // namespace

ScoringAgreement scoringAgreement(std::span<const ScoredTwice> prompts, std::uint64_t seed) {
    ScoringAgreement result;
    result.prompts = std::ssize(prompts);
    if (prompts.empty()) return result;
    Counts all{};
    std::map<std::string_view, Counts> items;
    for (const ScoredTwice& prompt : prompts) {
        const std::size_t cell = (prompt.one ? 2u : 0u) + (prompt.other ? 1u : 0u);
        ++all[cell];
        ++items[prompt.itemId][cell];
    }
    std::vector<std::vector<double>> rows;
    std::vector<double> equal;
    for (const auto& [id, counts] : items) {
        rows.emplace_back(counts.begin(), counts.end());
        equal.push_back((counts[0] + counts[3]) / (counts[0] + counts[1] + counts[2] + counts[3]));
    }
    result.equal = (all[0] + all[3]) / static_cast<double>(prompts.size());
    result.equalInterval = boundedMeanInterval(equal, seed);
    const double kappa = kappaOf(all);
    if (std::isnan(kappa)) return result;
    result.kappa = kappa;
    if (const auto resampled = resampledRows(rows, seed))
        result.kappaInterval = figureInterval(*resampled, kappaOf, {-1.0, 1.0});
    return result;
}

}  // namespace lpes::analysis
