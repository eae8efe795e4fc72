#include "core/search/genome.h"

#include <algorithm>

namespace lpes::search {
namespace {

/// Steps of the random walk over y, and the known curves: our defaults.
constexpr double kWalk = 0.3;
constexpr double kUniformScale = 1.5;
constexpr double kLineFirst = 1.15, kLineLast = 0.85;

/// Evenly spaced points on a straight line from `first` to `last`.
Genome line(int size, double first, double last) {
    Genome genome;
    for (int k = 0; k < size; ++k) {
        const double x = static_cast<double>(k) / (size - 1);
        genome.push_back({x, (1.0 - x) * first + x * last});
    }
    return genome;
}

double clamped(const SearchSettings& settings, double y) {
    return std::clamp(y, settings.constraints.scaleMin, settings.constraints.scaleMax);
}

}  // namespace

int genomeSize(const SearchSettings& settings, int numLayers) {
    return settings.curve == curve::CurveKind::Free ? numLayers : settings.points;
}

bool xIsGene(const SearchSettings& settings, int numLayers, int point) {
    return settings.curve != curve::CurveKind::Free && point > 0 && point < genomeSize(settings, numLayers) - 1;
}

std::vector<Genome> knownGenomes(const SearchSettings& settings, int numLayers) {
    const int size = genomeSize(settings, numLayers);
    std::vector<Genome> genomes{line(size, 1.0, 1.0), line(size, kUniformScale, kUniformScale),
                                line(size, kLineFirst, kLineLast)};
    std::erase_if(genomes, [&](const Genome& genome) {
        return std::any_of(genome.begin(), genome.end(),
                           [&](const curve::ControlPoint& point) { return point.y != clamped(settings, point.y); });
    });
    return genomes;
}

Genome randomGenome(const SearchSettings& settings, int numLayers, RandomStream& random) {
    Genome genome = line(genomeSize(settings, numLayers), 1.0, 1.0);
    std::vector<double> inner;
    for (int k = 0; k < static_cast<int>(genome.size()); ++k) {
        if (xIsGene(settings, numLayers, k)) inner.push_back(random.uniform());
    }
    std::sort(inner.begin(), inner.end());
    for (std::size_t k = 0; k < inner.size(); ++k) genome[k + 1].x = inner[k];
    double y = 1.0;
    for (curve::ControlPoint& point : genome) {
        y = clamped(settings, y + random.uniform(-kWalk, kWalk));
        point.y = y;
    }
    return genome;
}

void repair(const SearchSettings& settings, Genome& genome) {
    for (curve::ControlPoint& point : genome) {
        point.x = std::clamp(point.x, 0.0, 1.0);
        point.y = clamped(settings, point.y);
    }
    std::stable_sort(genome.begin() + 1, genome.end() - 1,
                     [](const curve::ControlPoint& a, const curve::ControlPoint& b) { return a.x < b.x; });
}

Result<std::vector<double>> decode(const SearchSettings& settings, int numLayers, const Genome& genome) {
    const Result<curve::ScaleCurve> curve = curve::ScaleCurve::make(settings.curve, genome, settings.constraints);
    if (!curve) {
        return fail(ErrorCode::Failed, "the search bred a curve that breaks its own constraints; please report this",
                    curve.error().message);
    }
    return curve->decode(numLayers);
}

}  // namespace lpes::search
