#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "core/base/clock.h"
#include "core/base/random.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using testing::HasSubstr;

/// Fails the candidates of generation 0 that `bad` names.
FunctionFitness failingAt(std::function<bool(int)> bad) {
    return FunctionFitness([bad](const Candidate& c, std::stop_token) -> Result<Evaluation> {
        if (c.generation == 0 && bad(c.index)) return fail(ErrorCode::Failed, "no such luck", "detail");
        return FunctionFitness::value(distanceFitness(c.scales));
    });
}

TEST(FieldReports, T25_PatienceIsNotResetByNoise) {
    SearchSettings settings = smallSettings();
    settings.maxGenerations = 100;
    settings.patience = 5;
    settings.minDelta = 0.02;
    settings.constraints.gridStep = 0.5;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        settings.seed = seed;
        FunctionFitness noisy([&](const Candidate& c, std::stop_token) {
            RandomStream random(seed, kStreamTests, static_cast<std::uint32_t>(c.generation),
                                static_cast<std::uint32_t>(c.index));
            return FunctionFitness::value(0.3 + random.uniform(-0.01, 0.01));
        });
        const SearchOutcome outcome = runOk(settings, 3, noisy);
        EXPECT_EQ(outcome.end, EndReason::Patience);
        EXPECT_EQ(outcome.history.size(), 6u);
        EXPECT_GT(outcome.cacheHits, 0);
        for (const auto& [scales, calls] : noisy.callsByScales) EXPECT_EQ(calls, 1);
    }
}

TEST(SearchEndings, PatienceIsResetByAGainAboveMinDeltaAndByCreepingToo) {
    // +0.012 a generation: every second one exceeds the reference by more than 0.02.
    SearchSettings settings = smallSettings();
    settings.maxGenerations = 12;
    settings.patience = 2;
    settings.minDelta = 0.02;
    FunctionFitness creeping(
        [](const Candidate& c, std::stop_token) { return FunctionFitness::value(0.012 * c.generation); });
    EXPECT_EQ(runOk(settings, 12, creeping).end, EndReason::Generations);
    settings.patience = 1;
    EXPECT_EQ(runOk(settings, 12, creeping).history.size(), 2u);
}

TEST(SearchEndings, WithoutItsMemoDuplicatesAreEvaluatedAgainToTheSameHistory) {
    class Repeating : public FunctionFitness {
      public:
        Result<void> evaluateAgain(const Candidate&, int, std::stop_token) override {
            ++repeated;
            return {};
        }
        std::atomic<int> repeated = 0;
    } with, without;
    SearchSettings settings = smallSettings();
    settings.constraints = {1.0, 1.5, 0.5};  // eight profiles
    const SearchOutcome reference = runOk(settings, 3, with, 2);
    ASSERT_GT(reference.cacheHits, 0);
    EXPECT_EQ(with.repeated, 0);
    settings.memo = false;
    EXPECT_EQ(runOk(settings, 3, without, 2), reference);
    EXPECT_EQ(without.repeated, reference.cacheHits);
}

TEST(SearchEndings, TheTargetEndsItAtTheGenerationThatReachesIt) {
    SearchSettings settings = smallSettings();
    const auto climbing = [](const Candidate& c, std::stop_token) {
        return FunctionFitness::value(0.5 * c.generation);
    };
    for (const int workers : {1, 3}) {
        for (const double target : {0.9, 1.0}) {
            settings.target = target;
            FunctionFitness fitness(climbing);
            const SearchOutcome outcome = runOk(settings, 12, fitness, workers);
            EXPECT_EQ(outcome.end, EndReason::Target);
            EXPECT_EQ(outcome.history.size(), 3u);
            EXPECT_EQ(outcome.evaluations, outcome.history.back().evaluations) << "the generation is whole";
        }
    }
    settings.target = 0.5 * settings.maxGenerations;
    FunctionFitness last(climbing), never(climbing);
    EXPECT_EQ(runOk(settings, 12, last).end, EndReason::Target) << "the last generation reached it";
    settings.target = 100.0;
    EXPECT_EQ(runOk(settings, 12, never).end, EndReason::Generations);
}

TEST(SearchEndings, FailedCandidatesReachNoTarget) {
    SearchSettings settings = smallSettings();
    settings.target = -1.0;  // below the zero that failed ones have
    settings.maxGenerations = 1;
    settings.maxConsecutiveFailures = 1000;
    FunctionFitness fitness([](const Candidate&, std::stop_token) { return fail(ErrorCode::Failed, "no"); });
    RecordingObserver observer;
    const auto outcome = runGeneticSearch(settings, 12, 1, fitness, observer, 0.0, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->end, EndReason::Generations);
}

TEST(SearchEndings, GenerationsCountTheBredOnes) {
    SearchSettings settings = smallSettings();
    settings.maxGenerations = 0;
    FunctionFitness fitness;
    EXPECT_EQ(runOk(settings, 12, fitness).history.size(), 1u);
    settings.maxGenerations = 3;
    const SearchOutcome outcome = runOk(settings, 12, fitness);
    EXPECT_EQ(outcome.end, EndReason::Generations);
    EXPECT_EQ(outcome.history.size(), 4u);
}

TEST(SearchEndings, MaxEvalsCutsThePrefixForAnyNumberOfWorkers) {
    FunctionFitness whole;
    const SearchOutcome all = runOk(smallSettings(), 12, whole);
    for (const std::int64_t budget : {1, 3, 10, 11, 15, 17, 34}) {
        SearchSettings settings = smallSettings();
        settings.maxEvals = budget;
        for (const int workers : {1, 3}) {
            FunctionFitness fitness;
            const SearchOutcome outcome = runOk(settings, 12, fitness, workers);
            EXPECT_EQ(outcome.end, EndReason::Evaluations);
            EXPECT_EQ(outcome.evaluations, budget);
            EXPECT_EQ(static_cast<std::int64_t>(fitness.calls.size()), budget);
            std::vector<CandidateRecord> prefix;
            for (const CandidateRecord& record : all.candidates) {
                if (static_cast<std::int64_t>(prefix.size()) < budget) prefix.push_back(record);
            }
            EXPECT_EQ(outcome.candidates, prefix);  // this seed has no duplicates
            EXPECT_FALSE(bestDistinct(outcome, 1).empty());
        }
    }
}

TEST(SearchEndings, FailedCandidatesRankLastAndTheSearchGoesOn) {
    FunctionFitness fitness = failingAt([](int index) { return index == 4 || index == 5; });
    const SearchOutcome outcome = runOk(smallSettings(), 12, fitness, 2);
    EXPECT_EQ(outcome.end, EndReason::Generations);
    EXPECT_EQ(outcome.failed, 2);
    EXPECT_TRUE(outcome.candidates[4].evaluation.failed);
    EXPECT_THAT(outcome.candidates[4].evaluation.reason, HasSubstr("no such luck"));
    EXPECT_EQ(outcome.history[0].population.back(), std::pair(0, 5));
    for (const CandidateRecord& record : bestDistinct(outcome, 1000)) EXPECT_FALSE(record.evaluation.failed);
}

TEST(SearchEndings, FiveFailuresInARowEndItWithTheSamePrefixForAnyNumberOfWorkers) {
    const auto bad = [](int index) { return index == 0 || index == 1 || (index >= 3 && index <= 7); };
    FunctionFitness alone = failingAt(bad);
    const SearchOutcome reference = runOk(smallSettings(), 12, alone);
    EXPECT_EQ(reference.end, EndReason::Failures);
    EXPECT_EQ(reference.evaluations, 8);
    EXPECT_EQ(reference.failed, 7);
    EXPECT_EQ(reference.candidates.size(), 8u);
    EXPECT_TRUE(reference.history.empty());
    EXPECT_EQ(alone.calls.size(), 8u);
    for (const int workers : {2, 3, 7}) {
        FunctionFitness fitness = failingAt(bad);
        EXPECT_EQ(runOk(smallSettings(), 12, fitness, workers), reference);
    }
}

TEST(SearchEndings, LateCompletionsBeyondTheLastFailureAreDropped) {
    // Candidate 2 ends only after candidate 3, and is the failure that ends the search.
    SearchSettings settings = smallSettings();
    settings.maxConsecutiveFailures = 3;
    std::atomic<bool> third{false};
    FunctionFitness fitness([&](const Candidate& c, std::stop_token) -> Result<Evaluation> {
        if (c.index == 2) {
            while (!third) std::this_thread::yield();
        }
        if (c.index < 3) return fail(ErrorCode::Failed, "no");
        third = true;
        return FunctionFitness::value(1.0);
    });
    const SearchOutcome outcome = runOk(settings, 12, fitness, 2);
    EXPECT_EQ(outcome.end, EndReason::Failures);
    EXPECT_EQ(outcome.evaluations, 3);
    EXPECT_EQ(outcome.candidates.size(), 3u);
}

TEST(SearchEndings, FailuresInARowAreCountedAcrossGenerations) {
    SearchSettings settings = smallSettings();
    FunctionFitness fitness([](const Candidate& c, std::stop_token) -> Result<Evaluation> {
        if ((c.generation == 0 && c.index >= 7) || (c.generation == 1 && c.index < 2)) {
            return fail(ErrorCode::Failed, "no");
        }
        return FunctionFitness::value(1.0);
    });
    const SearchOutcome outcome = runOk(settings, 12, fitness, 3);
    EXPECT_EQ(outcome.end, EndReason::Failures);
    EXPECT_EQ(outcome.evaluations, 12);
    EXPECT_EQ(outcome.history.size(), 1u);
}

TEST(SearchEndings, AFitnessThatIsNoNumberFailsTheCandidate) {
    for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), -HUGE_VAL}) {
        FunctionFitness fitness([value](const Candidate& c, std::stop_token) {
            return FunctionFitness::value(c.index % 3 == 1 ? value : distanceFitness(c.scales));
        });
        const SearchOutcome outcome = runOk(smallSettings(), 12, fitness, 2);
        EXPECT_EQ(outcome.end, EndReason::Generations);
        EXPECT_TRUE(outcome.candidates[1].evaluation.failed);
        EXPECT_THAT(outcome.candidates[1].evaluation.reason, HasSubstr("not a finite number"));
        EXPECT_TRUE(std::isfinite(outcome.history.back().mean));
    }
}

TEST(SearchEndings, AnExceptionFailsTheCandidateOnly) {
    FunctionFitness fitness([](const Candidate& c, std::stop_token) -> Result<Evaluation> {
        if (c.index == 2) throw std::runtime_error("out of luck");
        if (c.index == 4) throw 42;
        return FunctionFitness::value(distanceFitness(c.scales));
    });
    const SearchOutcome outcome = runOk(smallSettings(), 12, fitness, 3);
    EXPECT_EQ(outcome.end, EndReason::Generations);
    EXPECT_THAT(outcome.candidates[2].evaluation.reason, HasSubstr("out of luck"));
    EXPECT_TRUE(outcome.candidates[4].evaluation.failed);
}

TEST(SearchEndings, WithoutAnySuccessTheFiguresAreNaN) {
    SearchSettings settings = smallSettings();
    settings.maxGenerations = 1;
    settings.maxConsecutiveFailures = 1000;
    FunctionFitness fitness([](const Candidate&, std::stop_token) { return fail(ErrorCode::Failed, "no"); });
    RecordingObserver observer;
    const auto outcome = runGeneticSearch(settings, 12, 2, fitness, observer, 0.0, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->end, EndReason::Generations);
    EXPECT_TRUE(std::isnan(outcome->history.back().best));
    EXPECT_EQ(outcome->history.back().diversity, 0.0);
    EXPECT_TRUE(bestDistinct(*outcome, 6).empty());
}

TEST(SearchEndings, DatabaseErrorsOfFitnessAndObserverEndTheSearch) {
    FunctionFitness locked([](const Candidate& c, std::stop_token stop) -> Result<Evaluation> {
        if (c.index == 3) return fail(ErrorCode::Database, "locked");
        while (c.index > 3 && !stop.stop_requested()) std::this_thread::yield();  // is told to give up
        return FunctionFitness::value(1.0);
    });
    RecordingObserver observer;
    const auto outcome = runGeneticSearch(smallSettings(), 12, 3, locked, observer, 0.0, {});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::Database);
    EXPECT_EQ(outcome.error().message, "locked");

    for (const char* where : {"started", "candidate", "generation"}) {
        RecordingObserver full;
        full.refuseAt = where;
        FunctionFitness fitness;
        const auto refused = runGeneticSearch(smallSettings(), 12, 2, fitness, full, 0.0, {});
        ASSERT_FALSE(refused) << where;
        EXPECT_EQ(refused.error().message, "disk full");
    }
}

TEST(SearchEndings, TimeLimitKeepsWhatIsFinished) {
    SearchSettings settings = smallSettings();
    settings.timeLimitSeconds = 100.0;
    FunctionFitness fitness;
    const SearchOutcome before = runOk(settings, 12, fitness, 2, 100.0);
    EXPECT_EQ(before.end, EndReason::TimeLimit);
    EXPECT_TRUE(fitness.calls.empty());

    const double start = steadySeconds();
    FunctionFitness slow([start](const Candidate& c, std::stop_token) {
        while (c.index == 3 && steadySeconds() < start + 0.3) std::this_thread::yield();
        return FunctionFitness::value(distanceFitness(c.scales));
    });
    const SearchOutcome during = runOk(settings, 12, slow, 1, 100.0 - 0.2);
    EXPECT_EQ(during.end, EndReason::TimeLimit);
    EXPECT_EQ(during.evaluations, 4);
    EXPECT_TRUE(during.history.empty());
    EXPECT_EQ(bestDistinct(during, 2).size(), 2u);
}

TEST(SearchEndings, AfterTheTimeLimitNobodyIsLookedAtAnew) {
    class OneStored : public FunctionFitness {
      public:
        int items() const override { return 16; }
        bool isStoredFirst(const Candidate& candidate, int) const override { return candidate.index == 0; }
        Result<Evaluation> evaluateFirst(const Candidate& candidate, int count, int, std::stop_token) override {
            looked.push_back(candidate.index);
            Evaluation evaluation;
            evaluation.byItem.assign(static_cast<std::size_t>(count), distanceFitness(candidate.scales));
            return evaluation;
        }
        std::vector<int> looked;
    } fitness;
    SearchSettings settings = smallSettings();
    settings.racing = 0.05;
    settings.timeLimitSeconds = 100.0;
    const SearchOutcome outcome = runOk(settings, 12, fitness, 1, 100.0);
    EXPECT_EQ(outcome.end, EndReason::TimeLimit);
    EXPECT_EQ(fitness.looked, std::vector<int>{0});
    EXPECT_EQ(outcome.givenUp, 0) << "a look that the limit cut short decides nothing";
    EXPECT_TRUE(fitness.calls.empty());
}

TEST(SearchEndings, StopReturnsWhatIsFinished) {
    std::stop_source stop;
    FunctionFitness fitness([&](const Candidate& c, std::stop_token token) -> Result<Evaluation> {
        if (c.generation == 1 && c.index == 2) stop.request_stop();
        if (token.stop_requested()) return FunctionFitness::stopped();
        return FunctionFitness::value(distanceFitness(c.scales));
    });
    const SearchOutcome outcome = runOk(smallSettings(), 12, fitness, 1, 0.0, stop.get_token());
    EXPECT_EQ(outcome.end, EndReason::Stopped);
    EXPECT_EQ(outcome.evaluations, 12);
    EXPECT_EQ(outcome.candidates.size(), 12u);
    EXPECT_EQ(outcome.failed, 0);
    EXPECT_EQ(outcome.history.size(), 1u);
    EXPECT_EQ(fitness.calls.size(), 13u);

    FunctionFitness never;
    EXPECT_EQ(runOk(smallSettings(), 12, never, 2, 0.0, stop.get_token()).end, EndReason::Stopped);
    EXPECT_TRUE(never.calls.empty());
}

}  // namespace
}  // namespace lpes::search
