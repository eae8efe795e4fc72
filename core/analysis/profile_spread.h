#pragma once

#include <optional>
#include <span>
#include <vector>

namespace lpes::analysis {

/// How alike several profiles of one model are: what a search finds again and what it does not.
struct ProfileSpread {
    std::vector<double> mean, low, high;  ///< [N] of each scale over the profiles; smallest and largest
    std::vector<double> stddev;           ///< [N] with n − 1; 0 for one profile
    double meanAbsDifference = 0.0;       ///< mean |Δs| over scales and pairs of profiles; 0 for one profile
    /// Mean over pairs of Pearson's correlation over scales; none for one profile or where no pair has one, because a
    /// profile is the same in all layers.
    std::optional<double> meanCorrelation;
};
/// `profiles` [P][N], all of one length; an empty list gives empty vectors.
[[nodiscard]] ProfileSpread profileSpread(std::span<const std::vector<double>> profiles);

}  // namespace lpes::analysis
