#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/search/population.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using ::testing::IsEmpty;

constexpr int kLayers = 12;
/// Scales may not go beyond it on the mean.
constexpr double kMost = 1.05;

double excess(const std::vector<double>& scales) {
    double sum = 0.0;
    for (const double scale : scales) sum += scale;
    return sum / static_cast<double>(scales.size()) - kMost;
}

Result<Evaluation> limited(const Candidate& candidate, std::stop_token) {
    Evaluation evaluation;
    if (const double over = excess(candidate.scales); over > 0.0) {
        evaluation.violation = over;
        evaluation.reason = "the scales are too large";
        // What a fitness leaves here means nothing, and must not reach the history.
        evaluation.fitness = 1e6;
        evaluation.byPosition = {1e6};
        return evaluation;
    }
    return FunctionFitness::value(distanceFitness(candidate.scales));
}

CandidateRecord record(int index, double fitness, double violation) {
    CandidateRecord one;
    one.candidate.index = index;
    one.evaluation.fitness = fitness;
    one.evaluation.violation = violation;
    return one;
}

TEST(RanksBefore, PutsInfeasibleBehindAllThatAreAllowedAndTheSmallerViolationFirst) {
    const CandidateRecord poor = record(5, -100.0, 0.0), near = record(4, 0.0, 0.5), far = record(3, 0.0, 2.0);
    const CandidateRecord boundless = record(1, 0.0, std::numeric_limits<double>::infinity());
    CandidateRecord givenUp = record(2, -200.0, 0.0), failed = record(0, 0.0, 0.0);
    givenUp.evaluation.givenUp = true;
    failed.evaluation.failed = true;
    const std::vector<CandidateRecord> order{poor, givenUp, near, far, boundless, failed};
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (std::size_t j = 0; j < order.size(); ++j) EXPECT_EQ(ranksBefore(order[i], order[j]), i < j) << i << j;
    }
    EXPECT_TRUE(ranksBefore(record(0, 0.0, 0.5), record(1, 0.0, 0.5))) << "the earlier one of two alike";
}

TEST(Infeasible, NeverWinWhicheverOptimizerProposesThem) {
    for (const auto kind : {OptimizerKind::Genetic, OptimizerKind::Random, OptimizerKind::CmaEs}) {
        SCOPED_TRACE(optimizerName(kind));
        SearchSettings settings = smallSettings();
        settings.optimizer = kind;
        settings.population = 20;
        FunctionFitness single(limited), shared(limited);
        const SearchOutcome outcome = runOk(settings, kLayers, single);
        EXPECT_TRUE(outcome == runOk(settings, kLayers, shared, 3)) << "the history hangs on workers";
        EXPECT_GT(outcome.infeasible, 0);
        EXPECT_LT(outcome.infeasible, outcome.evaluations);
        EXPECT_EQ(outcome.failed, 0);
        for (const CandidateRecord& best : bestDistinct(outcome, 1000)) EXPECT_LE(excess(best.candidate.scales), 0.0);
        int counted = 0;
        for (const CandidateRecord& one : outcome.candidates) {
            if (!one.evaluation.infeasible()) continue;
            counted += one.duplicateOf ? 0 : 1;
            EXPECT_EQ(one.evaluation.fitness, 0.0);
            EXPECT_THAT(one.evaluation.byPosition, IsEmpty());
            EXPECT_EQ(one.evaluation.reason, "the scales are too large");
        }
        EXPECT_EQ(counted, outcome.infeasible);
        for (const GenerationRecord& generation : outcome.history) EXPECT_LE(generation.best, 0.0);
    }
}

/// Nothing is allowed; the smaller the scales, the less.
Result<Evaluation> nothingAllowed(const Candidate& candidate, std::stop_token) {
    Evaluation evaluation;
    evaluation.violation = excess(candidate.scales) + kMost;
    return evaluation;
}

TEST(Infeasible, AloneAreNoFailuresAndLeaveAHistoryWithoutFigures) {
    SearchSettings settings = smallSettings();
    settings.maxConsecutiveFailures = 2;
    FunctionFitness fitness(nothingAllowed);
    RecordingObserver observer;
    const auto outcome = runGeneticSearch(settings, kLayers, 1, fitness, observer, 0.0, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->end, EndReason::Generations);
    EXPECT_EQ(outcome->infeasible, outcome->evaluations);
    EXPECT_THAT(bestDistinct(*outcome, 5), IsEmpty());
    for (const GenerationRecord& generation : outcome->history) EXPECT_TRUE(std::isnan(generation.best));
}

TEST(Infeasible, AreBredTowardsSmallerViolations) {
    SearchSettings settings = smallSettings();
    settings.maxGenerations = 20;
    FunctionFitness fitness(nothingAllowed);
    RecordingObserver observer;
    const auto outcome = runGeneticSearch(settings, kLayers, 1, fitness, observer, 0.0, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    const auto leader = [&](const GenerationRecord& generation) {
        return observer.byPlace.at(generation.population.front()).evaluation.violation;
    };
    EXPECT_LT(leader(outcome->history.back()), leader(outcome->history.front()));
}

/// A race over items among which some candidates are not allowed.
class RacingLimited : public FunctionFitness {
  public:
    RacingLimited() : FunctionFitness(limited) {}
    int items() const override { return 16; }
    Result<Evaluation> evaluateFirst(const Candidate& candidate, int count, int, std::stop_token stop) override {
        auto evaluation = limited(candidate, stop);
        if (!evaluation || evaluation->infeasible()) return evaluation;
        for (int i = 0; i < count; ++i) evaluation->byItem.push_back(evaluation->fitness);
        return evaluation;
    }
    Result<Evaluation> evaluate(const Candidate& candidate, int, std::stop_token stop) override {
        return evaluateFirst(candidate, items(), 0, stop);
    }
};

TEST(Infeasible, TakeNoPartInRaces) {
    SearchSettings settings = smallSettings();
    settings.racing = 0.05;
    RacingLimited fitness;
    const SearchOutcome outcome = runOk(settings, kLayers, fitness);
    EXPECT_GT(outcome.infeasible, 0);
    for (const CandidateRecord& one : outcome.candidates) {
        EXPECT_FALSE(one.evaluation.givenUp && one.evaluation.infeasible());
    }
}

}  // namespace
}  // namespace lpes::search
