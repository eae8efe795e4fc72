#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/statistics.h"

namespace lpes::analysis {

/// One item at one evidence position.
struct ItemOutcome {
    std::string itemId;
    int position = 0;  ///< ordinal in the run's list of positions
    int goldIndex = 0;
    int goldToken = 0;  ///< first token of the evidence
    int promptTokens = 0;
    bool skippedTooLong = false;           ///< prompt and answer exceed the model's context: counted, never cut
    double score = 0.0;                    ///< 0 … 1, by the run's rule
    double nll = 0.0;                      ///< mean over the answer's tokens
    std::optional<bool> strict;            ///< every answer token was the likeliest under teacher forcing
    std::string generated;                 ///< raw answer of generation scoring, else empty
    std::optional<double> generatedScore;  ///< of the generated text, by the benchmark's rule
    std::int64_t unknownTokens = 0;        ///< of the answer, outside the vocabulary: `generated` is without them

    [[nodiscard]] bool correct() const { return score >= 1.0; }
};

inline constexpr int kGoldIndexVaries = -1;

/// A position's row as `eval --json` prints it (cli.md).
struct PositionResult {
    std::string position;
    int goldIndex = 0;  ///< kGoldIndexVaries: it is not the same for all items
    double meanTokenIndex = 0.0;
    std::int64_t n = 0;
    std::int64_t correct = 0;
    double accuracy = 0.0;             ///< mean score
    double ciLow = 0.0, ciHigh = 1.0;  ///< 95 %: Wilson's where every score is 0 or 1, else boundedMeanInterval
    double answerNll = 0.0;
};

/// Accuracy by position (methods.md §4). Items that were skipped do not enter n.
struct AccuracyByPosition {
    std::vector<PositionResult> positions;
    std::int64_t items = 0;           ///< distinct items that count at every position
    std::int64_t skippedTooLong = 0;  ///< distinct items left out
    double meanAccuracy = 0.0;        ///< mean over positions
    double gap = 0.0;                 ///< max − min over positions
};

/// An item that is too long at any position is left out at all of them, so that positions stay paired.
/// `graded`: the rule gives more than 0 and 1, so that no interval is a proportion's, whatever the scores are.
[[nodiscard]] AccuracyByPosition accuracyByPosition(std::span<const ItemOutcome> outcomes,
                                                    std::span<const std::string> positionLabels, bool graded = false);

/// Baseline against another on the same items: paired bootstrap on each item's mean answer NLL over positions (lower is
/// better; meanDifference = other − baseline), and an exact McNemar test per position for information (methods.md §2).
/// No test has a p value, and no difference an interval, below kFewestItems items.
struct Comparison {
    std::int64_t items = 0;  ///< that both sides have scored at every position
    PairedBootstrap nll;
    PairedBootstrap score;  ///< of each item's mean score over positions (higher is better); the interval is there with
                            ///< equal differences too, because scores are bounded (boundedMeanInterval)
    std::vector<std::optional<double>> mcnemarByPosition;
    /// Holm's adjustment over the comparisons of adjustTogether; before it the test's own p value. McNemar's tests are
    /// adjusted over comparisons and positions.
    std::optional<double> nllHolm, scoreHolm;
    std::vector<std::optional<double>> mcnemarHolm;
    bool better = false;  ///< nll difference below 0 with nllHolm < 0.05
    std::string verdict;  ///< one sentence in words, with the figures

    double baselineNll = 0.0, otherNll = 0.0;  ///< means
    std::string reference;                     ///< the baseline's name in the verdict
};
/// Items that either side lacks are left out.
[[nodiscard]] Comparison compareOutcomes(std::span<const ItemOutcome> baseline, std::span<const ItemOutcome> other,
                                         int numPositions, std::uint64_t seed,
                                         std::string_view reference = "the baseline");

/// Comparisons that are read side by side: their p values by Holm's method, and better and verdict by these.
void adjustTogether(std::span<Comparison> comparisons);

/// Leaves every side the items that all of them have scored at every position, and those that are too long: what is
/// left are the same items everywhere, also where the work was stopped between two sides or two positions of an item.
void keepSharedItems(std::span<std::vector<ItemOutcome>* const> sides, int numPositions);

/// 95 % interval of the mean accuracy (boundedMeanInterval): items are drawn, each with the mean score of its
/// positions, because the positions of one item hang together. Where there is one position, its own interval
/// (PositionResult), for which `graded` is as in accuracyByPosition. Items that are not complete are left out.
[[nodiscard]] Interval meanAccuracyInterval(std::span<const ItemOutcome> outcomes, int numPositions, std::uint64_t seed,
                                            bool graded = false);

/// 95 % intervals of the answer NLL (figureInterval): items are drawn, all positions of an item together; none below
/// kFewestItems, or where one is not finite. Items that are not complete are left out.
struct NllIntervals {
    std::vector<std::optional<Interval>> byPosition;
    std::optional<Interval> mean;
};
[[nodiscard]] NllIntervals nllIntervals(std::span<const ItemOutcome> outcomes, int numPositions, std::uint64_t seed);

}  // namespace lpes::analysis
