#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/search/gradient_descent.h"
#include "core/search/operators.h"
#include "core/search/optimizer.h"
#include "core/search/population.h"

namespace lpes::search {
namespace {

/// The first generation of methods.md §2: the known curves, then random ones.
class FromRandomCurves : public Optimizer {
  public:
    FromRandomCurves(const SearchSettings& settings, int numLayers)
        : m_settings(settings), m_numLayers(numLayers), m_known(knownGenomes(settings, numLayers)) {}

    [[nodiscard]] int candidates(int generation) const override { return candidatesOf(m_settings, generation); }
    [[nodiscard]] RandomStream stream(int generation, int index) const override {
        return candidateStream(m_settings, generation, index);
    }
    [[nodiscard]] Proposal propose(int generation, int index, RandomStream& random) override {
        if (generation == 0 && static_cast<std::size_t>(index) < m_known.size())
            return {m_known[static_cast<std::size_t>(index)], true};
        return {generation == 0 ? randomGenome(m_settings, m_numLayers, random) : bred(random), false};
    }
    void learn(const Archive&, std::size_t) override {}

  protected:
    [[nodiscard]] virtual Genome bred(RandomStream& random) = 0;
    [[nodiscard]] int knownCount() const { return static_cast<int>(m_known.size()); }

    const SearchSettings& m_settings;
    const int m_numLayers;

  private:
    const std::vector<Genome> m_known;
};

/// Where descents begin that no individual gives a start: the known curves, then random ones.
std::vector<Genome> startsOf(const SearchSettings& settings, int numLayers, int count) {
    std::vector<Genome> starts = knownGenomes(settings, numLayers);
    starts.resize(std::min(starts.size(), static_cast<std::size_t>(count)));
    for (int index = static_cast<int>(starts.size()); index < count; ++index) {
        RandomStream random = candidateStream(settings, 0, index);
        starts.push_back(randomGenome(settings, numLayers, random));
    }
    return starts;
}

class Genetic : public FromRandomCurves {
  public:
    Genetic(const SearchSettings& settings, int numLayers, const Archive& archive,
            const std::vector<std::size_t>& ranked)
        : FromRandomCurves(settings, numLayers),
          m_archive(archive),
          m_ranked(ranked),
          m_descents(settings, numLayers) {}

    [[nodiscard]] Proposal propose(int generation, int index, RandomStream& random) override {
        const int descent = generation > 0 ? index : index - knownCount();
        if (descent >= 0 && descent < m_descents.count()) return {m_descents.result(descent), true};
        return FromRandomCurves::propose(generation, index, random);
    }
    [[nodiscard]] std::vector<SlopeRequest> wantedSlopes(int generation) override {
        if (generation > m_refined) {
            m_descents.begin(generation > 0 ? best(generation)
                                            : startsOf(m_settings, m_numLayers, descentsOf(m_settings, 0)));
            m_refined = generation;
        }
        return m_descents.wanted(generation);
    }
    void take(const std::vector<std::optional<Slope>>& slopes) override { m_descents.take(slopes); }

  private:
    /// The individuals that descents take on: different ones, best first, no more than are bred.
    [[nodiscard]] std::vector<Genome> best(int generation) const {
        const auto wanted = static_cast<std::size_t>(descentsOf(m_settings, generation));
        std::vector<Genome> genomes;
        for (const std::size_t place : m_ranked) {
            const CandidateRecord& record = m_archive[place].record;
            if (genomes.size() == wanted || !record.evaluation.complete()) break;
            if (!record.duplicateOf) genomes.push_back(record.candidate.points);
        }
        return genomes;
    }
    Genome bred(RandomStream& random) override {
        const auto kept = static_cast<std::size_t>(m_settings.population - candidates(1));
        const auto [a, b] = m_settings.objectives.empty() ? drawParents(kept, random) : drawByTournament(kept, random);
        Genome child = crossover(m_settings, m_archive[m_ranked[a]].record.candidate.points,
                                 m_archive[m_ranked[b]].record.candidate.points, random);
        mutate(m_settings, m_numLayers, child, random);
        return child;
    }

    const Archive& m_archive;
    const std::vector<std::size_t>& m_ranked;
    Descents m_descents;
    int m_refined = -1;  ///< generation whose descents have begun
};

/// Descents side by side, each from a curve of its own: the known ones, then random ones. Its candidates are where they
/// have come since the generation before.
class GradientGuided : public Optimizer {
  public:
    GradientGuided(const SearchSettings& settings, int numLayers)
        : m_settings(settings),
          m_starts(startsOf(settings, numLayers, settings.gradient.starts)),
          m_descents(settings, numLayers) {}

    [[nodiscard]] int candidates(int generation) const override { return candidatesOf(m_settings, generation); }
    [[nodiscard]] RandomStream stream(int generation, int index) const override {
        return candidateStream(m_settings, generation, index);
    }
    [[nodiscard]] Proposal propose(int generation, int index, RandomStream&) override {
        return {generation == 0 ? m_starts[static_cast<std::size_t>(index)] : m_descents.result(index), true};
    }
    [[nodiscard]] std::vector<SlopeRequest> wantedSlopes(int generation) override {
        if (generation == 0) return {};
        if (generation > m_generation) {
            if (m_generation == 0) {
                m_descents.begin(m_starts);
            } else {
                m_descents.goOn();
            }
            m_generation = generation;
        }
        return m_descents.wanted(generation - 1);
    }
    void take(const std::vector<std::optional<Slope>>& slopes) override { m_descents.take(slopes); }
    void learn(const Archive&, std::size_t) override {}

  private:
    const SearchSettings& m_settings;
    const std::vector<Genome> m_starts;
    Descents m_descents;
    int m_generation = 0;
};

class RandomSearch : public FromRandomCurves {
  public:
    using FromRandomCurves::FromRandomCurves;

  private:
    Genome bred(RandomStream& random) override { return randomGenome(m_settings, m_numLayers, random); }
};

/// Values of the grid inside the bounds.
std::vector<double> gridValues(const curve::Constraints& bounds) {
    const double step = bounds.gridStep.value_or(0.0);
    std::vector<double> values;
    // As rounding to the grid has it: multiples of the step.
    for (auto k = static_cast<std::int64_t>(std::ceil(bounds.scaleMin / step - 1e-9));
         static_cast<double>(k) * step <= bounds.scaleMax + 1e-9 * step; ++k) {
        values.push_back(std::clamp(static_cast<double>(k) * step, bounds.scaleMin, bounds.scaleMax));
    }
    return values;
}

/// Every grid value at every control point, the last point turning fastest.
class Exhaustive : public Optimizer {
  public:
    Exhaustive(const SearchSettings& settings, int numLayers)
        : m_settings(settings),
          m_values(gridValues(settings.constraints)),
          m_line(levelGenome(settings, numLayers, 1.0)),
          m_size(exhaustiveSize(settings, numLayers)) {}

    [[nodiscard]] int candidates(int generation) const override {
        const std::int64_t left = m_size - std::int64_t{generation} * m_settings.population;
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, m_settings.population));
    }
    [[nodiscard]] RandomStream stream(int, int) const override { return {m_settings.seed, kStreamBreeding}; }
    [[nodiscard]] Proposal propose(int generation, int index, RandomStream&) override {
        std::int64_t number = std::int64_t{generation} * m_settings.population + index;
        const auto base = static_cast<std::int64_t>(m_values.size());
        Genome genome = m_line;
        for (auto point = genome.rbegin(); point != genome.rend(); ++point) {
            point->y = m_values[static_cast<std::size_t>(number % base)];
            number /= base;
        }
        return {std::move(genome), true};
    }
    void learn(const Archive&, std::size_t) override {}

  private:
    const SearchSettings& m_settings;
    const std::vector<double> m_values;
    const Genome m_line;
    const std::int64_t m_size;
};

}  // namespace

int candidatesOf(const SearchSettings& settings, int generation) {
    if (settings.optimizer == OptimizerKind::Gradient) return settings.gradient.starts;
    if (generation == 0 || settings.optimizer == OptimizerKind::Exhaustive) return settings.population;
    return settings.population - keptOf(settings.population);
}

int descentsOf(const SearchSettings& settings, int generation) {
    if (settings.optimizer == OptimizerKind::Gradient) return generation == 0 ? 0 : settings.gradient.starts;
    if (settings.optimizer != OptimizerKind::Genetic) return 0;
    const int places = generation == 0 ? settings.population - kKnownGenomes : candidatesOf(settings, generation);
    return std::min(settings.gradient.refined, places);
}

int descentsUpTo(const SearchSettings& settings, int generation) {
    return descentsOf(settings, 0) + generation * descentsOf(settings, 1);
}

RandomStream candidateStream(const SearchSettings& settings, int generation, int index) {
    return {settings.seed, generation == 0 ? kStreamInitialPopulation : kStreamBreeding,
            static_cast<std::uint32_t>(generation), static_cast<std::uint32_t>(index)};
}

std::int64_t exhaustiveSize(const SearchSettings& settings, int numLayers) {
    if (!settings.constraints.gridStep) return -1;
    const double values = static_cast<double>(gridValues(settings.constraints).size());
    const double points = static_cast<double>(curveSize(settings, numLayers)) * settings.groups.count();
    const double size = std::pow(values, points);
    return size <= 0x1p53 ? static_cast<std::int64_t>(std::llround(size)) : -1;
}

std::unique_ptr<Optimizer> makeGenetic(const SearchSettings& settings, int numLayers, const Archive& archive,
                                       const std::vector<std::size_t>& ranked) {
    return std::make_unique<Genetic>(settings, numLayers, archive, ranked);
}

std::unique_ptr<Optimizer> makeRandomSearch(const SearchSettings& settings, int numLayers) {
    return std::make_unique<RandomSearch>(settings, numLayers);
}

std::unique_ptr<Optimizer> makeGradient(const SearchSettings& settings, int numLayers) {
    return std::make_unique<GradientGuided>(settings, numLayers);
}

std::unique_ptr<Optimizer> makeExhaustive(const SearchSettings& settings, int numLayers) {
    return std::make_unique<Exhaustive>(settings, numLayers);
}

std::unique_ptr<Optimizer> makeOptimizer(const SearchSettings& settings, int numLayers, const Archive& archive,
                                         const std::vector<std::size_t>& ranked) {
    switch (settings.optimizer) {
        case OptimizerKind::Random:
            return makeRandomSearch(settings, numLayers);
        case OptimizerKind::CmaEs:
            return makeCmaEs(settings, numLayers);
        case OptimizerKind::Gradient:
            return makeGradient(settings, numLayers);
        case OptimizerKind::Exhaustive:
            return makeExhaustive(settings, numLayers);
        case OptimizerKind::Genetic:
            break;
    }
    return makeGenetic(settings, numLayers, archive, ranked);
}

std::string optimizerName(OptimizerKind kind) {
    switch (kind) {
        case OptimizerKind::Random:
            return "random";
        case OptimizerKind::CmaEs:
            return "cma-es";
        case OptimizerKind::Gradient:
            return "gradient";
        case OptimizerKind::Exhaustive:
            return "exhaustive";
        case OptimizerKind::Genetic:
            break;
    }
    return "genetic";
}

Result<OptimizerKind> parseOptimizer(const std::string& text) {
    for (const OptimizerKind kind : {OptimizerKind::Genetic, OptimizerKind::Random, OptimizerKind::CmaEs,
                                     OptimizerKind::Gradient, OptimizerKind::Exhaustive}) {
        if (text == optimizerName(kind)) return kind;
    }
    return fail(ErrorCode::Usage,
                fmt::format("optimizer '{}' is not known; use genetic, random, cma-es, gradient or exhaustive", text));
}

}  // namespace lpes::search
