#include "core/analysis/position_accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/analysis/verdict.h"

namespace lpes::analysis {

namespace {

/// Outcomes by item (in the order of their ids, so that nothing depends on the order in which workers finished) and
/// position. Of two outcomes for the same place the later counts.
using ByItem = std::map<std::string_view, std::map<int, const ItemOutcome*>>;

ByItem groupByItem(std::span<const ItemOutcome> outcomes, int numPositions) {
    ByItem items;
    for (const ItemOutcome& outcome : outcomes) {
        if (outcome.position < 0 || outcome.position >= numPositions) continue;
        items[outcome.itemId][outcome.position] = &outcome;
    }
    return items;
}

bool tooLong(const std::map<int, const ItemOutcome*>& item) {
    return std::any_of(item.begin(), item.end(), [](const auto& entry) { return entry.second->skippedTooLong; });
}

double meanNll(const std::map<int, const ItemOutcome*>& item) {
    double sum = 0.0;
    for (const auto& [position, outcome] : item) sum += outcome->nll;
    return sum / static_cast<double>(item.size());
}

bool isComplete(const std::map<int, const ItemOutcome*>& item, int numPositions) {
    return item.size() == static_cast<std::size_t>(std::max(numPositions, 0)) && !item.empty() && !tooLong(item);
}

}  // namespace

AccuracyByPosition accuracyByPosition(std::span<const ItemOutcome> outcomes,
                                      std::span<const std::string> positionLabels) {
    const ByItem items = groupByItem(outcomes, static_cast<int>(positionLabels.size()));
    AccuracyByPosition result;
    result.positions.resize(positionLabels.size());
    std::vector<double> tokenSum(positionLabels.size()), nllSum(positionLabels.size());
    for (std::size_t p = 0; p < positionLabels.size(); ++p) result.positions[p].position = positionLabels[p];

    for (const auto& [id, item] : items) {
        // The gold index does not depend on the item, and is known even where every item is too long.
        for (const auto& [position, outcome] : item) {
            result.positions[static_cast<std::size_t>(position)].goldIndex = outcome->goldIndex;
        }
        if (tooLong(item)) {
            ++result.skippedTooLong;
            continue;
        }
        if (item.size() == positionLabels.size()) ++result.items;
        for (const auto& [position, outcome] : item) {
            const auto p = static_cast<std::size_t>(position);
            ++result.positions[p].n;
            result.positions[p].correct += outcome->correct ? 1 : 0;
            tokenSum[p] += outcome->goldToken;
            nllSum[p] += outcome->nll;
        }
    }

    std::vector<double> accuracies;
    for (std::size_t p = 0; p < result.positions.size(); ++p) {
        PositionResult& row = result.positions[p];
        const Interval wilson = wilsonInterval(row.correct, row.n);
        row.ciLow = wilson.low;
        row.ciHigh = wilson.high;
        if (row.n == 0) continue;
        const double n = static_cast<double>(row.n);
        row.meanTokenIndex = tokenSum[p] / n;
        row.answerNll = nllSum[p] / n;
        row.accuracy = static_cast<double>(row.correct) / n;
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
    const ByItem baselineItems = groupByItem(baseline, numPositions);
    const ByItem otherItems = groupByItem(other, numPositions);
    const auto complete = [numPositions](const auto& item) { return isComplete(item, numPositions); };

    std::vector<double> baselineNll, otherNll;
    const auto positions = static_cast<std::size_t>(std::max(numPositions, 0));
    std::vector<std::int64_t> onlyBaseline(positions), onlyOther(positions);
    for (const auto& [id, base] : baselineItems) {
        const auto found = otherItems.find(id);
        if (found == otherItems.end() || !complete(base) || !complete(found->second)) continue;
        baselineNll.push_back(meanNll(base));
        otherNll.push_back(meanNll(found->second));
        for (const auto& [position, outcome] : base) {
            const bool otherCorrect = found->second.at(position)->correct;
            const auto p = static_cast<std::size_t>(position);
            if (outcome->correct && !otherCorrect) ++onlyBaseline[p];
            if (!outcome->correct && otherCorrect) ++onlyOther[p];
        }
    }

    Comparison comparison;
    comparison.nll = pairedBootstrap(baselineNll, otherNll, seed);
    for (std::size_t p = 0; p < positions; ++p) {
        comparison.mcnemarByPosition.push_back(mcnemarExact(onlyBaseline[p], onlyOther[p]));
    }
    comparison.better = comparison.nll.meanDifference < 0.0 && comparison.nll.pValue < kSignificance;
    comparison.verdict = verdictSentence(comparison.nll, mean(baselineNll), mean(otherNll),
                                         static_cast<std::int64_t>(baselineNll.size()), reference);
    return comparison;
}

Interval meanAccuracyInterval(std::span<const ItemOutcome> outcomes, int numPositions, std::uint64_t seed) {
    std::vector<double> shares;
    for (const auto& [id, item] : groupByItem(outcomes, numPositions)) {
        if (!isComplete(item, numPositions)) continue;
        const auto right = std::ranges::count_if(item, [](const auto& at) { return at.second->correct; });
        shares.push_back(static_cast<double>(right) / numPositions);
    }
    return bootstrapMeanInterval(shares, seed);
}

}  // namespace lpes::analysis
