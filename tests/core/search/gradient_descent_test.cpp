#include "core/search/gradient_descent.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/search/operators.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using ::testing::HasSubstr;

constexpr int kLayers = 12;

/// The loss of distanceFitness and its slope; `noise` is what the items of a step add to every entry.
class SlopedFitness : public FunctionFitness {
  public:
    using FunctionFitness::FunctionFitness;

    Result<Slope> slope(const SlopeRequest& request, int, std::stop_token) override {
        {
            const std::lock_guard lock(mutex);
            requests.push_back(request);
        }
        if (refuse) return fail(ErrorCode::OutOfMemory, "the slope needs more memory than there is");
        Slope slope{-distanceFitness(request.scales), {}};
        RandomStream random(3, kStreamTests, static_cast<std::uint32_t>(request.number));
        for (std::size_t h = 0; h < request.scales.size(); ++h) {
            const double depth = static_cast<double>(h) / static_cast<double>(request.scales.size() - 1);
            slope.byScale.push_back(2.0 * (request.scales[h] - (1.4 - 0.6 * depth)) + noise * random.normal());
        }
        return slope;
    }

    double noise = 0.0;
    bool refuse = false;
    std::vector<SlopeRequest> requests;
};

SearchSettings descending() {
    SearchSettings settings = smallSettings();
    settings.optimizer = OptimizerKind::Gradient;
    settings.constraints.gridStep = std::nullopt;
    settings.maxGenerations = 6;
    settings.gradient.starts = 2;
    return settings;
}

/// A loss that weighs every layer differently, so that no slope cancels.
double weighed(const std::vector<double>& scales) {
    double sum = 0.0;
    for (std::size_t h = 0; h < scales.size(); ++h)
        sum += std::sin(static_cast<double>(h) + 1.0) * scales[h] * scales[h];
    return sum;
}

TEST(GeneSlopes, AreTheCurvesChainRuleForEveryKindOfCurve) {
    for (const auto kind : {curve::CurveKind::Bezier, curve::CurveKind::Linear, curve::CurveKind::Free}) {
        for (const auto& groups : {curve::ScaleGroups{}, curve::ScaleGroups::kvHeads(2)}) {
            SearchSettings settings = descending();
            settings.curve = kind;
            settings.groups = groups;
            SCOPED_TRACE(curve::curveKindName(kind) + " " + curve::groupsText(groups));
            RandomStream random(5, kStreamTests);
            Genome genome = randomGenome(settings, kLayers, random);
            const auto scales = unrounded(settings, kLayers, genome);
            std::vector<double> slope;
            for (std::size_t h = 0; h < scales.size(); ++h)
                slope.push_back(2.0 * std::sin(static_cast<double>(h) + 1.0) * scales[h]);
            const auto genes = geneSlopes(settings, kLayers, genome, slope);
            ASSERT_EQ(genes.size(), 2 * genome.size());
            for (std::size_t k = 0; k < genome.size(); ++k) {
                constexpr double kStep = 1e-4;
                const auto difference = [&](double& coordinate) {
                    const double before = coordinate;
                    coordinate = before + kStep;
                    const double above = weighed(unrounded(settings, kLayers, genome));
                    coordinate = before - kStep;
                    const double below = weighed(unrounded(settings, kLayers, genome));
                    coordinate = before;
                    return (above - below) / (2 * kStep);
                };
                if (genome[k].y > 0.6 && genome[k].y < 2.4) {
                    EXPECT_NEAR(genes[2 * k + 1], difference(genome[k].y), 1e-4) << k;
                }
                if (!xIsGene(settings, kLayers, static_cast<int>(k))) {
                    EXPECT_EQ(genes[2 * k], 0.0) << "no gene";
                } else if (kind == curve::CurveKind::Bezier) {
                    EXPECT_NEAR(genes[2 * k], difference(genome[k].x), 1e-3) << k;
                }
            }
        }
    }
}

TEST(GeneSlopes, OfMonotoneCubicsFollowDepthsAndScales) {
    SearchSettings settings = descending();
    settings.curve = curve::CurveKind::Monotone;
    for (const Genome& start : {Genome{{0.0, 1.0}, {0.3, 1.6}, {0.7, 1.9}, {1.0, 1.2}},
                                Genome{{0.0, 0.9}, {0.25, 1.2}, {0.6, 1.5}, {1.0, 2.2}},
                                Genome{{0.0, 1.3}, {0.25, 1.3}, {0.6, 1.3}, {1.0, 1.3}}}) {
        Genome genome = start;
        std::vector<double> slope = unrounded(settings, kLayers, genome);
        for (std::size_t h = 0; h < slope.size(); ++h) slope[h] *= 2.0 * std::sin(static_cast<double>(h) + 1.0);
        const auto genes = geneSlopes(settings, kLayers, genome, slope);
        for (std::size_t k = 0; k < genome.size(); ++k) {
            constexpr double kStep = 1e-4;
            const auto difference = [&](double& coordinate) {
                const double before = coordinate;
                coordinate = before + kStep;
                const double above = weighed(unrounded(settings, kLayers, genome));
                coordinate = before - kStep;
                const double below = weighed(unrounded(settings, kLayers, genome));
                coordinate = before;
                return (above - below) / (2 * kStep);
            };
            EXPECT_NEAR(genes[2 * k + 1], difference(genome[k].y), 1e-4) << k;
            if (!xIsGene(settings, kLayers, static_cast<int>(k))) continue;
            EXPECT_NEAR(genes[2 * k], difference(genome[k].x), 1e-4) << k;
        }
    }
}

TEST(GeneSlopes, AreThereAtTheBoundsAndWherePointsShareADepth) {
    SearchSettings settings = descending();
    for (const auto kind : curve::kCurveKinds) {
        if (kind == curve::CurveKind::Free) continue;
        settings.curve = kind;
        Genome genome{{0.0, 0.5}, {0.4, 2.5}, {0.4, 1.0}, {1.0, 0.5}};
        for (const double slope : geneSlopes(settings, kLayers, genome, std::vector<double>(kLayers, 1.0)))
            EXPECT_TRUE(std::isfinite(slope)) << curve::curveKindName(kind);
    }
}

TEST(Descent, StaysWithinTheBoundsAndKeepsDepthsInOrder) {
    SearchSettings settings = descending();
    settings.gradient.rate = 3.0;
    RandomStream random(1, kStreamTests);
    Descent descent(settings, kLayers, randomGenome(settings, kLayers, random));
    for (int step = 0; step < 60; ++step) {
        std::vector<double> slope;
        for (int h = 0; h < kLayers; ++h) slope.push_back(random.normal());
        descent.step(slope);
        for (const Genome& genome : {descent.at(), descent.mean()})
            EXPECT_TRUE(decode(settings, kLayers, genome).has_value()) << "a constraint is broken at step " << step;
    }
}

TEST(Descent, DoesNotMoveOnFlatGround) {
    const SearchSettings settings = descending();
    const Genome start = levelGenome(settings, kLayers, 1.3);
    Descent descent(settings, kLayers, start);
    descent.step(std::vector<double>(kLayers, 0.0));
    EXPECT_EQ(descent.at(), start);
    EXPECT_EQ(descent.mean(), start);
}

TEST(Descent, MeansThePlacesOfARoundWithoutTheWayThere) {
    SearchSettings settings = descending();
    settings.gradient.steps = 5;
    Descent descent(settings, kLayers, levelGenome(settings, kLayers, 1.3));
    double sum = 0.0;
    for (int step = 1; step <= 5; ++step) {
        descent.step(std::vector<double>(kLayers, 1.0));
        if (step <= 2) {
            EXPECT_EQ(descent.mean(), descent.at()) << "nothing to mean yet";
        } else {
            sum += descent.at()[0].y;
        }
    }
    EXPECT_NEAR(descent.mean()[0].y, sum / 3.0, 1e-12);
    descent.beginRound();
    EXPECT_EQ(descent.mean(), descent.at());
    descent.step(std::vector<double>(kLayers, 1.0));
    const double first = descent.at()[0].y;
    descent.step(std::vector<double>(kLayers, 1.0));
    EXPECT_NEAR(descent.mean()[0].y, (first + descent.at()[0].y) / 2.0, 1e-12) << "a later round is meant as a whole";
}

TEST(Descent, TakesShorterStepsAtFirstAndNoneBeyondTwiceTheRate) {
    SearchSettings settings = descending();
    settings.gradient.rate = 0.05;
    Descent descent(settings, kLayers, levelGenome(settings, kLayers, 1.3));
    std::vector<double> longest;
    for (int step = 0; step < 10; ++step) {
        const Genome before = descent.at();
        descent.step(std::vector<double>(kLayers, 1.0));
        double move = 0.0;
        for (std::size_t k = 0; k < before.size(); ++k)
            move = std::max(move, std::abs(descent.at()[k].y - before[k].y));
        longest.push_back(move);
        EXPECT_LE(move, 0.1 + 1e-12);
    }
    EXPECT_LT(longest[0], 0.5 * longest[5]);
}

TEST(GradientGuided, ComesToTheOptimumThroughNoise) {
    SlopedFitness fitness;
    fitness.noise = 0.5;
    const SearchOutcome outcome = runOk(descending(), kLayers, fitness);
    EXPECT_EQ(outcome.end, EndReason::Generations);
    EXPECT_EQ(outcome.candidates.size(), 2u * 7u);
    EXPECT_EQ(fitness.requests.size(), 2u * 6u * 6u);
    EXPECT_GT(outcome.history.back().best, 0.02 * outcome.history.front().best) << "fifty times nearer";
}

TEST(GradientGuided, SeesFreshItemsAtEveryStepAndTheSameSideBySide) {
    SlopedFitness fitness;
    runOk(descending(), kLayers, fitness);
    for (std::size_t i = 0; i < fitness.requests.size(); ++i) {
        EXPECT_EQ(fitness.requests[i].number, static_cast<int>(i / 2));
        EXPECT_EQ(fitness.requests[i].descent, static_cast<int>(i % 2));
    }
}

TEST(GradientGuided, HasTheSameHistoryForAnyNumberOfWorkers) {
    SlopedFitness one, three;
    EXPECT_TRUE(runOk(descending(), kLayers, one) == runOk(descending(), kLayers, three, 3));
}

TEST(GradientGuided, EndsWhenSlopesKeepFailingAndSaysWhy) {
    SlopedFitness fitness;
    fitness.refuse = true;
    const SearchOutcome outcome = runOk(descending(), kLayers, fitness);
    EXPECT_EQ(outcome.end, EndReason::Failures);
    ASSERT_TRUE(outcome.failedSlope);
    EXPECT_THAT(outcome.failedSlope->message, HasSubstr("more memory"));
    EXPECT_EQ(outcome.candidates.size(), 2u) << "the first generation needs no slope and is kept";
}

TEST(GradientGuided, IsRefusedByAFitnessWithoutSlopes) {
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(descending(), kLayers, fitness);
    ASSERT_TRUE(outcome.failedSlope);
    EXPECT_EQ(outcome.failedSlope->code, ErrorCode::Unsupported);
}

TEST(Genetic, TakesDescentsFromItsBestIndividualsAsChildren) {
    SearchSettings plain = smallSettings(), memetic = plain;
    plain.constraints.gridStep = memetic.constraints.gridStep = std::nullopt;
    memetic.gradient.refined = 2;
    SlopedFitness one, two;
    const SearchOutcome bred = runOk(plain, kLayers, one), refined = runOk(memetic, kLayers, two);
    EXPECT_TRUE(one.requests.empty());
    const auto perGeneration = static_cast<std::size_t>(2 * plain.gradient.steps);
    ASSERT_EQ(two.requests.size(), perGeneration * (static_cast<std::size_t>(plain.maxGenerations) + 1));
    EXPECT_EQ(static_cast<std::size_t>(plain.gradient.steps * descentsUpTo(memetic, plain.maxGenerations)),
              two.requests.size());
    EXPECT_EQ(bred.candidates.size(), refined.candidates.size()) << "they take the place of children";
    EXPECT_GT(refined.history.back().best, 0.5 * bred.history.back().best);
    const auto best =
        std::ranges::max_element(refined.candidates.begin(), refined.candidates.begin() + plain.population, {},
                                 [](const CandidateRecord& r) { return r.evaluation.fitness; });
    EXPECT_EQ(two.requests[perGeneration].scales, best->candidate.scales) << "the second round begins at the best";
    for (std::size_t i = 0; i < two.requests.size(); ++i)
        EXPECT_EQ(two.requests[i].number, static_cast<int>(i / 2)) << "every step has fresh items";
}

TEST(Genetic, DescendsFromTheKnownCurvesBeforeItsFirstGeneration) {
    SearchSettings plain = smallSettings(), memetic = plain;
    plain.maxGenerations = memetic.maxGenerations = 0;
    memetic.gradient.refined = 2;
    SlopedFitness one, two;
    const SearchOutcome drawn = runOk(plain, kLayers, one), refined = runOk(memetic, kLayers, two);
    ASSERT_EQ(two.requests.size(), static_cast<std::size_t>(2 * plain.gradient.steps));
    EXPECT_EQ(two.requests[0].scales, std::vector<double>(kLayers, 1.0));
    for (const double scale : two.requests[1].scales) EXPECT_NEAR(scale, 1.5, 1e-12);
    ASSERT_EQ(drawn.candidates.size(), refined.candidates.size());
    for (std::size_t i = 0; i < drawn.candidates.size(); ++i) {
        const bool descended = i == kKnownGenomes || i == kKnownGenomes + 1;
        EXPECT_EQ(drawn.candidates[i].candidate == refined.candidates[i].candidate, !descended) << i;
    }
    EXPECT_GT(refined.candidates[kKnownGenomes].evaluation.fitness, refined.candidates[0].evaluation.fitness);
}

TEST(Genetic, LeavesRoomForTheKnownCurvesInASmallPopulation) {
    SearchSettings settings = smallSettings();
    settings.population = 4;
    settings.gradient.refined = 3;
    EXPECT_EQ(descentsOf(settings, 0), 1);
    EXPECT_EQ(descentsOf(settings, 1), 2);
    SlopedFitness fitness;
    EXPECT_EQ(runOk(settings, kLayers, fitness).end, EndReason::Generations);
}

TEST(Genetic, EndsWithNoCandidateWhenItsFirstDescentKeepsFailing) {
    SearchSettings settings = smallSettings();
    settings.gradient.refined = 1;
    SlopedFitness fitness;
    fitness.refuse = true;
    const SearchOutcome outcome = runOk(settings, kLayers, fitness);
    EXPECT_EQ(outcome.end, EndReason::Failures);
    EXPECT_TRUE(outcome.failedSlope);
    EXPECT_TRUE(outcome.candidates.empty());
}

}  // namespace
}  // namespace lpes::search
