#include "core/analysis/position_accuracy.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/items_by_id.h"
#include "core/analysis/verdict.h"

namespace lpes::analysis {

namespace {

double meanOf(const ItemByPosition& item, double ItemOutcome::*value) {
    double sum = 0.0;
    for (const auto& [position, outcome] : item) sum += outcome->*value;
    return sum / static_cast<double>(item.size());
}

/// Wilson's for proportions, a bootstrap (of a fixed seed, so that a report can be made again) for graded scores.
Interval scoreInterval(std::span<const double> scores, bool graded) {
    graded = graded || std::ranges::any_of(scores, [](double score) { return score != 0.0 && score != 1.0; });
    if (graded) return bootstrapMeanInterval(scores, 1);
    return wilsonInterval(std::ranges::count(scores, 1.0), static_cast<std::int64_t>(scores.size()));
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
    comparison.nll = pairedBootstrap(baselineNll, otherNll, seed);
    comparison.score = pairedBootstrap(baselineScore, otherScore, seed);
    for (std::size_t p = 0; p < positions; ++p) {
        comparison.mcnemarByPosition.push_back(mcnemarExact(onlyBaseline[p], onlyOther[p]));
    }
    const auto compared = static_cast<std::int64_t>(baselineNll.size());
    comparison.better =
        comparison.nll.meanDifference < 0.0 && comparison.nll.pValue < kSignificance && compared >= kFewestItems;
    comparison.verdict = verdictSentence(comparison.nll, mean(baselineNll), mean(otherNll), compared, reference);
    return comparison;
}

Interval meanAccuracyInterval(std::span<const ItemOutcome> outcomes, int numPositions, std::uint64_t seed) {
    std::vector<double> shares;
    for (const auto& [id, item] : itemsById(outcomes, numPositions)) {
        if (!isComplete(item, numPositions)) continue;
        shares.push_back(meanOf(item, &ItemOutcome::score));
    }
    return bootstrapMeanInterval(shares, seed);
}

}  // namespace lpes::analysis
