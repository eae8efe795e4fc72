// NSGA-II in the search: ranking, selection, what it finds, and what does not go with it.

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "core/search/operators.h"
#include "core/search/optimizer.h"
#include "core/search/pareto.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kLayers = 12;
constexpr double kOne = 0.8, kOther = 1.6;

double meanSquare(const std::vector<double>& scales, double from) {
    double sum = 0.0;
    for (const double scale : scales) sum += (scale - from) * (scale - from);
    return sum / static_cast<double>(scales.size());
}

/// J. D. Schaffer's problem (1985) over the scales: minus the mean squares of the distances to 0.8 and to 1.6. No other
/// dominates the level curves between them: there the roots of both add up to 0.8, elsewhere to more.
Result<Evaluation> schaffer(const Candidate& candidate, std::stop_token) {
    Evaluation evaluation;
    evaluation.objectives = {-meanSquare(candidate.scales, kOne), -meanSquare(candidate.scales, kOther)};
    evaluation.fitness = 0.5 * (evaluation.objectives[0] + evaluation.objectives[1]);
    evaluation.byPosition = evaluation.objectives;
    return evaluation;
}

SearchSettings twoObjectives(std::uint64_t seed = 7) {
    SearchSettings settings = smallSettings(seed);
    settings.population = 16;
    settings.objectives = {Objective::Middle, Objective::Ends};
    return settings;
}

Objectives objectivesOf(const CandidateRecord& record) {
    return record.evaluation.objectives;
}

TEST(FrontSearch, FindsSchaffersFront) {
    SearchSettings settings = twoObjectives(3);
    settings.population = 40;
    settings.maxGenerations = 40;
    FunctionFitness fitness(schaffer);
    const SearchOutcome outcome = runOk(settings, kLayers, fitness, 2);
    const auto front = paretoFront(outcome);
    ASSERT_GE(front.size(), 8u);
    int near = 0;
    for (const CandidateRecord& one : front) {
        const double sum = std::sqrt(-objectivesOf(one)[0]) + std::sqrt(-objectivesOf(one)[1]);
        EXPECT_GE(sum, kOther - kOne - 1e-12) << "nothing is better than the true front";
        near += sum < kOther - kOne + 0.1 ? 1 : 0;
    }
    EXPECT_GE(near, static_cast<int>(front.size()) * 3 / 4);
    EXPECT_GT(objectivesOf(front.front())[0], -0.02) << "its ends are reached";
    EXPECT_GT(objectivesOf(front.back())[1], -0.02);
}

TEST(FrontSearch, FrontHoldsWhatNobodyDominatesInTheOrderOfTheFirstObjective) {
    FunctionFitness fitness(schaffer);
    const SearchOutcome outcome = runOk(twoObjectives(), kLayers, fitness);
    const auto front = paretoFront(outcome);
    ASSERT_GT(front.size(), 1u);
    std::set<Objectives> members;
    for (const CandidateRecord& one : front) EXPECT_TRUE(members.insert(objectivesOf(one)).second) << "no two alike";
    for (const CandidateRecord& candidate : outcome.candidates) {
        bool dominated = false;
        for (const CandidateRecord& one : front) {
            EXPECT_FALSE(dominates(objectivesOf(candidate), objectivesOf(one)));
            dominated = dominated || dominates(objectivesOf(one), objectivesOf(candidate));
        }
        EXPECT_NE(dominated, members.contains(objectivesOf(candidate)));
    }
    for (std::size_t i = 1; i < front.size(); ++i) EXPECT_GT(objectivesOf(front[i - 1])[0], objectivesOf(front[i])[0]);
    EXPECT_EQ(outcome.history.back().frontSize, static_cast<int>(front.size()));
}

TEST(FrontSearch, RanksItsPopulationByFrontsAndKeepsTheBetterHalf) {
    FunctionFitness fitness(schaffer);
    RecordingObserver observer;
    const auto outcome = runGeneticSearch(twoObjectives(), kLayers, 1, fitness, observer, 0.0, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    for (std::size_t g = 0; g < outcome->history.size(); ++g) {
        const auto& population = outcome->history[g].population;
        std::vector<const CandidateRecord*> own;
        for (const auto& place : population) {
            const CandidateRecord& record = observer.byPlace.at(place);
            EXPECT_TRUE(record.duplicateOf || own.size() == static_cast<std::size_t>(&place - population.data()))
                << "candidates with another's scales stand behind all others";
            if (!record.duplicateOf) own.push_back(&record);
        }
        for (std::size_t i = 0; i < own.size(); ++i) {
            for (std::size_t j = i + 1; j < own.size(); ++j)
                EXPECT_FALSE(dominates(objectivesOf(*own[j]), objectivesOf(*own[i]))) << g << ": " << j << " " << i;
        }
        if (g + 1 == outcome->history.size()) break;
        const auto& next = outcome->history[g + 1].population;
        const std::set<std::pair<int, int>> members(next.begin(), next.end());
        for (std::size_t k = 0; k < population.size() / 2; ++k) EXPECT_TRUE(members.contains(population[k])) << g;
    }
}

TEST(FrontSearch, HypervolumeNeverFallsAndIsOverTheFirstGenerationsWorst) {
    FunctionFitness fitness(schaffer);
    const SearchOutcome outcome = runOk(twoObjectives(), kLayers, fitness);
    Objectives worst{0.0, 0.0};
    std::vector<Objectives> first;
    for (const CandidateRecord& one : outcome.candidates) {
        if (one.candidate.generation > 0) continue;
        first.push_back(objectivesOf(one));
        for (std::size_t m = 0; m < 2; ++m) worst[m] = std::min(worst[m], first.back()[m]);
    }
    EXPECT_NEAR(outcome.history.front().hypervolume.value(), hypervolume(first, worst), 1e-12);
    for (std::size_t g = 1; g < outcome.history.size(); ++g)
        EXPECT_GE(outcome.history[g].hypervolume.value(), outcome.history[g - 1].hypervolume.value() - 1e-12);
    EXPECT_GT(outcome.history.back().hypervolume.value(), outcome.history.front().hypervolume.value());
}

TEST(FrontSearch, HasTheSameHistoryForAnyNumberOfWorkersAndEachTime) {
    FunctionFitness one(schaffer), again(schaffer), three(schaffer);
    const SearchOutcome outcome = runOk(twoObjectives(), kLayers, one);
    EXPECT_TRUE(outcome == runOk(twoObjectives(), kLayers, again));
    EXPECT_TRUE(outcome == runOk(twoObjectives(), kLayers, three, 3));
    FunctionFitness other(schaffer);
    EXPECT_FALSE(outcome == runOk(twoObjectives(8), kLayers, other));
}

TEST(FrontSearch, PatienceCountsGainsInHypervolume) {
    SearchSettings settings = twoObjectives();
    settings.patience = 2;
    settings.maxGenerations = 9;
    // The fitness gains all the time, the objectives never.
    FunctionFitness fitness([](const Candidate& candidate, std::stop_token) -> Result<Evaluation> {
        Evaluation evaluation;
        evaluation.fitness = candidate.generation;
        evaluation.objectives = {1.0, 2.0};
        return evaluation;
    });
    const SearchOutcome outcome = runOk(settings, kLayers, fitness);
    EXPECT_EQ(outcome.end, EndReason::Patience);
    EXPECT_EQ(outcome.history.size(), 3u);
    EXPECT_EQ(paretoFront(outcome).size(), 1u) << "of equal objectives the earliest";
}

TEST(FrontSearch, WhatIsNotAllowedOrHasNoNumberIsOnNoFront) {
    FunctionFitness fitness([](const Candidate& candidate, std::stop_token stop) -> Result<Evaluation> {
        auto evaluation = schaffer(candidate, std::move(stop));
        if (candidate.scales.front() > 1.3) evaluation->violation = candidate.scales.front() - 1.3;
        if (candidate.scales.front() < 0.75) evaluation->objectives[1] = std::nan("");
        return evaluation;
    });
    SearchSettings settings = twoObjectives();
    settings.maxConsecutiveFailures = 1000;
    const SearchOutcome outcome = runOk(settings, kLayers, fitness);
    EXPECT_GT(outcome.infeasible, 0);
    for (const CandidateRecord& one : paretoFront(outcome)) {
        EXPECT_LE(one.candidate.scales.front(), 1.3);
        EXPECT_GE(one.candidate.scales.front(), 0.75);
    }
    for (const CandidateRecord& one : outcome.candidates) {
        if (one.evaluation.failed) {
            EXPECT_THAT(one.evaluation.reason, HasSubstr("objective is nan"));
        }
        if (!one.evaluation.complete()) {
            EXPECT_THAT(one.evaluation.objectives, IsEmpty());
        }
    }
}

TEST(FrontSearch, OneFitnessHasNoFront) {
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(smallSettings(), kLayers, fitness);
    EXPECT_THAT(paretoFront(outcome), IsEmpty());
    EXPECT_THAT(spreadOf({}, 3), IsEmpty());
    EXPECT_EQ(outcome.history.back().hypervolume, std::nullopt);
    EXPECT_EQ(outcome.history.back().frontSize, 0);
}

TEST(SpreadOf, KeepsTheBestFitnessAndTheFrontsOrder) {
    FunctionFitness fitness(schaffer);
    const auto front = paretoFront(runOk(twoObjectives(), kLayers, fitness));
    ASSERT_GT(front.size(), 3u);
    const auto best = std::ranges::max_element(front, {}, [](const auto& one) { return one.evaluation.fitness; });
    const auto spread = spreadOf(front, 3);
    ASSERT_EQ(spread.size(), 3u);
    EXPECT_TRUE(std::ranges::any_of(spread, [&](const auto& one) { return one == *best; }));
    EXPECT_GT(objectivesOf(spread[0])[0], objectivesOf(spread[1])[0]);
    EXPECT_GT(objectivesOf(spread[1])[0], objectivesOf(spread[2])[0]);
    EXPECT_EQ(spreadOf(front, 1000).size(), front.size());
}

TEST(DrawByTournament, FavoursTheBetterAndNeverDrawsOneTwice) {
    std::vector<int> drawn(6, 0);
    for (std::uint32_t i = 0; i < 3000; ++i) {
        RandomStream random(4, kStreamTests, i);
        const auto [a, b] = drawByTournament(drawn.size(), random);
        ASSERT_NE(a, b);
        ASSERT_LT(std::max(a, b), drawn.size());
        ++drawn[a];
        ++drawn[b];
    }
    for (std::size_t i = 1; i < drawn.size(); ++i) EXPECT_GT(drawn[i - 1], drawn[i]) << i;
    EXPECT_EQ(drawn.back(), 0) << "the last loses to everybody";
    RandomStream random(1, kStreamTests);
    EXPECT_EQ(drawByTournament(2, random), (std::pair<std::size_t, std::size_t>(0, 1)));
}

TEST(Objectives, AreReadInAnyOrderAndSpelledInTheirOwn) {
    EXPECT_THAT(parseObjectives("short,middle").value(), ElementsAre(Objective::Middle, Objective::Short));
    EXPECT_EQ(objectivesText(parseObjectives("short,ends,middle").value()), "middle,ends,short");
    for (const auto& [text, words] : {std::pair{"middle", "fewer than two"},
                                      {"", "fewer than two"},
                                      {"middle,middle", "twice"},
                                      {"middle,speed", "'speed'"},
                                      {"middle,,ends", "''"}}) {
        const auto parsed = parseObjectives(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().code, ErrorCode::Usage);
        EXPECT_THAT(parsed.error().message, HasSubstr(words));
    }
}

TEST(Objectives, RefuseWhatDoesNotGoWithThem) {
    const auto refusal = [](auto change) {
        SearchSettings settings = twoObjectives();
        change(settings);
        const auto checked = checkSettings(settings, kLayers);
        return checked ? std::string("accepted") : checked.error().message;
    };
    EXPECT_EQ(refusal([](SearchSettings&) {}), "accepted");
    EXPECT_THAT(refusal([](SearchSettings& s) { s.optimizer = OptimizerKind::CmaEs; }),
                HasSubstr("--optimizer cma-es"));
    EXPECT_THAT(refusal([](SearchSettings& s) { s.racing = 0.05; }), HasSubstr("--racing"));
    EXPECT_THAT(refusal([](SearchSettings& s) { s.gradient.refined = 2; }), HasSubstr("--refine"));
    EXPECT_THAT(refusal([](SearchSettings& s) { s.aboveNoise = true; }), HasSubstr("--min-delta noise"));
    EXPECT_THAT(refusal([](SearchSettings& s) { s.objectives.pop_back(); }), HasSubstr("fewer than two"));
}

}  // namespace
}  // namespace lpes::search
