#include "core/analysis/position_accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace lpes::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kLabels{"begin", "middle", "end"};

ItemOutcome outcome(const std::string& id, int position, bool correct, double nll) {
    ItemOutcome result;
    result.itemId = id;
    result.position = position;
    result.goldIndex = position * 10;
    result.goldToken = 20 + position * 100;
    result.score = correct ? 1.0 : 0.0;
    result.nll = nll;
    return result;
}

/// `count` items at three positions; item i has NLL `nll` + i/100, and is right at positions below `correct`.
std::vector<ItemOutcome> outcomes(int count, double nll, int correct = 1) {
    std::vector<ItemOutcome> all;
    for (int i = 0; i < count; ++i) {
        for (int p = 0; p < 3; ++p)
            all.push_back(outcome("words/" + std::to_string(i), p, p < correct, nll + i / 100.0));
    }
    return all;
}

TEST(SharedItems, AreThoseThatEverySideHasAtEveryPosition) {
    auto one = outcomes(4, 1.0), other = outcomes(3, 2.0);
    other.pop_back();  // item 2 lacks its last position
    ItemOutcome tooLong = outcome("long", 0, false, 0.0);
    tooLong.skippedTooLong = true;
    one.push_back(tooLong);
    other.push_back(tooLong);
    std::vector<ItemOutcome>* const sides[] = {&one, &other};
    keepSharedItems(sides, 3);
    for (const std::vector<ItemOutcome>* side : sides) {
        const AccuracyByPosition accuracy = accuracyByPosition(*side, kLabels);
        EXPECT_EQ(accuracy.items, 2);
        EXPECT_EQ(accuracy.positions[2].n, 2);
        EXPECT_EQ(accuracy.skippedTooLong, 1);
    }
    other.clear();
    keepSharedItems(sides, 3);
    EXPECT_TRUE(one.empty()) << "nothing to set it beside";
}

TEST(MeanAccuracyInterval, ResamplesItemsAndNotTheirPositions) {
    // Every item is right at one position of three: of twelve equal scores resampling would make a point.
    const auto same = outcomes(12, 1.0, 1);
    const Interval equal = meanAccuracyInterval(same, 3, 1);
    const double met = std::exp(std::log(0.05) / 12);
    EXPECT_NEAR(equal.low, met / 3, 1e-12);
    EXPECT_NEAR(equal.high, met / 3 + 1.0 - met, 1e-12);
    // Half of the items right everywhere, half nowhere: wider than 36 answers of their own would be.
    std::vector<ItemOutcome> halves;
    for (int i = 0; i < 12; ++i) {
        for (int p = 0; p < 3; ++p) halves.push_back(outcome(std::to_string(i), p, i % 2 == 0, 1.0));
    }
    const Interval wide = meanAccuracyInterval(halves, 3, 1);
    const Interval wilson = wilsonInterval(18, 36);
    EXPECT_LT(wide.low, wilson.low);
    EXPECT_GT(wide.high, wilson.high);
    halves.pop_back();
    EXPECT_NE(meanAccuracyInterval(halves, 3, 1).low, wide.low) << "an item that is not complete is left out";
}

TEST(MeanAccuracyInterval, OfOnePositionIsItsOwn) {
    const std::string label = "as given";
    std::vector<ItemOutcome> exam;
    for (int i = 0; i < 12; ++i) exam.push_back(outcome(std::to_string(i), 0, i % 3 == 0, 1.0));
    for (const bool graded : {false, true}) {
        const PositionResult row = accuracyByPosition(exam, std::span(&label, 1), graded).positions.front();
        const Interval interval = meanAccuracyInterval(exam, 1, 7, graded);
        EXPECT_EQ(interval.low, row.ciLow) << graded;
        EXPECT_EQ(interval.high, row.ciHigh) << graded;
    }
    EXPECT_EQ(meanAccuracyInterval(exam, 1, 7).low, wilsonInterval(4, 12).low);
    exam.front().skippedTooLong = true;
    EXPECT_EQ(meanAccuracyInterval(exam, 1, 7).low, wilsonInterval(3, 11).low) << "it is no part of either";
}

TEST(AccuracyByPosition, CountsAndAverages) {
    std::vector<ItemOutcome> all;
    for (int i = 0; i < 4; ++i) {
        for (int p = 0; p < 3; ++p) all.push_back(outcome(std::to_string(i), p, i < 3 - p, 1.0 + i + p));
    }
    all[0].goldToken = 30;  // item 0 at the begin
    const auto result = accuracyByPosition(all, kLabels);
    ASSERT_EQ(result.positions.size(), 3u);
    EXPECT_EQ(result.items, 4);
    EXPECT_EQ(result.skippedTooLong, 0);
    EXPECT_EQ(result.positions[0].position, "begin");
    EXPECT_EQ(result.positions[0].n, 4);
    EXPECT_EQ(result.positions[0].correct, 3);
    EXPECT_DOUBLE_EQ(result.positions[0].accuracy, 0.75);
    EXPECT_DOUBLE_EQ(result.positions[0].meanTokenIndex, 22.5);
    EXPECT_DOUBLE_EQ(result.positions[1].answerNll, 3.5);
    EXPECT_EQ(result.positions[2].goldIndex, 20);
    EXPECT_DOUBLE_EQ(result.meanAccuracy, 0.5);
    EXPECT_DOUBLE_EQ(result.gap, 0.5);
    const Interval wilson = wilsonInterval(3, 4);
    EXPECT_EQ(result.positions[0].ciLow, wilson.low);
    EXPECT_EQ(result.positions[0].ciHigh, wilson.high);
}

TEST(FieldReports, T21_TooLongItemsAreCountedAndLeftOutEverywhere) {
    auto all = outcomes(100, 1.0, 3);
    for (auto& one : all) {
        // Seven items are too long, and only at the end.
        const int item = std::stoi(one.itemId.substr(6));
        if (item < 7 && one.position == 2) {
            one.skippedTooLong = true;
            one.score = 0.0;
            one.nll = 1e9;
        }
    }
    const auto result = accuracyByPosition(all, kLabels);
    EXPECT_EQ(result.skippedTooLong, 7);
    EXPECT_EQ(result.items, 93);
    for (const auto& position : result.positions) {
        EXPECT_EQ(position.n, 93) << position.position;
        EXPECT_EQ(position.accuracy, 1.0);
        EXPECT_LT(position.answerNll, 3.0);
    }
}

TEST(AccuracyByPosition, StaysHonestWhenEverythingIsTooLong) {
    auto all = outcomes(3, 1.0);
    for (auto& one : all) one.skippedTooLong = true;
    const auto result = accuracyByPosition(all, kLabels);
    EXPECT_EQ(result.items, 0);
    EXPECT_EQ(result.skippedTooLong, 3);
    EXPECT_EQ(result.positions[2].n, 0);
    EXPECT_EQ(result.positions[2].goldIndex, 20);
    EXPECT_EQ(result.positions[2].ciLow, 0.0);
    EXPECT_EQ(result.positions[2].ciHigh, 1.0);
    EXPECT_EQ(result.gap, 0.0);
}

TEST(AccuracyByPosition, OfARunThatStoppedEarlyCountsWhatThereIs) {
    auto all = outcomes(3, 1.0);
    all.pop_back();  // the last item lacks its last position
    const auto result = accuracyByPosition(all, kLabels);
    EXPECT_EQ(result.items, 2);
    EXPECT_EQ(result.positions[0].n, 3);
    EXPECT_EQ(result.positions[2].n, 2);
    EXPECT_EQ(accuracyByPosition({}, kLabels).positions.size(), 3u);
}

TEST(AccuracyByPosition, DoesNotDependOnTheOrderOfOutcomes) {
    auto all = outcomes(20, 1.1);
    const auto first = accuracyByPosition(all, kLabels);
    std::reverse(all.begin(), all.end());
    const auto second = accuracyByPosition(all, kLabels);
    for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(first.positions[p].answerNll, second.positions[p].answerNll);
}

TEST(CompareOutcomes, SaysBetterWithItsFigures) {
    const auto comparison = compareOutcomes(outcomes(40, 1.8, 1), outcomes(40, 1.5, 2), 3, 1);
    EXPECT_TRUE(comparison.better);
    EXPECT_NEAR(comparison.nll.meanDifference, -0.3, 1e-12);
    EXPECT_LT(comparison.nll.pValue.value(), 0.001);
    EXPECT_EQ(
        comparison.verdict,
        "Better than the baseline: answer NLL 1.695 against 1.995 nats (difference −0.300, the same for every item, p "
        "= 0.0002, paired bootstrap over 40 items)");
    ASSERT_EQ(comparison.mcnemarByPosition.size(), 3u);
    EXPECT_EQ(comparison.mcnemarByPosition[0], 1.0);
    EXPECT_NEAR(comparison.mcnemarByPosition[1].value(), std::pow(2.0, -39),
                1e-15);  // 40 of 40 right under one side only
    EXPECT_EQ(comparison.mcnemarByPosition[2], 1.0);
    EXPECT_NEAR(comparison.score.meanDifference, 1.0 / 3, 1e-12);
    ASSERT_TRUE(comparison.score.interval) << "scores are bounded, so that equal differences have one";
    EXPECT_LT(comparison.score.interval->low, 1.0 / 3);
    EXPECT_GT(comparison.score.interval->high, 1.0 / 3);
}

/// NLL lower by `gain` for three items of four, higher by as much for the fourth.
std::vector<ItemOutcome> noisy(double gain, int correct) {
    auto all = outcomes(40, 1.8, correct);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].nll += (i / 3) % 4 == 0 ? gain : -gain;
    return all;
}

TEST(AdjustTogether, StepsDownOverTheComparisonsAndGivesTheVerdictByThat) {
    const auto baseline = outcomes(40, 1.8);
    std::vector<Comparison> all;
    for (const auto& other : {noisy(0.3, 1), noisy(0.0, 2), noisy(0.1, 1)})
        all.push_back(compareOutcomes(baseline, other, 3, 1));
    const double first = all[0].nll.pValue.value(), third = all[2].nll.pValue.value();
    EXPECT_EQ(all[0].nllHolm, all[0].nll.pValue) << "alone it is its own";
    EXPECT_THAT(all[0].verdict, ::testing::Not(HasSubstr("Holm")));
    adjustTogether(all);
    // Both small ones are the smallest that 10,000 resamples give, or a little more: times 3 and times 2, never
    // falling.
    const double smaller = std::min(first, third), larger = std::max(first, third);
    EXPECT_NEAR(std::min(*all[0].nllHolm, *all[2].nllHolm), std::min(1.0, 3.0 * smaller), 1e-15);
    EXPECT_NEAR(std::max(*all[0].nllHolm, *all[2].nllHolm), std::min(1.0, std::max(3.0 * smaller, 2.0 * larger)),
                1e-15);
    EXPECT_EQ(all[1].nllHolm, 1.0);
    EXPECT_EQ(all[0].nll.pValue, first) << "the raw one stays";
    EXPECT_THAT(all[0].verdict, HasSubstr(" by Holm over 3 tests, paired bootstrap over 40 items"));
    EXPECT_FALSE(all[1].better);
    // McNemar: 40 discordant items at one of nine places, p = 2^-39, times nine; the others are 1.
    EXPECT_NEAR(all[1].mcnemarHolm[1].value(), 9.0 * std::pow(2.0, -39), 1e-15);
    EXPECT_EQ(all[0].mcnemarHolm, (std::vector<std::optional<double>>(3, 1.0)));
    EXPECT_NEAR(all[1].mcnemarByPosition[1].value(), std::pow(2.0, -39), 1e-15);
    adjustTogether({});
}

TEST(AdjustTogether, TakesAGainBackThatOneTestOfManyShowsByChance) {
    // Twenty tests of p = 0.02, say, are no find: 20 · 0.02 = 0.4.
    Comparison one;
    one.items = 40;
    one.nll.meanDifference = -0.1;
    one.nll.pValue = 0.02;
    one.reference = "the baseline";
    std::vector<Comparison> all(20, one);
    adjustTogether(std::span(all).first(1));
    EXPECT_TRUE(all[0].better);
    EXPECT_THAT(all[0].verdict, StartsWith("Better than the baseline"));
    adjustTogether(all);
    EXPECT_NEAR(all[0].nllHolm.value(), 0.4, 1e-15);
    EXPECT_FALSE(all[0].better);
    EXPECT_THAT(all[0].verdict, StartsWith("No significant difference from the baseline"));
}

TEST(CompareOutcomes, SaysWorse) {
    const auto comparison = compareOutcomes(outcomes(40, 1.5), outcomes(40, 1.8), 3, 1);
    EXPECT_FALSE(comparison.better);
    EXPECT_THAT(comparison.verdict,
                StartsWith("Worse than the baseline: answer NLL 1.995 against 1.695 nats (difference 0.300"));
}

TEST(CompareOutcomes, SaysThatThereIsNoDifference) {
    auto other = outcomes(40, 1.8);
    for (std::size_t i = 0; i < other.size(); ++i) other[i].nll += (i / 3) % 2 == 0 ? 0.5 : -0.5;
    const auto comparison = compareOutcomes(outcomes(40, 1.8), other, 3, 1);
    EXPECT_FALSE(comparison.better);
    EXPECT_THAT(comparison.verdict, StartsWith("No significant difference from the baseline:"));
    EXPECT_THAT(comparison.verdict, HasSubstr("(difference 0.000, 95 % −0."));
    const auto same = compareOutcomes(outcomes(40, 1.8), outcomes(40, 1.8), 3, 1);
    EXPECT_EQ(same.nll.pValue, 1.0);
    EXPECT_THAT(same.verdict, StartsWith("No significant difference"));
}

TEST(CompareOutcomes, ShowsASmallEffect) {
    auto other = outcomes(40, 1.8);
    for (auto& one : other) one.nll -= 0.0002;
    EXPECT_THAT(compareOutcomes(outcomes(40, 1.8), other, 3, 1).verdict, HasSubstr("difference −0.000200"));
}

TEST(CompareOutcomes, LeavesOutItemsThatEitherSideLacks) {
    const auto baseline = outcomes(20, 1.8);
    auto other = outcomes(22, 1.5);
    other.erase(other.begin(), other.begin() + 3);  // item 0
    other.erase(other.begin());                     // item 1 at the begin
    other[2].skippedTooLong = true;                 // item 2
    const auto comparison = compareOutcomes(baseline, other, 3, 1);
    EXPECT_THAT(comparison.verdict, HasSubstr("over 17 items"));
    EXPECT_NEAR(comparison.nll.meanDifference, -0.3, 1e-12);
}

TEST(CompareOutcomes, HasNoVerdictOnFewerThanTenItems) {
    const auto none = compareOutcomes(outcomes(5, 1.0), {}, 3, 1);
    EXPECT_FALSE(none.better);
    EXPECT_FALSE(none.nll.pValue);
    EXPECT_FALSE(none.score.interval);
    EXPECT_THAT(none.verdict, StartsWith("No verdict: too few items, 0 "));
    const auto nine = compareOutcomes(outcomes(9, 1.0), outcomes(9, 0.1), 3, 1);
    EXPECT_THAT(nine.verdict, StartsWith("No verdict: too few items, 9 "));
    EXPECT_FALSE(nine.better) << "however clear it looks";
    EXPECT_FALSE(nine.nll.pValue);
    EXPECT_FALSE(nine.nllHolm);
    EXPECT_FALSE(nine.score.pValue);
    EXPECT_FALSE(nine.score.interval);
    auto unlike = outcomes(2, 0.1);
    unlike.front().nll += 0.2;
    const auto two = compareOutcomes(outcomes(2, 1.0), unlike, 3, 1);
    EXPECT_FALSE(two.nll.interval) << "from the smaller to the larger it would exclude 0";
    EXPECT_LT(two.nll.meanDifference, 0.0);
    EXPECT_EQ(nine.mcnemarByPosition, (std::vector<std::optional<double>>(3)));
    std::vector<Comparison> few{nine, nine};
    adjustTogether(few);
    EXPECT_FALSE(few[1].nllHolm);
    EXPECT_EQ(few[1].mcnemarHolm, (std::vector<std::optional<double>>(3)));
    EXPECT_THAT(few[1].verdict, StartsWith("No verdict: too few items, 9 "));
    EXPECT_TRUE(compareOutcomes(outcomes(10, 1.0), outcomes(10, 0.1), 3, 1).better);
    EXPECT_THAT(compareOutcomes(outcomes(5, 1.0), outcomes(5, 0.1), 0, 1).verdict, StartsWith("No verdict:"));
}

TEST(AccuracyByPosition, GradedScoresHaveTheirMeanAndABootstrappedInterval) {
    std::vector<ItemOutcome> graded;
    for (int i = 0; i < 40; ++i) {
        ItemOutcome one = outcome("summary/" + std::to_string(i), 0, false, 1.0);
        one.score = 0.25 + 0.01 * (i % 4);
        graded.push_back(one);
    }
    const std::string label = "as given";
    const auto result = accuracyByPosition(graded, std::span(&label, 1));
    const PositionResult& row = result.positions.front();
    EXPECT_NEAR(row.accuracy, 0.265, 1e-12);
    EXPECT_EQ(row.correct, 0) << "none is wholly right";
    EXPECT_GT(row.ciLow, 0.26) << "Wilson's interval of a proportion would be far wider";
    EXPECT_LT(row.ciHigh, 0.27);
}

TEST(AccuracyByPosition, GradedScoresThatAreAllAlikeStillHaveAnInterval) {
    std::vector<ItemOutcome> wrong;
    for (int i = 0; i < 12; ++i) wrong.push_back(outcome("summary/" + std::to_string(i), 0, false, 1.0));
    const std::string label = "as given";
    const auto graded = accuracyByPosition(wrong, std::span(&label, 1), true);
    EXPECT_EQ(graded.positions.front().ciLow, 0.0);
    EXPECT_NEAR(graded.positions.front().ciHigh, 1.0 - std::exp(std::log(0.05) / 12), 1e-12);
}

TEST(NllIntervals, DrawTheSameItemsAtEveryPosition) {
    std::vector<ItemOutcome> outcomes;
    for (int i = 0; i < 12; ++i) {
        // What the end loses the begin gains: the mean over positions is nearly the same for all items.
        outcomes.push_back(outcome(std::to_string(100 + i), 0, true, 2.0 + 0.1 * i));
        outcomes.push_back(outcome(std::to_string(100 + i), 1, true, 2.0 - 0.1 * i + 0.001 * (i % 2)));
    }
    const NllIntervals intervals = nllIntervals(outcomes, 2, 1);
    ASSERT_EQ(intervals.byPosition.size(), 2u);
    ASSERT_TRUE(intervals.byPosition[0] && intervals.byPosition[1] && intervals.mean);
    EXPECT_LT(intervals.byPosition[0]->low, 2.55);
    EXPECT_GT(intervals.byPosition[0]->high, 2.55);
    EXPECT_NEAR(intervals.byPosition[0]->low + intervals.byPosition[1]->high, 4.0, 2e-3) << "mirrored";
    EXPECT_LT(intervals.mean->high - intervals.mean->low, 1e-3);
    EXPECT_GT(intervals.byPosition[0]->high - intervals.byPosition[0]->low, 0.3);
}

TEST(NllIntervals, LeaveOutWhatIsTooLongAndNeedTenItems) {
    std::vector<ItemOutcome> outcomes;
    for (int i = 0; i < 11; ++i) {
        outcomes.push_back(outcome(std::to_string(i), 0, true, 1.0 + 0.1 * i));
        outcomes.push_back(outcome(std::to_string(i), 1, true, 1.0 + 0.2 * i));
    }
    outcomes.pop_back();
    EXPECT_TRUE(nllIntervals(outcomes, 2, 1).byPosition[0]);
    EXPECT_TRUE(nllIntervals(outcomes, 2, 1).mean) << "ten are complete";
    outcomes.front().skippedTooLong = true;
    const NllIntervals nine = nllIntervals(outcomes, 2, 1);
    EXPECT_FALSE(nine.byPosition.at(0) || nine.byPosition.at(1)) << "one is too long";
    EXPECT_FALSE(nine.mean);
    EXPECT_FALSE(nllIntervals({}, 1, 1).mean);
}

TEST(AccuracyByPosition, SaysWhereTheGoldIndexIsNotTheSameForAllItems) {
    std::vector<ItemOutcome> outcomes{outcome("a", 0, true, 1.0), outcome("b", 0, true, 1.0)};
    const std::string label = "end";
    outcomes[0].goldIndex = outcomes[1].goldIndex = 4;
    EXPECT_EQ(accuracyByPosition(outcomes, std::span(&label, 1)).positions.front().goldIndex, 4);
    outcomes[1].goldIndex = 9;
    EXPECT_EQ(accuracyByPosition(outcomes, std::span(&label, 1)).positions.front().goldIndex, kGoldIndexVaries);
}

TEST(CompareOutcomes, HasNoVerdictOnNumbersThatAreNone) {
    auto other = outcomes(40, 0.5);
    other[7].nll = std::numeric_limits<double>::quiet_NaN();
    const auto comparison = compareOutcomes(outcomes(40, 1.8), other, 3, 1);
    EXPECT_FALSE(comparison.better);
    EXPECT_THAT(comparison.verdict, StartsWith("No verdict: an answer NLL is not a finite number"));
}

TEST(CompareOutcomes, DoesNotDependOnTheOrderOfOutcomes) {
    const auto baseline = outcomes(40, 1.8);
    auto other = outcomes(40, 1.7);
    for (std::size_t i = 0; i < other.size(); ++i) other[i].nll += std::sin(static_cast<double>(i));
    const auto first = compareOutcomes(baseline, other, 3, 1);
    std::reverse(other.begin(), other.end());
    const auto second = compareOutcomes(baseline, other, 3, 1);
    EXPECT_EQ(first.nll.pValue, second.nll.pValue);
    EXPECT_EQ(first.verdict, second.verdict);
}

}  // namespace
}  // namespace lpes::analysis
