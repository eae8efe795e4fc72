#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

CandidateRecord record(int generation, int index, double fitness, std::vector<double> scales, bool failed = false) {
    CandidateRecord made;
    made.candidate = {generation, index, {}, std::move(scales)};
    made.evaluation.fitness = fitness;
    made.evaluation.failed = failed;
    return made;
}

TEST(BestDistinct, SkipsFailuresAndEqualScalesAndBreaksTiesByAge) {
    SearchOutcome outcome;
    outcome.candidates = {record(0, 0, 1.0, {1.0}), record(0, 1, 3.0, {1.1}), record(0, 2, 9.0, {1.2}, true),
                          record(1, 0, 3.0, {1.1}), record(1, 1, 3.0, {1.3}), record(1, 2, 4.0, {1.4})};
    const auto best = bestDistinct(outcome, 3);
    ASSERT_EQ(best.size(), 3u);
    EXPECT_EQ(best[0].candidate.scales, std::vector{1.4});
    EXPECT_EQ(best[1].candidate.generation, 0);
    EXPECT_EQ(best[1].candidate.scales, std::vector{1.1});
    EXPECT_EQ(best[2].candidate.scales, std::vector{1.3});
    EXPECT_EQ(bestDistinct(outcome, 100).size(), 4u);
    EXPECT_TRUE(bestDistinct(outcome, 0).empty());
}

TEST(WeightedFitness, NormalisesTheWeightsAndSubtractsTheGap) {
    EXPECT_DOUBLE_EQ(weightedFitness({0.6, 0.2, 0.1}, {1, 1, 1}, 0.0), 0.3);
    EXPECT_DOUBLE_EQ(weightedFitness({0.6, 0.2, 0.1}, {2, 1, 1}, 0.0), 0.375);
    EXPECT_DOUBLE_EQ(weightedFitness({0.6, 0.2, 0.1}, {5, 5, 5}, 0.5), 0.05);
    EXPECT_DOUBLE_EQ(weightedFitness({-1.5}, {0.1}, 1.0), -1.5);
}

TEST(WeightedFitness, IsNoNumberWhereItHasNoMeaning) {
    EXPECT_TRUE(std::isnan(weightedFitness({}, {}, 0.0)));
    EXPECT_TRUE(std::isnan(weightedFitness({1.0, 2.0}, {1.0}, 0.0)));
    EXPECT_TRUE(std::isnan(weightedFitness({1.0, 2.0}, {0.0, 0.0}, 0.0)));
    EXPECT_TRUE(std::isnan(weightedFitness({1.0, std::nan("")}, {1.0, 1.0}, 0.0)));
}

TEST(EndReasonName, IsStable) {
    EXPECT_EQ(endReasonName(EndReason::Generations), "generations");
    EXPECT_EQ(endReasonName(EndReason::Evaluations), "max_evals");
    EXPECT_EQ(endReasonName(EndReason::TimeLimit), "time_limit");
    EXPECT_EQ(endReasonName(EndReason::Target), "target");
    EXPECT_EQ(endReasonName(EndReason::Patience), "patience");
    EXPECT_EQ(endReasonName(EndReason::Failures), "failures");
    EXPECT_EQ(endReasonName(EndReason::Stopped), "stopped");
}

}  // namespace
}  // namespace lpes::search
