#include "core/search/pareto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lpes::search {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Dominates, NeedsNothingWorseAndSomethingBetter) {
    EXPECT_TRUE(dominates({2, 3}, {1, 3}));
    EXPECT_TRUE(dominates({2, 4}, {1, 3}));
    EXPECT_FALSE(dominates({1, 3}, {1, 3}));
    EXPECT_FALSE(dominates({2, 2}, {1, 3}));
    EXPECT_FALSE(dominates({1, 3}, {2, 3}));
    EXPECT_TRUE(dominates({1, 1, 2}, {1, 1, 1}));
}

TEST(NonDominatedFronts, PeelFrontAfterFront) {
    const std::vector<Objectives> points{{1, 5}, {3, 3}, {5, 1}, {2, 2}, {1, 1}, {3, 2}};
    EXPECT_THAT(nonDominatedFronts(points),
                ElementsAre(ElementsAre(0, 1, 2), ElementsAre(5), ElementsAre(3), ElementsAre(4)));
    EXPECT_THAT(nonDominatedFronts(std::vector<Objectives>{}), IsEmpty());
    EXPECT_THAT(nonDominatedFronts(std::vector<Objectives>{{1, 2}, {1, 2}}), ElementsAre(ElementsAre(0, 1)))
        << "equal points dominate each other not";
}

TEST(NonDominatedFronts, HoldWhatTheirDefinitionSays) {
    // Points of a lattice in three objectives: the front number is the length of the longest chain above a point.
    std::vector<Objectives> points;
    for (int i = 0; i < 27; ++i)
        points.push_back({static_cast<double>(i % 3), static_cast<double>(i / 3 % 3), static_cast<double>(i / 9)});
    const auto fronts = nonDominatedFronts(points);
    ASSERT_EQ(fronts.size(), 7u);
    for (std::size_t front = 0; front < fronts.size(); ++front) {
        for (const std::size_t i : fronts[front])
            EXPECT_EQ(points[i][0] + points[i][1] + points[i][2], 6.0 - static_cast<double>(front));
    }
}

TEST(CrowdingDistances, AreTheNeighboursSidesOfACuboid) {
    const std::vector<Objectives> front{{6, 3}, {0, 10}, {8, 0}, {1, 7}};
    EXPECT_THAT(crowdingDistances(front),
                ElementsAre(DoubleNear(1.575, 1e-12), kInfinity, kInfinity, DoubleNear(1.45, 1e-12)));
    EXPECT_THAT(crowdingDistances(std::vector<Objectives>{{1, 1}}), ElementsAre(0.0)) << "there is no extent";
    EXPECT_THAT(crowdingDistances(std::vector<Objectives>{{0, 5}, {1, 5}, {4, 5}}),
                ElementsAre(kInfinity, DoubleNear(1.0, 1e-12), kInfinity))
        << "an objective that is the same for all counts for nobody";
    EXPECT_THAT(crowdingDistances(std::vector<Objectives>{}), IsEmpty());
}

TEST(CrowdedOrder, PutsFrontsFirstAndTheLonelyBeforeTheCrowded) {
    const std::vector<Objectives> points{{1, 1}, {6, 3}, {0, 10}, {8, 0}, {1, 7}};
    EXPECT_THAT(crowdedOrder(points), ElementsAre(2, 3, 1, 4, 0));
}

TEST(SpreadOut, LeavesOutTheMostCrowdedButNeverTheOneThatIsKept) {
    const std::vector<Objectives> front{{0, 10}, {1, 9}, {1.1, 8.9}, {5, 5}, {10, 0}};
    EXPECT_THAT(spreadOut(front, 4, 0), ElementsAre(0, 2, 3, 4));
    EXPECT_THAT(spreadOut(front, 4, 1), ElementsAre(0, 1, 3, 4));
    EXPECT_THAT(spreadOut(front, 9, 1), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(spreadOut(front, 1, 2), ElementsAre(2));
    EXPECT_THAT(spreadOut(front, 0, 3), ElementsAre(3)) << "something is always left";
    EXPECT_EQ(spreadOut(front, 2, 3).size(), 2u);
}

TEST(Hypervolume, IsTheAreaOfTheStaircase) {
    const Objectives origin{0, 0};
    EXPECT_DOUBLE_EQ(hypervolume(std::vector<Objectives>{{1, 3}, {2, 2}, {3, 1}}, origin), 6.0);
    EXPECT_DOUBLE_EQ(hypervolume(std::vector<Objectives>{{3, 1}, {1, 1}, {1, 3}, {2, 2}, {2, 2}}, origin), 6.0)
        << "dominated and equal points add nothing";
    EXPECT_DOUBLE_EQ(hypervolume(std::vector<Objectives>{{3, 1}, {-1, 9}, {0, 9}}, origin), 3.0)
        << "nor do points that are not above the reference";
    EXPECT_EQ(hypervolume(std::vector<Objectives>{}, origin), 0.0);
}

TEST(Hypervolume, IsTheVolumeOfTheUnionOfBoxes) {
    const Objectives origin{0, 0, 0};
    EXPECT_DOUBLE_EQ(hypervolume(std::vector<Objectives>{{2, 3, 4}}, origin), 24.0);
    // Three boxes of volume 2 that share the unit cube.
    EXPECT_DOUBLE_EQ(hypervolume(std::vector<Objectives>{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}}, origin), 4.0);
    // 2·3·4 and 3·2·1, of which 2·2·1 is common.
    EXPECT_DOUBLE_EQ(hypervolume(std::vector<Objectives>{{2, 3, 4}, {3, 2, 1}}, origin), 24.0 + 6.0 - 4.0);
}

TEST(Hypervolume, OfTheFrontOfZdt1IsTwoThirds) {
    // E. Zitzler, K. Deb, L. Thiele (2000): f2 = 1 − √f1, to be minimised, over the reference (1, 1): ∫ √f df.
    std::vector<Objectives> front;
    constexpr int kPoints = 4000;
    for (int i = 0; i < kPoints; ++i) {
        const double f1 = static_cast<double>(i) / kPoints;
        front.push_back({-f1, std::sqrt(f1) - 1.0});
    }
    EXPECT_NEAR(hypervolume(front, {-1.0, -1.0}), 2.0 / 3.0, 1e-3);
}

}  // namespace
}  // namespace lpes::search
