#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/analysis/statistics.h"

namespace lpes::analysis {

/// One prompt that was scored in two ways, each of which says right or wrong.
struct ScoredTwice {
    std::string itemId;
    bool one = false, other = false;
};

/// How often both ways say the same.
struct ScoringAgreement {
    std::int64_t prompts = 0;
    double equal = 0.0;           ///< share of the prompts
    Interval equalInterval;       ///< 95 %, boundedMeanInterval over items
    std::optional<double> kappa;  ///< none where one of the ways never differs
    /// 95 %: a bootstrap over items. The large-sample formula (J. L. Fleiss, J. Cohen and B. S. Everitt, Psychological
    /// Bulletin 72, 1969) takes every prompt for a draw of its own, which the positions of an item are not, and needs
    /// more prompts than a sample has. Resamples in which kappa is not defined may have any, −1 to 1. None below
    /// kFewestItems items, and where all resamples have the same kappa, as where both ways always agree: how far that
    /// may be chance says the interval of `equal`.
    std::optional<Interval> kappaInterval;
};

/// J. Cohen, Educational and Psychological Measurement 20, 1960: agreement beyond what two independent ways with these
/// rates would show. No prompts: nothing is equal, no kappa.
[[nodiscard]] ScoringAgreement scoringAgreement(std::span<const ScoredTwice> prompts, std::uint64_t seed);

}  // namespace lpes::analysis
