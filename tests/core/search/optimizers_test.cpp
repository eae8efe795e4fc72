#include "core/search/optimizer.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/base/files.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kLayers = 12;

SearchSettings settingsOf(OptimizerKind kind) {
    SearchSettings settings = smallSettings();
    settings.optimizer = kind;
    return settings;
}

double bestOf(const SearchSettings& settings) {
    FunctionFitness fitness;
    return bestDistinct(runOk(settings, kLayers, fitness), 1).front().evaluation.fitness;
}

/// tests/golden/make_cma_es_golden.py, an implementation of its own, made these.
TEST(CmaEs, EqualsTheIndependentImplementation) {
    const auto text = readTextFile(LPES_TEST_DATA "/golden/cma_es_history.json");
    ASSERT_TRUE(text) << text.error().text();
    const json golden = json::parse(*text);
    for (const json& search : golden["searches"]) {
        const json& s = search["settings"];
        SearchSettings settings = settingsOf(OptimizerKind::CmaEs);
        settings.seed = s["seed"].get<std::uint64_t>();
        settings.population = s["population"];
        settings.maxGenerations = s["generations"];
        settings.points = s["points"];
        settings.constraints = {s["scale_min"], s["scale_max"], std::nullopt};
        SCOPED_TRACE(s.dump());
        FunctionFitness fitness;
        const SearchOutcome outcome = runOk(settings, s["layers"], fitness, 2);
        ASSERT_EQ(outcome.candidates.size(), search["candidates"].size());
        for (std::size_t i = 0; i < outcome.candidates.size(); ++i) {
            const json& wanted = search["candidates"][i];
            const Candidate& candidate = outcome.candidates[i].candidate;
            ASSERT_EQ(candidate.points.size(), wanted["points"].size());
            for (std::size_t k = 0; k < candidate.points.size(); ++k) {
                EXPECT_NEAR(candidate.points[k].x, wanted["points"][k][0].get<double>(), 1e-8) << i;
                EXPECT_NEAR(candidate.points[k].y, wanted["points"][k][1].get<double>(), 1e-8) << i;
            }
        }
    }
}

TEST(CmaEs, ComesCloserThanRandomSearchForTheSameEvaluations) {
    SearchSettings cma = settingsOf(OptimizerKind::CmaEs), random = settingsOf(OptimizerKind::Random);
    for (SearchSettings* settings : {&cma, &random}) {
        settings->population = 16;
        settings->maxGenerations = 30;
        settings->constraints.gridStep = std::nullopt;
    }
    EXPECT_GT(bestOf(cma), 0.1 * bestOf(random)) << "fitness is 0 at most: ten times nearer";
}

TEST(CmaEs, GoesOnBesideCandidatesThatFail) {
    FunctionFitness fitness([](const Candidate& candidate, std::stop_token) -> Result<Evaluation> {
        if (candidate.index % 3 == 1) return fail(ErrorCode::Failed, "not a number");
        return FunctionFitness::value(distanceFitness(candidate.scales));
    });
    const SearchOutcome outcome = runOk(settingsOf(OptimizerKind::CmaEs), kLayers, fitness);
    EXPECT_EQ(outcome.end, EndReason::Generations);
    EXPECT_GT(outcome.failed, 5);
    EXPECT_GT(outcome.history.back().best, outcome.history.front().best);
}

TEST(Optimizers, StartWithTheModelAsItIs) {
    for (const OptimizerKind kind : {OptimizerKind::Genetic, OptimizerKind::Random, OptimizerKind::CmaEs}) {
        FunctionFitness fitness;
        const SearchOutcome outcome = runOk(settingsOf(kind), kLayers, fitness);
        EXPECT_EQ(outcome.candidates.front().candidate.scales, std::vector<double>(kLayers, 1.0))
            << optimizerName(kind);
    }
}

TEST(Optimizers, HistoriesDoNotDependOnWorkersOrInterruptions) {
    for (const OptimizerKind kind : {OptimizerKind::Random, OptimizerKind::CmaEs, OptimizerKind::Exhaustive}) {
        SCOPED_TRACE(optimizerName(kind));
        SearchSettings settings = settingsOf(kind);
        if (kind == OptimizerKind::Exhaustive) {
            settings.points = 2;
            settings.constraints.gridStep = 0.5;
        }
        FunctionFitness one, four;
        const SearchOutcome alone = runOk(settings, kLayers, one, 1);
        EXPECT_EQ(alone, runOk(settings, kLayers, four, 4));
        // Stopped after nine evaluations and run again: resuming is running again.
        std::stop_source stop;
        FunctionFitness halting([&](const Candidate& candidate, std::stop_token) -> Result<Evaluation> {
            if (halting.calls.size() > 9) {
                stop.request_stop();
                return FunctionFitness::stopped();
            }
            return FunctionFitness::value(distanceFitness(candidate.scales));
        });
        EXPECT_EQ(runOk(settings, kLayers, halting, 1, 0.0, stop.get_token()).end, EndReason::Stopped);
        FunctionFitness again;
        EXPECT_EQ(alone, runOk(settings, kLayers, again, 2));
    }
}

TEST(RandomSearch, AsksForNewCurvesAsLongAsItRuns) {
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(settingsOf(OptimizerKind::Random), kLayers, fitness);
    std::set<std::vector<double>> scales;
    for (const CandidateRecord& record : outcome.candidates) scales.insert(record.candidate.scales);
    EXPECT_EQ(scales.size(), outcome.candidates.size());
    EXPECT_EQ(outcome.candidates.size(), 10u + 5u * 5u) << "as many as the genetic search has";
}

TEST(Exhaustive, GoesThroughTheWholeGridOnceAndEnds) {
    SearchSettings settings = settingsOf(OptimizerKind::Exhaustive);
    settings.points = 2;
    settings.constraints = {0.5, 2.5, 0.5};
    settings.maxGenerations = 1;
    ASSERT_EQ(exhaustiveSize(settings, 2), 25);
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(settings, 2, fitness);
    EXPECT_EQ(outcome.end, EndReason::Exhausted);
    EXPECT_EQ(endReasonName(outcome.end), "exhausted");
    ASSERT_EQ(outcome.candidates.size(), 25u);
    std::set<std::vector<double>> scales;
    for (const CandidateRecord& record : outcome.candidates) scales.insert(record.candidate.scales);
    EXPECT_EQ(scales.size(), 25u);
    EXPECT_TRUE(scales.contains({0.5, 0.5}));
    EXPECT_TRUE(scales.contains({2.5, 1.0}));
    EXPECT_EQ(bestDistinct(outcome, 1).front().candidate.scales, (std::vector<double>{1.5, 1.0}))
        << "the grid's nearest to the line from 1.4 to 0.8";
}

TEST(Exhaustive, RefusesWhatNobodyCouldWaitForWithItsSize) {
    SearchSettings settings = settingsOf(OptimizerKind::Exhaustive);
    const auto tooMany = checkSettings(settings, kLayers);
    ASSERT_FALSE(tooMany);
    EXPECT_EQ(tooMany.error().code, ErrorCode::Usage);
    EXPECT_THAT(tooMany.error().message, HasSubstr("2825761 curves")) << "41 values at 4 points";
    settings.constraints.gridStep = std::nullopt;
    EXPECT_THAT(checkSettings(settings, kLayers).error().message, HasSubstr("--grid-step"));
    settings.constraints.gridStep = 0.05;
    settings.curve = curve::CurveKind::Free;
    EXPECT_THAT(checkSettings(settings, 80).error().message, HasSubstr("more than 2^53"));
}

TEST(Optimizers, AreReadByTheirNamesAlone) {
    EXPECT_EQ(parseOptimizer("cma-es").value(), OptimizerKind::CmaEs);
    EXPECT_THAT(parseOptimizer("CMA").error().message, HasSubstr("genetic, random, cma-es, gradient or exhaustive"));
}

}  // namespace
}  // namespace lpes::search
