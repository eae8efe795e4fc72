#include "core/analysis/position_accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>

#include "core/analysis/items_by_id.h"
#include "core/analysis/verdict.h"

namespace lpes::analysis {

namespace {

double meanOf(const ItemByPosition& item, double ItemOutcome::*value) {
    double sum = 0.0;
    for (const auto& [position, outcome] : item) sum += outcome->*value;
    return sum / static_cast<double>(item.size());
}

/// Wilson's for proportions, for graded scores a bootstrap (of a fixed seed, so that a report can be made again).
Interval scoreInterval(std::span<const double> scores, bool graded) {
    graded = graded || std::ranges::any_of(scores, [](double score) { return score != 0.0 && score != 1.0; });
    if (graded) return boundedMeanInterval(scores, 1);
    return wilsonInterval(std::ranges::count(scores, 1.0), static_cast<std::int64_t>(scores.size()));
}

void conclude(Comparison& comparison, std::size_t tests) {
    comparison.better =
        comparison.nll.meanDifference < 0.0 && comparison.nllHolm && *comparison.nllHolm < kSignificance;
    comparison.verdict = verdictSentence(comparison.nll, comparison.nllHolm, comparison.baselineNll,
                                         comparison.otherNll, comparison.items, comparison.reference, tests);
}

/// A test that could not be made counts as one all the same.
std::vector<std::optional<double>> holmOf(const std::vector<std::optional<double>>& pValues) {
    std::vector<double> known;
    for (const auto& p : pValues) known.push_back(p.value_or(std::numeric_limits<double>::quiet_NaN()));
    std::vector<std::optional<double>> adjusted;
    for (const double p : holmAdjusted(known)) adjusted.push_back(std::isfinite(p) ? std::optional(p) : std::nullopt);
    return adjusted;
}

}  // namespace

AccuracyByPosition accuracyByPosition(std::span<const ItemOutcome> outcomes,
                                      std::span<const std::string> positionLabels, bool graded) {
    const ItemsById items = itemsById(outcomes, static_cast<int>(positionLabels.size()));
    AccuracyByPosition result;
    result.positions.resize(positionLabels.size());
    std::vector<double> tokenSum(positionLabels.size()), nllSum(positionLabels.size());
    std::vector<std::vector<double>> scores(positionLabels.size());
    for (std::size_t p = 0; p < positionLabels.size(); ++p) result.positions[p].position = positionLabels[p];

    for (const auto& [id, item] : items) {
        // Known even where every item is too long.
        for (const auto& [position, outcome] : item) {
            PositionResult& row = result.positions[static_cast<std::size_t>(position)];
            row.goldIndex = &item == &items.begin()->second || row.goldIndex == outcome->goldIndex ? outcome->goldIndex
                                                                                                   : kGoldIndexVaries;
        }
        if (isTooLong(item)) {
            ++result.skippedTooLong;
            continue;
        }
        if (item.size() == positionLabels.size()) ++result.items;
        for (const auto& [position, outcome] : item) {
            const auto p = static_cast<std::size_t>(position);
            ++result.positions[p].n;
            result.positions[p].correct += outcome->correct() ? 1 : 0;
            scores[p].push_back(outcome->score);
            tokenSum[p] += outcome->goldToken;
            nllSum[p] += outcome->nll;
        }
    }

    std::vector<double> accuracies;
    for (std::size_t p = 0; p < result.positions.size(); ++p) {
        PositionResult& row = result.positions[p];
        const Interval interval = scoreInterval(scores[p], graded);
        row.ciLow = interval.low;
        row.ciHigh = interval.high;
        if (row.n == 0) continue;
        const double n = static_cast<double>(row.n);
        row.meanTokenIndex = tokenSum[p] / n;
        row.answerNll = nllSum[p] / n;
        row.accuracy = mean(scores[p]);
        accuracies.push_back(row.accuracy);
    }
    if (!accuracies.empty()) {
        const auto [low, high] = std::minmax_element(accuracies.begin(), accuracies.end());
        result.meanAccuracy = mean(accuracies);
        result.gap = *high - *low;
    }
    return result;
}

Comparison compareOutcomes(std::span<const ItemOutcome> baseline, std::span<const ItemOutcome> other, int numPositions,
                           std::uint64_t seed, std::string_view reference) {
    const ItemsById baselineItems = itemsById(baseline, numPositions);
    const ItemsById otherItems = itemsById(other, numPositions);
    const auto complete = [numPositions](const auto& item) { return isComplete(item, numPositions); };

    std::vector<double> baselineNll, otherNll, baselineScore, otherScore;
    const auto positions = static_cast<std::size_t>(std::max(numPositions, 0));
    std::vector<std::int64_t> onlyBaseline(positions), onlyOther(positions);
    for (const auto& [id, base] : baselineItems) {
        const auto found = otherItems.find(id);
        if (found == otherItems.end() || !complete(base) || !complete(found->second)) continue;
        baselineNll.push_back(meanOf(base, &ItemOutcome::nll));
        otherNll.push_back(meanOf(found->second, &ItemOutcome::nll));
        baselineScore.push_back(meanOf(base, &ItemOutcome::score));
        otherScore.push_back(meanOf(found->second, &ItemOutcome::score));
        for (const auto& [position, outcome] : base) {
            const bool otherCorrect = found->second.at(position)->correct();
            const auto p = static_cast<std::size_t>(position);
            if (outcome->correct() && !otherCorrect) ++onlyBaseline[p];
            if (!outcome->correct() && otherCorrect) ++onlyOther[p];
        }
    }

    Comparison comparison;
    comparison.items = static_cast<std::int64_t>(baselineNll.size());
    comparison.baselineNll = mean(baselineNll);
    comparison.otherNll = mean(otherNll);
    comparison.reference = reference;
    comparison.nll = pairedBootstrap(baselineNll, otherNll, seed);
    comparison.score = pairedBootstrap(baselineScore, otherScore, seed);
    const bool enough = comparison.items >= kFewestItems;
    if (!enough) {
        comparison.nll.pValue = comparison.score.pValue = std::nullopt;
        comparison.nll.interval = comparison.score.interval = std::nullopt;
    } else if (!comparison.score.interval) {
        const std::vector<double> same(baselineScore.size(), comparison.score.meanDifference);
        comparison.score.interval = boundedMeanInterval(same, seed, {-1.0, 1.0});
    }
    for (std::size_t p = 0; p < positions; ++p) {
        comparison.mcnemarByPosition.push_back(enough ? std::optional(mcnemarExact(onlyBaseline[p], onlyOther[p]))
                                                      : std::nullopt);
    }
    comparison.nllHolm = comparison.nll.pValue;
    comparison.scoreHolm = comparison.score.pValue;
    comparison.mcnemarHolm = comparison.mcnemarByPosition;
    conclude(comparison, 1);
    return comparison;
}

void adjustTogether(std::span<Comparison> comparisons) {
    std::vector<std::optional<double>> nll, score, mcnemar;
    for (const Comparison& one : comparisons) {
        nll.push_back(one.nll.pValue);
        score.push_back(one.score.pValue);
        mcnemar.insert(mcnemar.end(), one.mcnemarByPosition.begin(), one.mcnemarByPosition.end());
    }
    nll = holmOf(nll);
    score = holmOf(score);
    mcnemar = holmOf(mcnemar);
    auto next = mcnemar.begin();
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
        Comparison& one = comparisons[i];
        one.nllHolm = nll[i];
        one.scoreHolm = score[i];
        const auto count = static_cast<std::ptrdiff_t>(one.mcnemarByPosition.size());
        one.mcnemarHolm.assign(next, next + count);
        next += count;
        conclude(one, comparisons.size());
    }
}

void keepSharedItems(std::span<std::vector<ItemOutcome>* const> sides, int numPositions) {
    std::map<std::string, std::size_t> having;  // item → sides
    for (const std::vector<ItemOutcome>* side : sides) {
        for (const auto& [id, item] : itemsById(*side, numPositions)) {
            if (isComplete(item, numPositions) || isTooLong(item)) ++having[std::string(id)];
        }
    }
    for (std::vector<ItemOutcome>* side : sides) {
        std::erase_if(*side, [&](const ItemOutcome& outcome) {
            const auto found = having.find(outcome.itemId);
            return found == having.end() || found->second != sides.size();
        });
    }
}

Interval meanAccuracyInterval(std::span<const ItemOutcome> outcomes, int numPositions, std::uint64_t seed,
                              bool graded) {
    std::vector<double> shares;
    for (const auto& [id, item] : itemsById(outcomes, numPositions)) {
        if (!isComplete(item, numPositions)) continue;
        shares.push_back(meanOf(item, &ItemOutcome::score));
    }
    return numPositions == 1 ? scoreInterval(shares, graded) : boundedMeanInterval(shares, seed);
}

NllIntervals nllIntervals(std::span<const ItemOutcome> outcomes, int numPositions, std::uint64_t seed) {
    std::vector<std::vector<double>> rows;
    for (const auto& [id, item] : itemsById(outcomes, numPositions)) {
        if (!isComplete(item, numPositions)) continue;
        std::vector<double>& row = rows.emplace_back();
        for (const auto& [position, outcome] : item) row.push_back(outcome->nll);
    }
    NllIntervals intervals;
    intervals.byPosition.resize(static_cast<std::size_t>(std::max(numPositions, 0)));
    const auto resampled = resampledRows(rows, seed);
    if (!resampled) return intervals;
    constexpr Interval kNoRange;  // a mean is always defined
    for (std::size_t p = 0; p < intervals.byPosition.size(); ++p) {
        intervals.byPosition[p] = figureInterval(
            *resampled, [p](std::span<const double> means) { return means[p]; }, kNoRange);
    }
    intervals.mean = figureInterval(*resampled, mean, kNoRange);
    return intervals;
}

}  // namespace lpes::analysis
