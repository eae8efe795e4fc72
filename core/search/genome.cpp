#include "core/search/genome.h"

#include <algorithm>
#include <cstddef>
#include <utility>

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

/// One group's curve for all of them.
Genome repeated(const Genome& curve, int groups) {
    Genome genome;
    for (int group = 0; group < groups; ++group) genome.insert(genome.end(), curve.begin(), curve.end());
    return genome;
}

double clamped(const SearchSettings& settings, double y) {
    return std::clamp(y, settings.constraints.scaleMin, settings.constraints.scaleMax);
}

}  // namespace

int curveSize(const SearchSettings& settings, int numLayers) {
    return settings.curve == curve::CurveKind::Free ? numLayers : settings.points;
}

bool xIsGene(const SearchSettings& settings, int numLayers, int point) {
    const int size = curveSize(settings, numLayers), own = point % size;
    return settings.curve != curve::CurveKind::Free && own > 0 && own < size - 1;
}

Genome levelGenome(const SearchSettings& settings, int numLayers, double y) {
    Genome curve = line(curveSize(settings, numLayers), y, y);
    for (curve::ControlPoint& point : curve) point.y = y;  // without the line's rounding
    return repeated(curve, settings.groups.count());
}

std::vector<Genome> knownGenomes(const SearchSettings& settings, int numLayers) {
    const int size = curveSize(settings, numLayers);
    std::vector<Genome> genomes{line(size, 1.0, 1.0), line(size, kUniformScale, kUniformScale),
                                line(size, kLineFirst, kLineLast)};
    std::erase_if(genomes, [&](const Genome& genome) {
        return std::any_of(genome.begin(), genome.end(),
                           [&](const curve::ControlPoint& point) { return point.y != clamped(settings, point.y); });
    });
    for (Genome& genome : genomes) genome = repeated(genome, settings.groups.count());
    return genomes;
}

namespace {

Genome randomCurve(const SearchSettings& settings, int numLayers, RandomStream& random) {
    Genome genome = line(curveSize(settings, numLayers), 1.0, 1.0);
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

}  // namespace

Genome randomGenome(const SearchSettings& settings, int numLayers, RandomStream& random) {
    Genome genome;
    for (int group = 0; group < settings.groups.count(); ++group) {
        const Genome one = randomCurve(settings, numLayers, random);
        genome.insert(genome.end(), one.begin(), one.end());
    }
    return genome;
}

void repair(const SearchSettings& settings, Genome& genome) {
    for (curve::ControlPoint& point : genome) {
        point.x = std::clamp(point.x, 0.0, 1.0);
        point.y = clamped(settings, point.y);
    }
    const auto size = static_cast<std::ptrdiff_t>(genome.size()) / settings.groups.count();
    for (auto first = genome.begin(); first != genome.end(); first += size) {
        std::stable_sort(first + 1, first + size - 1,
                         [](const curve::ControlPoint& a, const curve::ControlPoint& b) { return a.x < b.x; });
    }
}

Result<std::vector<double>> decode(const SearchSettings& settings, int numLayers, const Genome& genome) {
    const auto broken = [](const Error& error) {
        return fail(ErrorCode::Failed, "the search bred a curve that breaks its own constraints; please report this",
                    error.message);
    };
    const auto size = static_cast<std::ptrdiff_t>(genome.size()) / settings.groups.count();
    std::vector<curve::ScaleCurve> curves;
    for (auto first = genome.begin(); first != genome.end(); first += size) {
        auto made = curve::ScaleCurve::make(settings.curve, {first, first + size}, settings.constraints);
        if (!made) return broken(made.error());
        curves.push_back(std::move(*made));
    }
    const auto grouped = curve::GroupedCurve::make(settings.groups, std::move(curves));
    if (!grouped) return broken(grouped.error());
    return grouped->decode(numLayers);
}

}  // namespace lpes::search
