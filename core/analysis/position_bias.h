#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/analysis/position_accuracy.h"

namespace lpes::analysis {

// How strongly results hang on where the evidence stands (methods.md §4). Scores are in the order of the positions.

/// Position sensitivity index, 1 − min/max (Zeng et al., 2025): 0 for none, 1 where some position scores nothing.
/// Nothing unless all scores are finite and at least 0 and one is above 0. Read it with the mean: low scores everywhere
/// give a low index too.
[[nodiscard]] std::optional<double> positionSensitivityIndex(std::span<const double> scores);

/// (first + last)/2 − mean of those between, our own index: above 0 where the middle is lost. Nothing below three.
[[nodiscard]] std::optional<double> uShapeIndex(std::span<const double> scores);

/// c of the least-squares parabola a + b·x + c·x², x = 2p − 1 for relative positions p of 0 … 1 in any order: above 0
/// where the middle is lost. Nothing unless there are as many scores as positions and three positions differ.
[[nodiscard]] std::optional<double> quadraticCurvature(std::span<const double> positions,
                                                       std::span<const double> scores);

/// What repeated runs of one measurement differ by.
struct RunNoise {
    std::int64_t runs = 0;
    double mean = 0.0;
    double standardDeviation = 0.0;  ///< of one run, with n − 1; 0 below two runs
    double range = 0.0;              ///< largest − smallest
};
[[nodiscard]] RunNoise runNoise(std::span<const double> accuracies);

struct PositionBias {
    std::int64_t items = 0;  ///< complete at every position; the rest is left out
    double gap = 0.0;        ///< largest − smallest mean score over positions
    std::optional<double> sensitivityIndex, uShape, curvature;
    /// 95 %, none below kFewestItems items: a bootstrap over items, all positions of an item together; where it finds
    /// no spread the exact bound of boundedMeanInterval. Resamples' gaps and indices lie above the true ones, because
    /// noise alone drives the largest and the smallest mean apart. Their intervals therefore reach down to 0 unless the
    /// test finds a bias, and never leave out the figure itself. A resample where nothing is right has no index and may
    /// have any, 0 to 1 (figureInterval).
    std::optional<Interval> gapInterval, sensitivityInterval, uShapeInterval, curvatureInterval;
    std::string test;              ///< "Cochran's Q" where every score is 0 or 1, else "Friedman's χ²"
    double statistic = 0.0;        ///< of that test over positions, on the same items
    std::optional<double> pValue;  ///< none below 10 items
    bool exact = false;            ///< the p value counts every deal (cochran_q.h)
    bool found = false;            ///< p < 0.05, on at least 10 items
    std::string verdict;  ///< one sentence in words, with the figures; may be "No position bias found: …", and none
                          ///< where every answer is wrong or every answer is right
};

/// `positions`: relative, 0 … 1, one for each label. `seed`: of the intervals' resamples.
[[nodiscard]] PositionBias positionBias(std::span<const ItemOutcome> outcomes,
                                        std::span<const std::string> positionLabels, std::span<const double> positions,
                                        std::uint64_t seed = 1);

}  // namespace lpes::analysis
