#include "core/analysis/position_bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/analysis/cochran_q.h"
#include "core/analysis/friedman.h"

namespace lpes::analysis {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Scores = std::vector<double>;

const nlohmann::json& golden() {
    static const auto kGolden = [] {
        std::ifstream file(LPES_TEST_DATA "/golden/position_bias.json");
        return nlohmann::json::parse(file);
    }();
    return kGolden;
}

/// "110" is an item that is right at the first two of three positions.
std::vector<std::vector<bool>> table(const std::vector<std::string>& rows) {
    std::vector<std::vector<bool>> items;
    for (const std::string& row : rows) {
        std::vector<bool>& item = items.emplace_back();
        for (const char c : row) item.push_back(c == '1');
    }
    return items;
}

const std::vector<std::string> kLabels{"begin", "middle", "end"};
const Scores kPositions{0.0, 0.5, 1.0};

PositionBias biasOf(const std::vector<std::string>& rows) {
    std::vector<ItemOutcome> outcomes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t p = 0; p < rows[i].size(); ++p) {
            ItemOutcome& outcome = outcomes.emplace_back();
            outcome.itemId = "item/" + std::to_string(i);
            outcome.position = static_cast<int>(p);
            outcome.score = rows[i][p] == '1' ? 1.0 : 0.0;
            outcome.skippedTooLong = rows[i][p] == 'x';
        }
    }
    return positionBias(outcomes, kLabels, kPositions);
}

std::vector<std::string> repeated(int count, const std::string& row) {
    return std::vector<std::string>(static_cast<std::size_t>(count), row);
}

TEST(CochranQ, AgreesWithStatsmodels) {
    ASSERT_GE(golden().at("cochran").size(), 8u);
    for (const auto& row : golden().at("cochran")) {
        const CochranQ test = cochranQAsymptotic(table(row.at("table")));
        EXPECT_NEAR(test.q, row.at("q").get<double>(), 1e-9);
        EXPECT_EQ(test.degreesOfFreedom, row.at("df").get<int>());
        EXPECT_NEAR(test.pValue, row.at("p").get<double>(), 1e-9);
        EXPECT_FALSE(test.exact);
    }
}

TEST(CochranQ, CountsEveryDealOfSmallTables) {
    int counted = 0;
    for (const auto& row : golden().at("cochran")) {
        if (!row.contains("exact")) continue;
        ++counted;
        const CochranQ test = cochranQ(table(row.at("table")));
        EXPECT_TRUE(test.exact);
        EXPECT_NEAR(test.pValue, row.at("exact").get<double>(), 1e-12);
    }
    EXPECT_GE(counted, 4);
}

TEST(CochranQ, IsMcNemarsTestForTwoConditions) {
    std::vector<std::string> rows = repeated(9, "10");
    rows.insert(rows.end(), {"01", "01", "11", "00"});
    EXPECT_NEAR(cochranQ(table(rows)).pValue, mcnemarExact(9, 2), 1e-12);
}

TEST(CochranQ, TurnsToChiSquaredWhereTheDealsAreTooMany) {
    const auto& large = golden().at("cochran").back();
    const CochranQ test = cochranQ(table(large.at("table")));
    EXPECT_FALSE(test.exact);
    EXPECT_NEAR(test.pValue, large.at("p").get<double>(), 1e-9);
}

TEST(CochranQ, SaysNothingWithoutADifference) {
    EXPECT_EQ(cochranQ(table({"111", "000"})).pValue, 1.0);
    EXPECT_EQ(cochranQ(table({"1", "0"})).pValue, 1.0);
    EXPECT_EQ(cochranQ({}).pValue, 1.0);
    EXPECT_EQ(cochranQ({}).degreesOfFreedom, 0);
}

TEST(PositionBias, SensitivityIndexComparesWorstWithBest) {
    EXPECT_NEAR(*positionSensitivityIndex(Scores{0.8, 0.2, 0.6}), 0.75, 1e-15);
    EXPECT_EQ(positionSensitivityIndex(Scores{0.5, 0.5}), 0.0);
    EXPECT_EQ(positionSensitivityIndex(Scores{0.5, 0.0}), 1.0);
    EXPECT_FALSE(positionSensitivityIndex(Scores{0.0, 0.0}));
    EXPECT_FALSE(positionSensitivityIndex(Scores{-1.0, 0.5}));
    EXPECT_FALSE(positionSensitivityIndex(Scores{std::numeric_limits<double>::quiet_NaN(), 0.5}));
    EXPECT_FALSE(positionSensitivityIndex(Scores{}));
}

TEST(PositionBias, UShapeIndexHoldsTheEndsAgainstTheInterior) {
    EXPECT_NEAR(*uShapeIndex(Scores{0.9, 0.2, 0.4, 0.7}), 0.5, 1e-15);
    EXPECT_NEAR(*uShapeIndex(Scores{0.1, 0.5, 0.1}), -0.4, 1e-15);
    EXPECT_FALSE(uShapeIndex(Scores{0.9, 0.2}));
}

TEST(PositionBias, CurvatureIsTheParabolas) {
    for (const auto& row : golden().at("curves")) {
        EXPECT_NEAR(*quadraticCurvature(row.at("positions").get<Scores>(), row.at("scores").get<Scores>()),
                    row.at("curvature").get<double>(),
                    1e-6 * std::max(1.0, std::abs(row.at("curvature").get<double>())));
    }
    EXPECT_NEAR(*quadraticCurvature(Scores{0.0, 0.5, 1.0}, Scores{1.0, 0.0, 1.0}), 1.0, 1e-14);
    EXPECT_NEAR(*quadraticCurvature(Scores{0.0, 0.25, 0.5, 1.0}, Scores{0.0, 0.25, 0.5, 1.0}), 0.0, 1e-14);
    EXPECT_FALSE(quadraticCurvature(Scores{0.0, 0.5, 0.5}, Scores{1.0, 0.0, 1.0}));
    EXPECT_FALSE(quadraticCurvature(Scores{0.0, 0.5, 1.0}, Scores{1.0, 0.0}));
}

TEST(PositionBias, NoiseIsTheSpreadOfRepeatedRuns) {
    const RunNoise noise = runNoise(Scores{0.5, 0.54, 0.46});
    EXPECT_EQ(noise.runs, 3);
    EXPECT_NEAR(noise.mean, 0.5, 1e-15);
    EXPECT_NEAR(noise.standardDeviation, 0.04, 1e-15);
    EXPECT_NEAR(noise.range, 0.08, 1e-15);
    EXPECT_EQ(runNoise(Scores{0.5}).standardDeviation, 0.0);
    EXPECT_EQ(runNoise(Scores{}).runs, 0);
}

TEST(PositionBias, LostMiddleIsFoundAndNamed) {
    const PositionBias bias = biasOf(repeated(12, "101"));
    EXPECT_TRUE(bias.found);
    EXPECT_EQ(bias.items, 12);
    EXPECT_EQ(bias.gap, 1.0);
    EXPECT_EQ(bias.sensitivityIndex, 1.0);
    EXPECT_EQ(bias.uShape, 1.0);
    EXPECT_NEAR(*bias.curvature, 1.0, 1e-14);
    EXPECT_THAT(bias.verdict, StartsWith("Position bias, U-shaped, weakest between the ends: accuracy 1.000 at begin "
                                         "against 0.000 at middle (Cochran's Q = 24, "));
    EXPECT_THAT(bias.verdict, HasSubstr("exact, 12 items"));
    EXPECT_THAT(biasOf(repeated(12, "110")).verdict, StartsWith("Position bias, falling towards the end"));
    EXPECT_THAT(biasOf(repeated(12, "001")).verdict, StartsWith("Position bias, rising towards the end"));
    EXPECT_THAT(biasOf(repeated(12, "010")).verdict, StartsWith("Position bias, strongest between the ends"));
}

TEST(PositionBias, NoBiasIsAVerdictToo) {
    std::vector<std::string> rows = repeated(6, "111");
    rows.insert(rows.end(), {"100", "010", "001", "000", "110", "011"});
    const PositionBias bias = biasOf(rows);
    EXPECT_FALSE(bias.found);
    EXPECT_THAT(bias.verdict, StartsWith("No position bias found: accuracy 0.667 to 0.750 over 3 positions"));
}

// scipy.stats.friedmanchisquare, scipy 1.16.
TEST(Friedman, AgreesWithScipy) {
    const std::vector<std::vector<double>> graded{{1, 0.5, 0.25},  {0.75, 0.5, 0.5}, {1, 0, 0.25},
                                                  {0.5, 0.5, 0.5}, {0.25, 0.75, 1},  {1, 0.5, 0.75}};
    const Friedman test = friedman(graded);
    EXPECT_NEAR(test.chiSquared, 3.2631578947368363, 1e-12);
    EXPECT_NEAR(test.pValue, 0.19562045574649425, 1e-12);
    EXPECT_EQ(test.degreesOfFreedom, 2);
}

TEST(Friedman, OfRightAndWrongIsCochransQ) {
    const std::vector<std::vector<double>> scores{{1, 0, 1}, {1, 0, 0}, {1, 1, 1}, {0, 0, 1}, {1, 0, 1}};
    const Friedman test = friedman(scores);
    EXPECT_NEAR(test.chiSquared, 4.5, 1e-12);
    EXPECT_NEAR(test.chiSquared, cochranQAsymptotic(table({"101", "100", "111", "001", "101"})).q, 1e-12);
}

TEST(Friedman, WithoutDifferencesSaysNothing) {
    EXPECT_EQ(friedman({}).pValue, 1.0);
    EXPECT_EQ(friedman(std::vector<std::vector<double>>{{1.0}, {0.5}}).pValue, 1.0);
    EXPECT_EQ(friedman(std::vector<std::vector<double>>(5, {0.5, 0.5})).pValue, 1.0);
}

TEST(PositionBias, GradedScoresCountByTheirValue) {
    std::vector<ItemOutcome> outcomes;
    for (int item = 0; item < 12; ++item) {
        for (int position = 0; position < 3; ++position) {
            ItemOutcome& outcome = outcomes.emplace_back();
            outcome.itemId = "item/" + std::to_string(item);
            outcome.position = position;
            outcome.score = position == 1 ? 0.25 : 0.75;  // none is wholly right
        }
    }
    const PositionBias bias = positionBias(outcomes, kLabels, kPositions);
    EXPECT_TRUE(bias.found);
    EXPECT_NEAR(bias.gap, 0.5, 1e-15);
    EXPECT_NEAR(*bias.sensitivityIndex, 1.0 - 0.25 / 0.75, 1e-15);
    EXPECT_NEAR(*bias.uShape, 0.5, 1e-15);
    EXPECT_THAT(bias.verdict, StartsWith("Position bias, U-shaped, weakest between the ends: mean score 0.750 at begin "
                                         "against 0.250 at middle (Friedman's χ² = "));
}

TEST(PositionBias, WhereAllIsWrongOrAllIsRightThereIsNoVerdict) {
    EXPECT_THAT(biasOf(repeated(12, "000")).verdict, StartsWith("No verdict: no answer is right at any position"));
    EXPECT_THAT(biasOf(repeated(12, "111")).verdict, StartsWith("No verdict: every answer is right at every position"));
}

TEST(PositionBias, NeedsTenItemsThatAreComplete) {
    std::vector<std::string> rows = repeated(9, "101");
    rows.push_back("10x");
    rows.push_back("10");
    const PositionBias bias = biasOf(rows);
    EXPECT_FALSE(bias.found);
    EXPECT_FALSE(bias.pValue) << "no p value that would be read as a verdict";
    EXPECT_EQ(bias.items, 9);
    EXPECT_THAT(bias.verdict, StartsWith("No verdict: too few items, 9 "));
    rows.push_back("101");
    EXPECT_TRUE(biasOf(rows).found);
    EXPECT_LT(biasOf(rows).pValue.value(), 0.05);
    EXPECT_THAT(biasOf({}).verdict, StartsWith("No verdict: too few items, 0 "));
}

void expectInterval(const std::optional<Interval>& interval, double low, double high) {
    ASSERT_TRUE(interval);
    EXPECT_NEAR(interval->low, low, 1e-12);
    EXPECT_NEAR(interval->high, high, 1e-12);
}

// tests/golden/make_statistics_golden.py has the same table.
TEST(PositionBias, FiguresHaveIntervalsOverItems) {
    std::vector<std::string> rows = repeated(7, "101");
    for (const auto& [count, row] : {std::pair{4, "111"}, std::pair{3, "001"}, std::pair{6, "000"}}) {
        const auto more = repeated(count, row);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    // Of one letter, so that the order of the ids is that of the rows.
    std::vector<ItemOutcome> outcomes;
    Scores uShapes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t p = 0; p < 3; ++p) {
            ItemOutcome& outcome = outcomes.emplace_back();
            outcome.itemId = std::string(1, static_cast<char>('a' + i));
            outcome.position = static_cast<int>(p);
            outcome.score = rows[i][p] == '1' ? 1.0 : 0.0;
        }
        uShapes.push_back(*uShapeIndex(Scores{rows[i][0] - 48.0, rows[i][1] - 48.0, rows[i][2] - 48.0}));
    }
    const PositionBias bias = positionBias(outcomes, kLabels, kPositions);
    ASSERT_TRUE(bias.found);
    expectInterval(bias.gapInterval, 0.3, 0.7);
    expectInterval(bias.sensitivityInterval, 0.46153846153846156, 0.9333333333333333);
    const Interval uShape = bootstrapMeanInterval(uShapes, 1);
    expectInterval(bias.uShapeInterval, uShape.low, uShape.high);
    expectInterval(bias.curvatureInterval, uShape.low, uShape.high);  // of three positions the same
    EXPECT_NE(positionBias(outcomes, kLabels, kPositions, 2).uShapeInterval->low, uShape.low) << "another seed";
}

TEST(PositionBias, AGapThatIsNoneReachesDownToNothing) {
    std::vector<std::string> rows = repeated(6, "111");
    rows.insert(rows.end(), {"100", "010", "001", "000", "110", "011"});
    const PositionBias bias = biasOf(rows);
    ASSERT_FALSE(bias.found);
    ASSERT_TRUE(bias.gapInterval && bias.sensitivityInterval);
    EXPECT_EQ(bias.gapInterval->low, 0.0);
    EXPECT_EQ(bias.sensitivityInterval->low, 0.0);
    EXPECT_GT(bias.gapInterval->high, bias.gap);
    EXPECT_LT(bias.uShapeInterval->low, 0.0) << "two-sided by itself";
}

// 0.05^(1/12) = 0.779078 of the items are like those that were met, with 95 % confidence.
TEST(PositionBias, WhereItemsAreAlikeIntervalsAreWhatWasNotSeen) {
    const double met = std::exp(std::log(0.05) / 12), rest = 1.0 - met;
    const PositionBias lost = biasOf(repeated(12, "101"));
    expectInterval(lost.gapInterval, met - rest, 1.0);
    expectInterval(lost.sensitivityInterval, 1.0 - rest / met, 1.0);
    expectInterval(lost.uShapeInterval, met - rest, 1.0);
    expectInterval(lost.curvatureInterval, met - rest, 1.0);
    const PositionBias wrong = biasOf(repeated(12, "000"));
    expectInterval(wrong.gapInterval, 0.0, rest);
    EXPECT_FALSE(wrong.sensitivityInterval) << "nothing is right: there is no index";
    expectInterval(wrong.uShapeInterval, -rest, rest);
    const PositionBias right = biasOf(repeated(12, "111"));
    expectInterval(right.gapInterval, 0.0, rest);
    expectInterval(right.sensitivityInterval, 0.0, rest);
}

TEST(PositionBias, OfFewItemsOrOnePositionNoFigureHasAnInterval) {
    for (const PositionBias& bias :
         {biasOf(repeated(9, "101")), positionBias({}, std::vector<std::string>{"begin"}, Scores{0.0})}) {
        EXPECT_FALSE(bias.gapInterval || bias.sensitivityInterval || bias.uShapeInterval || bias.curvatureInterval);
    }
    const PositionBias none = biasOf({});
    EXPECT_FALSE(none.gapInterval);
}

TEST(PositionBias, NeedsTwoPositions) {
    EXPECT_THAT(positionBias({}, std::vector<std::string>{"begin"}, Scores{0.0}).verdict,
                StartsWith("No verdict: position bias shows between two positions or more, there is 1"));
}

}  // namespace
}  // namespace lpes::analysis
