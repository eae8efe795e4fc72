#include "core/search/operators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace lpes::search {
namespace {

const Genome kLow{{0, 0.6}, {0.2, 0.7}, {0.4, 0.8}, {1, 0.9}};
const Genome kHigh{{0, 1.6}, {0.3, 1.7}, {0.35, 1.8}, {1, 1.9}};

TEST(DrawParents, DrawsEveryOrderedPairOfDifferentOnesEquallyOften) {
    RandomStream random(1, kStreamTests);
    std::map<std::pair<std::size_t, std::size_t>, int> counts;
    constexpr int kDraws = 60000;
    for (int i = 0; i < kDraws; ++i) ++counts[drawParents(5, random)];
    EXPECT_EQ(counts.size(), 20u);
    for (const auto& [pair, count] : counts) {
        EXPECT_NE(pair.first, pair.second);
        EXPECT_LT(pair.first, 5u);
        EXPECT_NEAR(count, kDraws / 20.0, 5 * std::sqrt(kDraws / 20.0));
    }
    for (int i = 0; i < 20; ++i) {
        const auto [a, b] = drawParents(2, random);
        EXPECT_EQ(a + b, 1u);
    }
}

TEST(Crossover, TakesEachPointWholeFromEitherParentAndSortsTheInnerOnes) {
    RandomStream random(2, kStreamTests);
    std::map<double, int> taken;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
        const Genome child = crossover({}, kLow, kHigh, random);
        ASSERT_EQ(child.size(), 4u);
        for (std::size_t k = 0; k < 4; ++k) {
            const bool fromParents = std::count(kLow.begin(), kLow.end(), child[k]) == 1 ||
                                     std::count(kHigh.begin(), kHigh.end(), child[k]) == 1;
            EXPECT_TRUE(fromParents);
            EXPECT_LE(child[k == 0 ? 0 : k - 1].x, child[k].x);
            ++taken[child[k].y];
        }
    }
    EXPECT_EQ(taken.size(), 8u);
    for (const auto& [y, count] : taken) EXPECT_NEAR(count, kDraws / 2.0, 5 * std::sqrt(kDraws / 4.0)) << y;
}

TEST(Mutate, ChangesEachCoordinateAtTheRateAndWithinItsReach) {
    SearchSettings settings;
    RandomStream random(3, kStreamTests);
    constexpr int kDraws = 20000;
    int changedX = 0, changedY = 0;
    double sumX = 0.0, sumY = 0.0, largestX = 0.0, largestY = 0.0;
    const Genome start{{0, 1.5}, {0.3, 1.5}, {0.7, 1.5}, {1, 1.5}};  // far enough from every bound to see the draws
    for (int i = 0; i < kDraws; ++i) {
        Genome genome = start;
        mutate(settings, 12, genome, random);
        EXPECT_EQ(genome.front().x, 0.0);
        EXPECT_EQ(genome.back().x, 1.0);
        for (std::size_t k = 0; k < 4; ++k) {
            const double dx = genome[k].x - start[k].x, dy = genome[k].y - start[k].y;
            changedX += dx != 0.0;
            changedY += dy != 0.0;
            sumX += dx;
            sumY += dy;
            largestX = std::max(largestX, std::abs(dx));
            largestY = std::max(largestY, std::abs(dy));
        }
    }
    EXPECT_NEAR(changedX / (2.0 * kDraws), 0.3, 0.015);
    EXPECT_NEAR(changedY / (4.0 * kDraws), 0.3, 0.01);
    EXPECT_NEAR(sumX / changedX, 0.0, 0.005);
    EXPECT_NEAR(sumY / changedY, 0.0, 0.005);
    EXPECT_LE(largestX, settings.maxDx);
    EXPECT_GT(largestX, 0.99 * settings.maxDx);
    EXPECT_LE(largestY, settings.maxDy + 1e-15);
    EXPECT_GT(largestY, 0.99 * settings.maxDy);
}

TEST(Mutate, WithRateZeroChangesNothingAndFreeCurvesMoveInYOnly) {
    RandomStream random(4, kStreamTests);
    SearchSettings settings;
    settings.mutationRate = 0.0;
    Genome genome = kLow;
    mutate(settings, 12, genome, random);
    EXPECT_EQ(genome, kLow);

    settings.mutationRate = 1.0;
    settings.curve = curve::CurveKind::Free;
    genome = {{0, 1}, {0.5, 1}, {1, 1}};
    mutate(settings, 3, genome, random);
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(genome[k].x, static_cast<double>(k) / 2);
        EXPECT_NE(genome[k].y, 1.0);
    }
}

TEST(Repair, ClampsAndSortsTheInnerPointsStably) {
    Genome genome{{0, 9}, {1.5, 1.0}, {0.5, 1.1}, {0.5, 1.2}, {-1, 0.1}, {1, 1}};
    repair({}, genome);
    EXPECT_EQ(genome, (Genome{{0, 2.5}, {0, 0.5}, {0.5, 1.1}, {0.5, 1.2}, {1, 1.0}, {1, 1}}));
}

TEST(RandomGenome, WalksInStepsOfAtMostPointThreeWithUniformInnerX) {
    SearchSettings settings;
    settings.constraints = {0.1, 10.0, std::nullopt};
    RandomStream random(5, kStreamTests);
    constexpr int kDraws = 20000;
    double sumFirst = 0.0, sumX = 0.0;
    for (int i = 0; i < kDraws; ++i) {
        const Genome genome = randomGenome(settings, 12, random);
        ASSERT_EQ(curve::violation(settings.curve, genome, settings.constraints), std::nullopt);
        double before = 1.0;
        for (const curve::ControlPoint& point : genome) {
            EXPECT_LE(std::abs(point.y - before), 0.3 + 1e-15);
            before = point.y;
        }
        sumFirst += genome[0].y;
        sumX += genome[1].x;
    }
    EXPECT_NEAR(sumFirst / kDraws, 1.0, 0.01);
    EXPECT_NEAR(sumX / kDraws, 1.0 / 3.0, 0.01);  // the smaller of two uniform numbers
}

}  // namespace
}  // namespace lpes::search
