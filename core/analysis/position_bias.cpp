#include "core/analysis/position_bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "core/analysis/cochran_q.h"
#include "core/analysis/friedman.h"
#include "core/analysis/items_by_id.h"
#include "core/analysis/statistics.h"
#include "core/analysis/verdict.h"

namespace lpes::analysis {

namespace {

using Rows = std::vector<std::vector<double>>;

/// The scores of each item that has one at every position.
Rows completeItems(std::span<const ItemOutcome> outcomes, int numPositions) {
    Rows rows;
    for (const auto& [id, item] : itemsById(outcomes, numPositions)) {
        if (!isComplete(item, numPositions)) continue;
        std::vector<double>& row = rows.emplace_back();
        for (const auto& [position, outcome] : item) row.push_back(outcome->score);
    }
    return rows;
}

std::vector<double> meanScores(const Rows& rows, std::size_t numPositions) {
    std::vector<double> means(numPositions);
    if (rows.empty()) return means;
    for (std::size_t p = 0; p < numPositions; ++p) {
        for (const std::vector<double>& row : rows) means[p] += row[p];
        means[p] /= static_cast<double>(rows.size());
    }
    return means;
}

bool isGraded(const Rows& rows) {
    return std::ranges::any_of(rows, [](const std::vector<double>& row) {
        return std::ranges::any_of(row, [](double score) { return score != 0.0 && score != 1.0; });
    });
}

void testOver(const Rows& rows, bool graded, PositionBias& bias) {
    if (graded) {
        const Friedman test = friedman(rows);
        bias.test = "Friedman's χ²";
        bias.statistic = test.chiSquared;
        bias.pValue = test.pValue;
        return;
    }
    std::vector<std::vector<bool>> right;
    for (const std::vector<double>& row : rows) {
        std::vector<bool>& item = right.emplace_back();
        for (const double score : row) item.push_back(score == 1.0);
    }
    const CochranQ test = cochranQ(right);
    bias.test = "Cochran's Q";
    bias.statistic = test.q;
    bias.pValue = test.pValue;
    bias.exact = test.exact;
}

double gapOf(std::span<const double> scores) {
    const auto [low, high] = std::ranges::minmax(scores);
    return high - low;
}

using Figure = std::function<double(std::span<const double>)>;

double orNaN(const std::optional<double>& value) {
    return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

/// Of a gap or an index, 0 … 1. `bound`: what is known where resampling finds no spread.
Interval spreadInterval(const ResampledRows& resampled, const Figure& figure, double value, bool found,
                        Interval bound) {
    Interval interval = figureInterval(resampled, figure, {0.0, 1.0}).value_or(bound);
    interval.low = found ? std::clamp(interval.low, 0.0, value) : 0.0;
    interval.high = std::clamp(interval.high, value, 1.0);
    return interval;
}

/// Of a figure that is a sum of the scores with weights.
Interval linearInterval(const ResampledRows& resampled, const Figure& figure, double value, std::size_t items) {
    // Scores are between 0 and 1: the figure is lowest where those with negative weights are 1 and the others 0.
    Interval range;
    std::vector<double> unit(resampled.columns);
    for (double& one : unit) {
        one = 1.0;
        const double weight = figure(unit);
        (weight < 0.0 ? range.low : range.high) += weight;
        one = 0.0;
    }
    return figureInterval(resampled, figure, range)
        .value_or(boundedMeanInterval(std::vector<double>(items, value), 1, range));
}

/// What may be where all items are alike, of which a share `rest` may yet be unlike those that were met, and right at
/// the worst position alone or at the best.
Interval sensitivityBound(const std::vector<double>& scores, double rest) {
    const auto [low, high] = std::ranges::minmax(scores);
    const double worst = (1.0 - rest) * low, best = (1.0 - rest) * high;
    return {1.0 - (worst + rest) / best, 1.0 - worst / (best + rest)};
}

void addIntervals(const Rows& rows, const std::vector<double>& scores, std::span<const double> positions,
                  std::uint64_t seed, PositionBias& bias) {
    if (scores.size() < 2) return;
    const auto resampled = resampledRows(rows, seed);
    if (!resampled) return;
    const double rest = boundedMeanInterval(std::vector<double>(rows.size(), 0.0), seed).high;
    const Interval gap{(1.0 - rest) * bias.gap - rest, (1.0 - rest) * bias.gap + rest};
    bias.gapInterval = spreadInterval(*resampled, gapOf, bias.gap, bias.found, gap);
    if (bias.sensitivityIndex) {
        const Figure figure = [](std::span<const double> means) { return orNaN(positionSensitivityIndex(means)); };
        bias.sensitivityInterval =
            spreadInterval(*resampled, figure, *bias.sensitivityIndex, bias.found, sensitivityBound(scores, rest));
    }
    if (bias.uShape) {
        const Figure figure = [](std::span<const double> means) { return orNaN(uShapeIndex(means)); };
        bias.uShapeInterval = linearInterval(*resampled, figure, *bias.uShape, rows.size());
    }
    if (bias.curvature) {
        const Figure figure = [&](std::span<const double> means) {
            return orNaN(quadraticCurvature(positions, means));
        };
        bias.curvatureInterval = linearInterval(*resampled, figure, *bias.curvature, rows.size());
    }
}

/// The curve in words, for positions in ascending order.
std::string_view shapeOf(const std::vector<double>& scores) {
    if (std::ranges::is_sorted(scores, std::greater<>())) return "falling towards the end";
    if (std::ranges::is_sorted(scores)) return "rising towards the end";
    const auto [low, high] = std::minmax_element(scores.begin() + 1, scores.end() - 1);
    const double weakerEnd = std::min(scores.front(), scores.back());
    if (weakerEnd > *high) return "U-shaped, weakest between the ends";
    if (std::max(scores.front(), scores.back()) < *low) return "strongest between the ends";
    return "of no simple shape";
}

std::string describe(const PositionBias& bias, bool graded, std::span<const std::string> labels,
                     std::span<const double> positions, const std::vector<double>& scores) {
    if (labels.size() < 2) {
        return fmt::format("No verdict: position bias shows between two positions or more, there {} {}",
                           labels.size() == 1 ? "is" : "are", labels.size());
    }
    if (bias.items < kFewestItems) {
        return fmt::format("No verdict: too few items, {} scored at every position where {} are needed", bias.items,
                           kFewestItems);
    }
    const auto low = std::min_element(scores.begin(), scores.end());
    const auto high = std::max_element(scores.begin(), scores.end());
    const std::string figures =
        fmt::format("{} = {:.3g}, p = {:.3g}, {}, {} items", bias.test, bias.statistic, bias.pValue.value_or(1.0),
                    bias.exact ? "exact" : "by the χ² distribution", bias.items);
    if (*high == 0.0) return fmt::format("No verdict: no answer is right at any position ({} items)", bias.items);
    if (*low == 1.0) return fmt::format("No verdict: every answer is right at every position ({} items)", bias.items);
    const char* measure = graded ? "mean score" : "accuracy";
    if (!bias.found) {
        return fmt::format("No position bias found: {} {:.3f} to {:.3f} over {} positions ({})", measure, *low, *high,
                           labels.size(), figures);
    }
    const auto labelOf = [&](auto place) { return labels[static_cast<std::size_t>(place - scores.begin())]; };
    const std::string shape = std::ranges::is_sorted(positions) ? fmt::format(", {}", shapeOf(scores)) : std::string();
    return fmt::format("Position bias{}: {} {:.3f} at {} against {:.3f} at {} ({})", shape, measure, *high,
                       labelOf(high), *low, labelOf(low), figures);
}

}  // namespace

std::optional<double> positionSensitivityIndex(std::span<const double> scores) {
    const auto usable = [](double score) { return std::isfinite(score) && score >= 0.0; };
    if (scores.empty() || !std::ranges::all_of(scores, usable)) return std::nullopt;
    const auto [low, high] = std::ranges::minmax(scores);
    if (!(high > 0.0)) return std::nullopt;
    return 1.0 - low / high;
}

std::optional<double> uShapeIndex(std::span<const double> scores) {
    if (scores.size() < 3) return std::nullopt;
    return (scores.front() + scores.back()) / 2.0 - mean(scores.subspan(1, scores.size() - 2));
}

std::optional<double> quadraticCurvature(std::span<const double> positions, std::span<const double> scores) {
    const std::size_t n = positions.size();
    if (scores.size() != n || std::set<double>(positions.begin(), positions.end()).size() < 3) return std::nullopt;
    // x² less its regression on 1 and x is orthogonal to both, so that c is the scores' share along it.
    std::vector<double> x(n);
    std::ranges::transform(positions, x.begin(), [](double p) { return 2.0 * p - 1.0; });
    const double meanX = mean(x);
    double sumSquares = 0.0, sumCubes = 0.0, meanSquare = 0.0;
    for (const double value : x) {
        const double centred = value - meanX;
        meanSquare += value * value / static_cast<double>(n);
        sumSquares += centred * centred;
        sumCubes += centred * value * value;
    }
    double along = 0.0, norm = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double rest = x[i] * x[i] - meanSquare - sumCubes / sumSquares * (x[i] - meanX);
        along += rest * scores[i];
        norm += rest * rest;
    }
    return along / norm;
}

RunNoise runNoise(std::span<const double> accuracies) {
    RunNoise noise;
    noise.runs = static_cast<std::int64_t>(accuracies.size());
    if (accuracies.empty()) return noise;
    noise.mean = mean(accuracies);
    const auto [low, high] = std::ranges::minmax(accuracies);
    noise.range = high - low;
    double squares = 0.0;
    for (const double accuracy : accuracies) squares += (accuracy - noise.mean) * (accuracy - noise.mean);
    if (noise.runs > 1) noise.standardDeviation = std::sqrt(squares / static_cast<double>(noise.runs - 1));
    return noise;
}

PositionBias positionBias(std::span<const ItemOutcome> outcomes, std::span<const std::string> positionLabels,
                          std::span<const double> positions, std::uint64_t seed) {
    const auto rows = completeItems(outcomes, static_cast<int>(positionLabels.size()));
    const auto scores = meanScores(rows, positionLabels.size());
    PositionBias bias;
    bias.items = static_cast<std::int64_t>(rows.size());
    if (!rows.empty()) {
        bias.gap = gapOf(scores);
        bias.sensitivityIndex = positionSensitivityIndex(scores);
        bias.uShape = uShapeIndex(scores);
        bias.curvature = quadraticCurvature(positions, scores);
    }
    const bool graded = isGraded(rows);
    testOver(rows, graded, bias);
    if (bias.items < kFewestItems) bias.pValue.reset();
    bias.found = bias.pValue && *bias.pValue < kSignificance;
    addIntervals(rows, scores, positions, seed, bias);
    bias.verdict = describe(bias, graded, positionLabels, positions, scores);
    return bias;
}

}  // namespace lpes::analysis
