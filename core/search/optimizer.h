#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/search/archive.h"
#include "core/search/genome.h"

namespace lpes::search {

/// Where a search's candidates come from, a generation at a time: it is asked for all genomes of a generation before
/// any of them is evaluated, and told when all of them are. What it proposes depends on the settings, on the random
/// streams that it is given, and on the fitness values that it was told alone; so the history does not depend on
/// workers or timing, and resuming is running again.
/// thread-compatible.
class Optimizer {
  public:
    virtual ~Optimizer() = default;

    /// Candidates of a generation; 0: there is nothing left to propose, and the search ends.
    [[nodiscard]] virtual int candidates(int generation) const = 0;
    /// The stream that a candidate's random numbers come from.
    [[nodiscard]] virtual RandomStream stream(int generation, int index) const = 0;

    struct Proposal {
        Genome genome;
        bool fixed = false;  ///< it is taken as it is, also when its scales were seen
    };
    /// The genome of a candidate: in order of index, and again with the same stream when its scales were seen.
    [[nodiscard]] virtual Proposal propose(int generation, int index, RandomStream& random) = 0;
    /// Points whose slopes it wants before it proposes the candidates of `generation`: asked again, after `take`, until
    /// it wants none.
    [[nodiscard]] virtual std::vector<SlopeRequest> wantedSlopes(int generation) {
        static_cast<void>(generation);
        return {};
    }
    /// The slopes just wanted, in their order; nothing for one that failed.
    virtual void take(const std::vector<std::optional<Slope>>& slopes) { static_cast<void>(slopes); }
    /// Every candidate of a generation, archive[first …], has its evaluation.
    virtual void learn(const Archive& archive, std::size_t first) = 0;
};

/// The stream of a candidate's own: of (seed, generation, index) alone.
[[nodiscard]] RandomStream candidateStream(const SearchSettings& settings, int generation, int index);

/// The optimizer that the settings name. `archive` and `ranked` (places in it, best first: the better half of the
/// generation before and its own candidates) outlive it; the genetic one breeds from them.
[[nodiscard]] std::unique_ptr<Optimizer> makeOptimizer(const SearchSettings& settings, int numLayers,
                                                       const Archive& archive, const std::vector<std::size_t>& ranked);

// One function per kind; makeOptimizer chooses.
[[nodiscard]] std::unique_ptr<Optimizer> makeGenetic(const SearchSettings& settings, int numLayers,
                                                     const Archive& archive, const std::vector<std::size_t>& ranked);
[[nodiscard]] std::unique_ptr<Optimizer> makeRandomSearch(const SearchSettings& settings, int numLayers);
[[nodiscard]] std::unique_ptr<Optimizer> makeCmaEs(const SearchSettings& settings, int numLayers);
[[nodiscard]] std::unique_ptr<Optimizer> makeGradient(const SearchSettings& settings, int numLayers);
[[nodiscard]] std::unique_ptr<Optimizer> makeExhaustive(const SearchSettings& settings, int numLayers);

}  // namespace lpes::search
