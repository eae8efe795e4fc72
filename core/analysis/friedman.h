#pragma once

#include <span>
#include <vector>

namespace lpes::analysis {

/// Friedman's test (M. Friedman, 1937) with the correction for ties: are scores equally high under k conditions that
/// every item went through? Of scores that are 0 or 1 alone its statistic is Cochran's Q.
struct Friedman {
    double chiSquared = 0.0;
    int degreesOfFreedom = 0;  ///< k − 1
    double pValue = 1.0;       ///< by the χ² distribution; 1 where no item tells conditions apart, or k < 2
};

/// `scores`: an item each, with a value per condition; all of the same length k, all finite.
[[nodiscard]] Friedman friedman(std::span<const std::vector<double>> scores);

}  // namespace lpes::analysis
