#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Several objectives at once, larger being better: what NSGA-II ranks by (K. Deb, A. Pratap, S. Agarwal, T. Meyarivan,
/// A fast and elitist multiobjective genetic algorithm: NSGA-II, IEEE Trans. Evol. Comput. 6, 2002). Pure functions of
/// values; all points have the same number of objectives, all finite. thread-safe.
namespace lpes::search {

using Objectives = std::vector<double>;

/// `a` is nowhere worse than `b`, and somewhere better.
[[nodiscard]] bool dominates(const Objectives& a, const Objectives& b);

/// Fast non-dominated sorting: the indices of the points that nobody dominates, then of those that only they dominate,
/// and so on; ascending within a front.
[[nodiscard]] std::vector<std::vector<std::size_t>> nonDominatedFronts(std::span<const Objectives> points);

/// How lonely each point of a front is: the sum over objectives of the distance between its two neighbours, in units of
/// the front's extent in that objective; infinite for the ends of any objective. An objective that is the same for all
/// counts for nobody.
[[nodiscard]] std::vector<double> crowdingDistances(std::span<const Objectives> front);

/// Indices by the crowded comparison: earlier fronts first, within a front the lonelier one, then the smaller index.
[[nodiscard]] std::vector<std::size_t> crowdedOrder(std::span<const Objectives> points);

/// At most `count` indices of a front that cover it, ascending: the most crowded point, of equals the last, is left
/// out, again and again, but never `kept`.
[[nodiscard]] std::vector<std::size_t> spreadOut(std::span<const Objectives> front, std::size_t count,
                                                 std::size_t kept);

/// Volume between `reference` and the points (E. Zitzler, L. Thiele, 1998), by slicing objective after objective
/// (L. While et al., 2006). Points that are not above the reference in every objective add nothing.
[[nodiscard]] double hypervolume(std::span<const Objectives> points, const Objectives& reference);

}  // namespace lpes::search
