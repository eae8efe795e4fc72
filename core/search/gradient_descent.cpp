#include "core/search/gradient_descent.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace lpes::search {
namespace {

/// Running means, our defaults: over about five steps for the direction and ten for the length.
constexpr double kKeepMomentum = 0.8, kKeepSquare = 0.9;
/// Steps until a step has its full length.
constexpr int kWarmUp = 4;

/// The share of the rate that step `number`, from 1, may use: less while the means are not worth much, and from the
/// second round on less and less, so that noise dies away and the way to anywhere stays (Robbins and Monro 1951: Σ is
/// infinite, Σ of squares is not).
double shareOfRate(int number, int stepsPerRound) {
    return std::min({1.0, static_cast<double>(number) / kWarmUp, static_cast<double>(stepsPerRound) / number});
}
/// No gene moves further in one step than this many times the rate.
constexpr double kLongest = 2.0;
/// Half of the distance that differences are taken over.
constexpr double kDifference = 1e-5;

/// What one curve gives without rounding, and a little beyond the bounds, where differences are taken.
std::vector<double> scalesOf(const SearchSettings& settings, int numLayers,
                             std::span<const curve::ControlPoint> points) {
    curve::Constraints bounds{settings.constraints.scaleMin - 2 * kDifference,
                              settings.constraints.scaleMax + 2 * kDifference, std::nullopt};
    const auto made = curve::ScaleCurve::make(settings.curve, {points.begin(), points.end()}, bounds);
    return made ? made->decode(numLayers) : std::vector<double>(static_cast<std::size_t>(numLayers), NAN);
}

}  // namespace

std::vector<double> unrounded(const SearchSettings& settings, int numLayers, const Genome& genome) {
    const auto groups = static_cast<std::size_t>(settings.groups.count());
    const std::size_t size = genome.size() / groups;
    std::vector<double> scales(static_cast<std::size_t>(numLayers) * groups);
    for (std::size_t group = 0; group < groups; ++group) {
        const auto own = scalesOf(settings, numLayers, std::span(genome).subspan(group * size, size));
        for (std::size_t layer = 0; layer < own.size(); ++layer) scales[layer * groups + group] = own[layer];
    }
    return scales;
}

std::vector<double> geneSlopes(const SearchSettings& settings, int numLayers, const Genome& genome,
                               const std::vector<double>& slope) {
    const auto groups = static_cast<std::size_t>(settings.groups.count());
    const std::size_t size = genome.size() / groups;
    std::vector<double> result(2 * genome.size(), 0.0);
    for (std::size_t group = 0; group < groups; ++group) {
        Genome curve(genome.begin() + static_cast<std::ptrdiff_t>(group * size),
                     genome.begin() + static_cast<std::ptrdiff_t>((group + 1) * size));
        // The derivative along one coordinate, between two values of it.
        const auto along = [&](double& coordinate, double low, double high) {
            if (!(high > low)) return 0.0;
            const double before = coordinate;
            coordinate = high;
            const auto above = scalesOf(settings, numLayers, curve);
            coordinate = low;
            const auto below = scalesOf(settings, numLayers, curve);
            coordinate = before;
            double sum = 0.0;
            for (std::size_t layer = 0; layer < above.size(); ++layer)
                sum += slope[layer * groups + group] * (above[layer] - below[layer]) / (high - low);
            return sum;
        };
        for (std::size_t k = 0; k < size; ++k) {
            const std::size_t place = group * size + k;
            if (xIsGene(settings, numLayers, static_cast<int>(place))) {
                result[2 * place] = along(curve[k].x, std::max(curve[k - 1].x, curve[k].x - kDifference),
                                          std::min(curve[k + 1].x, curve[k].x + kDifference));
            }
            result[2 * place + 1] = along(curve[k].y, curve[k].y - kDifference, curve[k].y + kDifference);
        }
    }
    return result;
}

Descent::Descent(const SearchSettings& settings, int numLayers, Genome start)
    : m_settings(settings), m_numLayers(numLayers), m_at(std::move(start)), m_momentum(2 * m_at.size(), 0.0) {
    beginRound();
}

void Descent::step(const std::vector<double>& slope) {
    std::vector<double> own = geneSlopes(m_settings, m_numLayers, m_at, slope);
    double square = 0.0;
    int genes = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const bool depth = i % 2 == 0;
        if (depth && !xIsGene(m_settings, m_numLayers, static_cast<int>(i / 2))) continue;
        if (depth) own[i] *= kDepthUnit;
        square += own[i] * own[i];
        ++genes;
    }
    ++m_steps;
    m_square = kKeepSquare * m_square + (1.0 - kKeepSquare) * square / genes;
    const double length = std::sqrt(m_square / (1.0 - std::pow(kKeepSquare, m_steps)));
    const double rate = m_settings.gradient.rate * shareOfRate(m_steps, m_settings.gradient.steps);
    const double longest = kLongest * m_settings.gradient.rate;
    for (std::size_t i = 0; i < own.size(); ++i) {
        m_momentum[i] = kKeepMomentum * m_momentum[i] + (1.0 - kKeepMomentum) * own[i];
        if (!(length > 0.0)) continue;  // flat: there is nowhere to go
        const double mean = m_momentum[i] / (1.0 - std::pow(kKeepMomentum, m_steps));
        const double move = std::clamp(-rate * mean / length, -longest, longest);
        if (i % 2 == 0) {
            m_at[i / 2].x += kDepthUnit * move;
        } else {
            m_at[i / 2].y += move;
        }
    }
    project();
    if (2 * m_steps <= m_settings.gradient.steps) return;
    for (std::size_t k = 0; k < m_at.size(); ++k) {
        m_sum[k].x += m_at[k].x;
        m_sum[k].y += m_at[k].y;
    }
    ++m_summed;
}

void Descent::project() {
    const curve::Constraints& bounds = m_settings.constraints;
    const auto size = m_at.size() / static_cast<std::size_t>(m_settings.groups.count());
    for (std::size_t k = 0; k < m_at.size(); ++k) {
        m_at[k].y = std::clamp(m_at[k].y, bounds.scaleMin, bounds.scaleMax);
        if (!xIsGene(m_settings, m_numLayers, static_cast<int>(k))) continue;
        const double left = k % size == 0 ? 0.0 : m_at[k - 1].x;
        m_at[k].x = std::clamp(m_at[k].x, left, 1.0);
    }
}

Genome Descent::mean() const {
    if (m_summed == 0) return m_at;
    Genome genome = m_at;
    for (std::size_t k = 0; k < genome.size(); ++k) {
        genome[k].y =
            std::clamp(m_sum[k].y / m_summed, m_settings.constraints.scaleMin, m_settings.constraints.scaleMax);
        if (xIsGene(m_settings, m_numLayers, static_cast<int>(k))) genome[k].x = m_sum[k].x / m_summed;
    }
    return genome;
}

void Descent::beginRound() {
    m_sum.assign(m_at.size(), {0.0, 0.0});
    m_summed = 0;
}

void Descents::begin(const std::vector<Genome>& starts) {
    m_descents.clear();
    for (const Genome& start : starts) m_descents.emplace_back(m_settings, m_numLayers, start);
    m_step = 0;
}

void Descents::goOn() {
    for (Descent& descent : m_descents) descent.beginRound();
    m_step = 0;
}

std::vector<SlopeRequest> Descents::wanted(int round) const {
    std::vector<SlopeRequest> requests;
    if (m_step == m_settings.gradient.steps) return requests;
    for (int index = 0; index < count(); ++index) {
        requests.push_back({index, round * m_settings.gradient.steps + m_step, m_settings.gradient.items,
                            unrounded(m_settings, m_numLayers, m_descents[static_cast<std::size_t>(index)].at())});
    }
    return requests;
}

void Descents::take(const std::vector<std::optional<Slope>>& slopes) {
    for (std::size_t index = 0; index < slopes.size(); ++index) {
        if (slopes[index]) m_descents[index].step(slopes[index]->byScale);
    }
    ++m_step;
}

}  // namespace lpes::search
