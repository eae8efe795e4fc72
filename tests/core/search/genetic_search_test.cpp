#include "core/search/genetic_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "core/base/random.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

TEST(GeneticSearch, HistoryIsTheSameForAnyNumberOfWorkersAndAnyTiming) {
    SearchSettings settings = smallSettings();
    settings.patience = 4;
    FunctionFitness quiet;
    const SearchOutcome reference = runOk(settings, 12, quiet);
    std::atomic<std::uint32_t> turn{0};
    for (const int workers : {1, 2, 3, 7}) {
        FunctionFitness jittery([&](const Candidate& candidate, std::stop_token) {
            RandomStream random(99, kStreamTests, ++turn);  // another delay on every call
            for (std::uint64_t spin = random.below(40); spin > 0; --spin) std::this_thread::yield();
            return FunctionFitness::value(distanceFitness(candidate.scales));
        });
        EXPECT_EQ(runOk(settings, 12, jittery, workers), reference) << workers;
        EXPECT_LT(jittery.largestWorker, workers);
    }
}

TEST(GeneticSearch, WorkersReallyRunAtTheSameTime) {
    // Each evaluation waits until both workers are inside one: a serial search would never end.
    std::atomic<int> inside{0};
    FunctionFitness meeting([&](const Candidate& candidate, std::stop_token) {
        if (candidate.generation == 0 && candidate.index < 2) {
            ++inside;
            while (inside < 2) std::this_thread::yield();
        }
        return FunctionFitness::value(1.0);
    });
    SearchSettings settings = smallSettings();
    settings.maxGenerations = 0;
    runOk(settings, 4, meeting, 2);
    EXPECT_EQ(inside, 2);
}

TEST(GeneticSearch, TellsTheFitnessWhatItWillBeAskedForAndThatItIsOver) {
    SearchSettings settings = smallSettings();
    for (const bool failing : {false, true}) {
        FunctionFitness fitness([&](const Candidate& candidate, std::stop_token) -> Result<Evaluation> {
            if (failing && candidate.generation == 1) return fail(ErrorCode::Database, "disk full");
            return FunctionFitness::value(distanceFitness(candidate.scales));
        });
        RecordingObserver observer;
        const auto outcome = runGeneticSearch(settings, 12, 2, fitness, observer, 0.0, {});
        EXPECT_EQ(outcome.has_value(), !failing);
        ASSERT_EQ(fitness.expected.size(), 2 * observer.started.size()) << "a generation's candidates, and nobody";
        for (std::size_t generation = 0; generation < observer.started.size(); ++generation) {
            EXPECT_EQ(static_cast<int>(fitness.expected[2 * generation].size()),
                      observer.toEvaluateByGeneration[generation]);
            EXPECT_TRUE(fitness.expected[2 * generation + 1].empty());
        }
    }
}

TEST(GeneticSearch, SeedDecidesTheHistory) {
    FunctionFitness fitness;
    const SearchOutcome seven = runOk(smallSettings(7), 12, fitness);
    EXPECT_EQ(runOk(smallSettings(7), 12, fitness), seven);
    EXPECT_FALSE(runOk(smallSettings(8), 12, fitness) == seven);
}

TEST(GeneticSearch, FindsTheOptimumOfASmoothObjective) {
    SearchSettings settings;
    settings.seed = 3;
    settings.maxGenerations = 40;
    for (const auto kind : {curve::CurveKind::Bezier, curve::CurveKind::Linear}) {
        settings.curve = kind;
        FunctionFitness fitness;
        const SearchOutcome outcome = runOk(settings, 24, fitness, 2);
        const auto best = bestDistinct(outcome, 1).at(0).candidate.scales;
        for (std::size_t h = 0; h < best.size(); ++h) {
            EXPECT_NEAR(best[h], 1.4 - 0.6 * static_cast<double>(h) / 23.0, 0.1) << curve::curveKindName(kind);
        }
    }
}

TEST(GeneticSearch, FreeCurvesImproveTooAndKeepTheirDepths) {
    SearchSettings settings = smallSettings();
    settings.curve = curve::CurveKind::Free;
    settings.population = 32;
    settings.maxGenerations = 60;
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(settings, 6, fitness, 2);
    EXPECT_GT(outcome.history.back().best, -0.05);
    for (const CandidateRecord& record : outcome.candidates) {
        ASSERT_EQ(record.candidate.points.size(), 6u);
        for (std::size_t h = 0; h < 6; ++h) EXPECT_EQ(record.candidate.points[h].x, static_cast<double>(h) / 5);
    }
}

TEST(GeneticSearch, BestNeverWorsensAndTheBetterHalfIsKept) {
    SearchSettings settings = smallSettings();
    settings.population = 9;  // odd: five stay, four are bred
    settings.maxGenerations = 12;
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(settings, 12, fitness);
    ASSERT_EQ(outcome.history.size(), 13u);
    for (std::size_t g = 1; g < outcome.history.size(); ++g) {
        const auto& before = outcome.history[g - 1];
        const auto& now = outcome.history[g];
        EXPECT_GE(now.best, before.best);
        EXPECT_EQ(now.population.size(), 9u);
        const std::set<std::pair<int, int>> members(now.population.begin(), now.population.end());
        for (std::size_t k = 0; k < 5; ++k) EXPECT_TRUE(members.contains(before.population[k]));
        for (int index = 0; index < 4; ++index) EXPECT_TRUE(members.contains({static_cast<int>(g), index}));
    }
    EXPECT_EQ(outcome.candidates.size(), 9u + 12u * 4u);
}

TEST(GeneticSearch, GenerationZeroStartsWithTheKnownCurvesThatTheBoundsAllow) {
    SearchSettings settings = smallSettings();
    settings.maxGenerations = 0;
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(settings, 3, fitness);
    EXPECT_EQ(outcome.candidates[0].candidate.scales, (std::vector{1.0, 1.0, 1.0}));
    EXPECT_EQ(outcome.candidates[1].candidate.scales, (std::vector{1.5, 1.5, 1.5}));
    EXPECT_EQ(outcome.candidates[2].candidate.scales, (std::vector{1.15, 1.0, 0.85}));
    EXPECT_EQ(outcome.candidates[0].candidate.points.size(), 4u);

    settings.constraints.scaleMax = 1.4;
    EXPECT_EQ(runOk(settings, 3, fitness).candidates[1].candidate.scales, (std::vector{1.15, 1.0, 0.85}));
}

TEST(GeneticSearch, EveryCandidateRespectsTheConstraints) {
    FunctionFitness fitness;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SearchSettings settings = smallSettings(seed);
        settings.curve = curve::kCurveKinds[seed % curve::kCurveKinds.size()];
        settings.points = 2 + static_cast<int>(seed % 7);
        settings.constraints = {0.7, 1.45, seed % 2 == 0 ? std::optional(0.05) : std::nullopt};
        settings.mutationRate = 0.9;
        settings.maxDx = 1.0;
        settings.maxDy = 2.0;
        for (const CandidateRecord& record : runOk(settings, 9, fitness).candidates) {
            const auto& points = record.candidate.points;
            EXPECT_EQ(curve::violation(settings.curve, points, settings.constraints), std::nullopt);
            const auto made = curve::ScaleCurve::make(settings.curve, points, settings.constraints);
            EXPECT_EQ(made.value().decode(9), record.candidate.scales);
        }
    }
}

TEST(GeneticSearch, DuplicatesShareTheEvaluationAndCostNothing) {
    SearchSettings settings = smallSettings();
    settings.population = 16;
    settings.points = 2;
    settings.constraints.gridStep = 0.5;  // 25 curves exist for 2 layers
    settings.maxGenerations = 8;
    FunctionFitness fitness;
    RecordingObserver observer;
    const auto outcome = runGeneticSearch(settings, 2, 3, fitness, observer, 0.0, {});
    ASSERT_TRUE(outcome);
    EXPECT_GT(outcome->cacheHits, 0);
    EXPECT_EQ(outcome->evaluations + outcome->cacheHits, static_cast<std::int64_t>(outcome->candidates.size()));
    EXPECT_EQ(outcome->evaluations, static_cast<std::int64_t>(fitness.calls.size()));
    for (const auto& [scales, calls] : fitness.callsByScales) EXPECT_EQ(calls, 1);
    std::map<std::vector<double>, std::pair<int, int>> first;
    for (const CandidateRecord& record : outcome->candidates) {
        const std::pair place(record.candidate.generation, record.candidate.index);
        const auto [it, isNew] = first.emplace(record.candidate.scales, place);
        EXPECT_EQ(record.duplicateOf, isNew ? std::nullopt : std::optional(it->second));
        EXPECT_EQ(record.evaluation.fitness, distanceFitness(record.candidate.scales));
    }
    EXPECT_EQ(observer.finished.size(), outcome->candidates.size());
    EXPECT_EQ(observer.started.size(), 9u);
    int announced = 0;
    for (const int count : observer.toEvaluateByGeneration) announced += count;
    EXPECT_EQ(announced, outcome->evaluations);
}

TEST(GeneticSearch, HistoryFiguresAreThoseOfThePopulation) {
    SearchSettings settings = smallSettings();
    settings.population = 4;
    settings.maxGenerations = 0;
    settings.constraints.gridStep.reset();
    FunctionFitness fitness([](const Candidate& c, std::stop_token) -> Result<Evaluation> {
        if (c.index == 3) return fail(ErrorCode::OutOfMemory, "too large");
        return FunctionFitness::value(c.index == 0 ? 1.0 : c.index == 1 ? 4.0 : 1.0);
    });
    const SearchOutcome outcome = runOk(settings, 2, fitness);
    const GenerationRecord& record = outcome.history.at(0);
    EXPECT_EQ(record.best, 4.0);
    EXPECT_EQ(record.worst, 1.0);
    EXPECT_DOUBLE_EQ(record.mean, 2.0);
    EXPECT_DOUBLE_EQ(record.stddev, std::sqrt(2.0));
    // |1 − 1.5| = 0.5; 1 against 1.15/0.85: 0.15; 1.5 against 1.15/0.85: (0.35 + 0.65)/2 = 0.5.
    EXPECT_NEAR(record.diversity, (0.5 + 0.15 + 0.5) / 3, 1e-14);
    EXPECT_EQ(record.evaluations, 4);
    // Ties go to the earlier candidate, failures to the end.
    EXPECT_EQ(record.population, (std::vector<std::pair<int, int>>{{0, 1}, {0, 0}, {0, 2}, {0, 3}}));
    EXPECT_EQ(outcome.failed, 1);
}

TEST(GeneticSearch, RefusesWorkersAndElapsedTimeOutOfRange) {
    FunctionFitness fitness;
    RecordingObserver observer;
    for (const int workers : {0, -1, 100000}) {
        const auto outcome = runGeneticSearch(smallSettings(), 4, workers, fitness, observer, 0.0, {});
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().code, ErrorCode::Usage);
        EXPECT_THAT(outcome.error().message, testing::HasSubstr("--workers is " + std::to_string(workers)));
    }
    EXPECT_FALSE(runGeneticSearch(smallSettings(), 4, 1, fitness, observer, std::nan(""), {}));
    EXPECT_TRUE(fitness.calls.empty());
}

}  // namespace
}  // namespace lpes::search
