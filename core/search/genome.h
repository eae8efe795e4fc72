#pragma once

#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/search/genetic_search.h"

namespace lpes::search {

/// A genome is the list of a curve's control points, of several groups' curves one after another. A curve's end points
/// keep x = 0 and 1; a Free curve's points keep their layers' depths, so that only their y are genes.
using Genome = std::vector<curve::ControlPoint>;

/// Control points of one curve under these settings: settings.points, or one per layer for Free.
[[nodiscard]] int curveSize(const SearchSettings& settings, int numLayers);

/// True for the points of a genome whose x is a gene: neither an end point of a curve nor a point of a Free one.
[[nodiscard]] bool xIsGene(const SearchSettings& settings, int numLayers, int point);

/// The same scale everywhere, every group's points evenly spaced.
[[nodiscard]] Genome levelGenome(const SearchSettings& settings, int numLayers, double y);

/// The known curves that generation 0 starts with, in this order: all 1.0, all 1.5, the line 1.15 → 0.85 over depth.
/// The same for every group. Those that leave [scaleMin, scaleMax] are left out (methods.md §2).
inline constexpr int kKnownGenomes = 3;
[[nodiscard]] std::vector<Genome> knownGenomes(const SearchSettings& settings, int numLayers);

/// A random curve for each group (methods.md §2), drawn one group after another: inner x uniform, sorted; y_0 = 1 +
/// U(±0.3), y_{k+1} = y_k + U(±0.3), each clamped to the bounds before the next is drawn. Draws the inner x first, in
/// order, then the y.
[[nodiscard]] Genome randomGenome(const SearchSettings& settings, int numLayers, RandomStream& random);

/// Clamps x to [0, 1] and y to the bounds, and sorts each curve's inner points by x (stable: points that share an x
/// keep their order). The end points keep their place.
void repair(const SearchSettings& settings, Genome& genome);

/// [L·G], layer by layer. Failed when the genome breaks a constraint, which would be a fault of this module.
[[nodiscard]] Result<std::vector<double>> decode(const SearchSettings& settings, int numLayers, const Genome& genome);

}  // namespace lpes::search
