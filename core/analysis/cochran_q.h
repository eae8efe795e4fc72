#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lpes::analysis {

/// Cochran's Q test (W. G. Cochran, 1950): are the shares of successes equal under k conditions that every item went
/// through? Items that succeed everywhere or nowhere say nothing and leave Q and p as they are.
struct CochranQ {
    double q = 0.0;
    int degreesOfFreedom = 0;  ///< k − 1
    double pValue = 1.0;       ///< 1 where no item tells conditions apart, or k < 2
    /// The p value counts every way in which the items' successes could be dealt to the conditions. Where these are too
    /// many to count (large samples of many conditions) it comes from the χ² distribution.
    bool exact = true;
};

/// `successes`: an item each, with a value per condition; all of the same length k.
[[nodiscard]] CochranQ cochranQ(std::span<const std::vector<bool>> successes);

/// The same by the χ² distribution alone, whatever the size: what other programs print.
[[nodiscard]] CochranQ cochranQAsymptotic(std::span<const std::vector<bool>> successes);

}  // namespace lpes::analysis
