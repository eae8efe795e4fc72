#pragma once

#include <optional>
#include <span>
#include <vector>

/// Giving up candidates that cannot win before all items are spent on them.
namespace lpes::search {

/// What a look at some of the items says of one candidate.
struct RaceVerdict {
    double behind = 0.0;  ///< mean difference to the candidate that it would have to beat
    double pValue = 1.0;  ///< one-sided paired t test over the items
};

/// Which of `runners` fall out at a look at the first n items: those that lie behind the one that ranks last among the
/// `kept` best of runners and `others` together, by a one-sided paired t test over the n items with pValue < alpha.
/// With no more than `kept` candidates in all nobody falls out. Each value is one item's score [n], larger is better; n
/// ≥ 2. Result [runners], empty entries stay. thread-safe.
[[nodiscard]] std::vector<std::optional<RaceVerdict>> fallenBehind(std::span<const std::vector<double>> runners,
                                                                   std::span<const std::vector<double>> others,
                                                                   std::size_t kept, double alpha);

/// Standard error of the mean of a − b over their items; 0 for fewer than two. Both have the same size.
[[nodiscard]] double standardErrorOfDifference(const std::vector<double>& a, const std::vector<double>& b);

/// Numbers of items at which a race looks, of `items` in all: a quarter and a half of them, rounded up, no fewer than
/// kFewestItems, and never all.
[[nodiscard]] std::vector<int> looks(int items);
inline constexpr int kFewestItems = 4;  ///< a paired test over fewer decides next to nothing

}  // namespace lpes::search
