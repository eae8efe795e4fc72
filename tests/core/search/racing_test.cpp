#include "core/search/racing.h"

#include <gmock/gmock.h>

#include "core/base/random.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kLayers = 12;
constexpr int kItems = 16;

/// distanceFitness as a mean over items, each with noise of its own that all candidates share in part.
class ItemFitness : public FunctionFitness {
  public:
    static std::vector<double> scores(const std::vector<double>& scales, int count) {
        RandomStream items(1, kStreamTests);
        std::vector<double> scores;
        for (int i = 0; i < count; ++i) {
            const double hard = items.normal();
            RandomStream own(2, kStreamTests, static_cast<std::uint32_t>(i),
                             static_cast<std::uint32_t>(std::abs(scales[0]) * 1e6));
            scores.push_back(distanceFitness(scales) + hard + 0.05 * own.normal());
        }
        return scores;
    }
    static Evaluation of(const Candidate& candidate, int count) {
        Evaluation evaluation;
        evaluation.byItem = scores(candidate.scales, count);
        for (const double score : evaluation.byItem) evaluation.fitness += score / count;
        evaluation.byPosition = {evaluation.fitness};
        return evaluation;
    }
    ItemFitness() : FunctionFitness([](const Candidate& c, std::stop_token) { return of(c, kItems); }) {}
    int items() const override { return kItems; }
    Result<Evaluation> evaluateFirst(const Candidate& candidate, int count, int, std::stop_token stop) override {
        if (failLooks) return fail(ErrorCode::OutOfMemory, "no memory for a look");
        if (stop.stop_requested()) return stopped();
        looked += count;
        return of(candidate, count);
    }
    bool failLooks = false;
    std::atomic<int> looked = 0;
};

SearchSettings racingSettings() {
    SearchSettings settings = smallSettings();
    settings.racing = 0.05;
    return settings;
}

TEST(Looks, AreAtAQuarterAndAHalfAndNeverAtAll) {
    EXPECT_THAT(looks(100), ElementsAre(25, 50));
    EXPECT_THAT(looks(16), ElementsAre(4, 8));
    EXPECT_THAT(looks(8), ElementsAre(4));
    EXPECT_THAT(looks(4), IsEmpty());
    EXPECT_THAT(looks(0), IsEmpty());
}

TEST(FallenBehind, IsTheOneSidedPairedTTest) {
    const std::vector<std::vector<double>> runners{{1, 2, 3, 4}, {0.5, 1.8, 2.2, 3.7}};
    const auto verdicts = fallenBehind(runners, {}, 1, 0.05);
    EXPECT_FALSE(verdicts[0]);
    ASSERT_TRUE(verdicts[1]);
    EXPECT_NEAR(verdicts[1]->behind, 0.45, 1e-12);
    // scipy.stats.ttest_rel([1, 2, 3, 4], [0.5, 1.8, 2.2, 3.7], alternative="greater")
    EXPECT_NEAR(verdicts[1]->pValue, 0.0212045, 1e-6);
}

TEST(FallenBehind, SparesWhoeverMayStillBeKept) {
    const std::vector<std::vector<double>> runners{{5, 5, 5, 5}, {1, 1, 1, 1}, {0, 0, 0, 0}};
    EXPECT_FALSE(fallenBehind(runners, {}, 3, 0.05)[2]) << "no more than are kept";
    EXPECT_FALSE(fallenBehind(runners, {}, 2, 0.05)[1]) << "it is the last that is kept";
    EXPECT_TRUE(fallenBehind(runners, {}, 2, 0.05)[2]);
    const std::vector<std::vector<double>> parents{{4, 4, 4, 4}, {3, 3, 3, 3}};
    EXPECT_TRUE(fallenBehind(runners, parents, 2, 0.05)[1]) << "those kept from before count";
}

TEST(FallenBehind, ErrsNoMoreOftenThanItSays) {
    int wrong = 0;
    constexpr int kRaces = 4000;
    RandomStream random(11, kStreamTests);
    for (int race = 0; race < kRaces; ++race) {
        std::vector<std::vector<double>> pair(2);
        for (auto& scores : pair) {
            for (int i = 0; i < 8; ++i) scores.push_back(random.normal());
        }
        const auto verdicts = fallenBehind(pair, {}, 1, 0.05);
        wrong += verdicts[0].has_value() + verdicts[1].has_value();
    }
    // Either of two equals may look worse: twice one side's rate.
    EXPECT_NEAR(static_cast<double>(wrong) / kRaces, 0.10, 0.02);
}

TEST(Racing, SavesItemsAndComesToAsGoodAnEnd) {
    ItemFitness all, raced;
    SearchSettings plain = racingSettings();
    plain.racing = std::nullopt;
    const SearchOutcome full = runOk(plain, kLayers, all), outcome = runOk(racingSettings(), kLayers, raced);
    EXPECT_EQ(full.givenUp, 0);
    EXPECT_GT(outcome.givenUp, outcome.evaluations / 4);
    EXPECT_LT(static_cast<int>(raced.calls.size()), static_cast<int>(all.calls.size()) * 3 / 4);
    EXPECT_GT(distanceFitness(bestDistinct(outcome, 1).front().candidate.scales),
              2.0 * distanceFitness(bestDistinct(full, 1).front().candidate.scales) - 0.1);
}

TEST(Racing, GivesNobodyUpWhoWouldHaveBeenKeptInTheFirstGeneration) {
    SearchSettings settings = racingSettings();
    settings.maxGenerations = 0;
    ItemFitness fitness;
    const SearchOutcome outcome = runOk(settings, kLayers, fitness);
    int complete = 0;
    for (const CandidateRecord& record : outcome.candidates) complete += record.evaluation.complete();
    EXPECT_GE(complete, (settings.population + 1) / 2);
    EXPECT_GT(outcome.givenUp, 0);
    for (const CandidateRecord& record : outcome.candidates) {
        if (!record.evaluation.givenUp) continue;
        EXPECT_THAT(record.evaluation.reason, HasSubstr("of 16 items"));
        EXPECT_LT(record.evaluation.byItem.size(), 16u);
    }
    const auto best = bestDistinct(outcome, 1000);
    for (const CandidateRecord& record : best) EXPECT_TRUE(record.evaluation.complete());
}

TEST(Racing, HasTheSameHistoryForAnyNumberOfWorkers) {
    ItemFitness one, three;
    EXPECT_TRUE(runOk(racingSettings(), kLayers, one) == runOk(racingSettings(), kLayers, three, 3));
}

TEST(Racing, TellsTheFitnessWhoIsLeftAfterEveryLook) {
    ItemFitness fitness;
    const SearchOutcome outcome = runOk(racingSettings(), kLayers, fitness, 3);
    // Of every generation: all, those left after either look, nobody.
    ASSERT_EQ(fitness.expected.size(), 4 * outcome.history.size());
    std::size_t givenUp = 0;
    for (std::size_t told = 0; told < fitness.expected.size(); told += 4) {
        const auto &all = fitness.expected[told], &left = fitness.expected[told + 2];
        EXPECT_GE(all.size(), fitness.expected[told + 1].size());
        EXPECT_GE(fitness.expected[told + 1].size(), left.size());
        EXPECT_THAT(fitness.expected[told + 3], IsEmpty());
        givenUp += all.size() - left.size();
        for (const Candidate& candidate : left) EXPECT_EQ(fitness.callsByScales.at(candidate.scales), 1);
    }
    EXPECT_EQ(static_cast<std::int64_t>(givenUp), outcome.givenUp);
    EXPECT_GT(givenUp, 0u);
}

TEST(Racing, LeavesFailuresToTheFullEvaluation) {
    ItemFitness fitness;
    fitness.failLooks = true;
    const SearchOutcome outcome = runOk(racingSettings(), kLayers, fitness);
    EXPECT_EQ(outcome.givenUp, 0);
    EXPECT_EQ(outcome.failed, 0);
    EXPECT_EQ(outcome.end, EndReason::Generations);
}

TEST(StandardErrorOfDifference, IsThatOfPairedItems) {
    EXPECT_NEAR(standardErrorOfDifference({1, 2, 3, 4}, {0.5, 1.8, 2.2, 3.7}), 0.1322875656, 1e-9);
    EXPECT_EQ(standardErrorOfDifference({1}, {2}), 0.0);
}

TEST(Patience, CountsOnlyGainsAboveTheirNoiseWhenAskedTo) {
    // Every candidate is better than those before by less than the items scatter.
    class Creeping : public FunctionFitness {
      public:
        Creeping()
            : FunctionFitness([](const Candidate& c, std::stop_token) -> Result<Evaluation> {
                  Evaluation evaluation;
                  RandomStream random(4, kStreamTests, static_cast<std::uint32_t>(c.generation),
                                      static_cast<std::uint32_t>(c.index));
                  evaluation.fitness = 0.01 * c.generation;
                  for (int i = 0; i < kItems; ++i) evaluation.byItem.push_back(evaluation.fitness + random.normal());
                  evaluation.byPosition = {evaluation.fitness};
                  return evaluation;
              }) {}
    };
    SearchSettings settings = smallSettings();
    settings.patience = 2;
    settings.maxGenerations = 8;
    Creeping any, above;
    EXPECT_EQ(runOk(settings, kLayers, any).end, EndReason::Generations);
    settings.aboveNoise = true;
    const SearchOutcome outcome = runOk(settings, kLayers, above);
    EXPECT_EQ(outcome.end, EndReason::Patience);
    EXPECT_EQ(outcome.history.size(), 3u);
}

TEST(Racing, DoesNothingWhereTheFitnessKnowsNoItems) {
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(racingSettings(), kLayers, fitness);
    EXPECT_EQ(outcome.givenUp, 0);
    EXPECT_EQ(outcome.end, EndReason::Generations);
}

}  // namespace
}  // namespace lpes::search
