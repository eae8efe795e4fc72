#pragma once

#include <cstddef>
#include <utility>

#include "core/search/genome.h"

namespace lpes::search {

/// Two different indices below `count`, uniform over the ordered pairs; count ≥ 2. Two draws.
[[nodiscard]] std::pair<std::size_t, std::size_t> drawParents(std::size_t count, RandomStream& random);

/// Two different indices below `count` by binary tournaments, each of two different ones of which the smaller, the
/// better ranked one, wins; the second among those that the first left. count ≥ 2; four draws, two where count is 2.
[[nodiscard]] std::pair<std::size_t, std::size_t> drawByTournament(std::size_t count, RandomStream& random);

/// Each point whole from `first` (a draw below 0.5) or `second`, then each curve's inner points sorted by x. One
/// draw per point, in order. Both genomes have the same number of points.
[[nodiscard]] Genome crossover(const SearchSettings& settings, const Genome& first, const Genome& second,
                               RandomStream& random);

/// Point by point, x (where it is a gene) before y: one draw decides with mutationRate whether the coordinate changes,
/// and if so a second one adds U(±maxDx) or U(±maxDy). Then clamped and each curve's inner points sorted by x.
void mutate(const SearchSettings& settings, int numLayers, Genome& genome, RandomStream& random);

}  // namespace lpes::search
