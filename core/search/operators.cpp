#include "core/search/operators.h"

#include <algorithm>

namespace lpes::search {

std::pair<std::size_t, std::size_t> drawParents(std::size_t count, RandomStream& random) {
    const std::size_t first = random.below(count);
    const std::size_t second = random.below(count - 1);
    // Skipping the first parent's place keeps the second uniform over the others.
    return {first, second < first ? second : second + 1};
}

std::pair<std::size_t, std::size_t> drawByTournament(std::size_t count, RandomStream& random) {
    const auto winner = [&](std::size_t entrants) {
        if (entrants == 1) return std::size_t{0};
        const auto [a, b] = drawParents(entrants, random);
        return std::min(a, b);
    };
    const std::size_t first = winner(count), second = winner(count - 1);
    return {first, second < first ? second : second + 1};
}

Genome crossover(const SearchSettings& settings, const Genome& first, const Genome& second, RandomStream& random) {
    Genome child;
    child.reserve(first.size());
    for (std::size_t k = 0; k < first.size(); ++k) child.push_back(random.uniform() < 0.5 ? first[k] : second[k]);
    repair(settings, child);
    return child;
}

void mutate(const SearchSettings& settings, int numLayers, Genome& genome, RandomStream& random) {
    const auto mutated = [&](double value, double reach) {
        return random.uniform() < settings.mutationRate ? value + random.uniform(-reach, reach) : value;
    };
    for (int k = 0; k < static_cast<int>(genome.size()); ++k) {
        curve::ControlPoint& point = genome[static_cast<std::size_t>(k)];
        if (xIsGene(settings, numLayers, k)) point.x = mutated(point.x, settings.maxDx);
        point.y = mutated(point.y, settings.maxDy);
    }
    repair(settings, genome);
}

}  // namespace lpes::search
