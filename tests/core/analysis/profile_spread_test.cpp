#include "core/analysis/profile_spread.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lpes::analysis {
namespace {

using Profiles = std::vector<std::vector<double>>;

TEST(ProfileSpread, OfOneProfileIsNothing) {
    const ProfileSpread one = profileSpread(Profiles{{1.0, 1.5, 0.8}});
    EXPECT_EQ(one.mean, (std::vector<double>{1.0, 1.5, 0.8}));
    EXPECT_EQ(one.low, one.mean);
    EXPECT_EQ(one.high, one.mean);
    EXPECT_EQ(one.stddev, (std::vector<double>{0.0, 0.0, 0.0}));
    EXPECT_EQ(one.meanAbsDifference, 0.0);
    EXPECT_FALSE(one.meanCorrelation.has_value());
    EXPECT_TRUE(profileSpread(Profiles{}).mean.empty());
}

TEST(ProfileSpread, IsTakenScaleByScale) {
    const ProfileSpread two = profileSpread(Profiles{{1.0, 1.2}, {1.4, 1.2}});
    EXPECT_NEAR(two.mean[0], 1.2, 1e-15);
    EXPECT_NEAR(two.stddev[0], 0.4 / std::sqrt(2.0), 1e-15) << "with n − 1";
    EXPECT_EQ(two.stddev[1], 0.0);
    EXPECT_EQ(two.low[0], 1.0);
    EXPECT_EQ(two.high[0], 1.4);
    EXPECT_NEAR(two.meanAbsDifference, 0.2, 1e-15);
}

TEST(ProfileSpread, CorrelationIsThatOfPairsThatHaveOne) {
    // A profile, the same one raised, its mirror image: 1, −1, −1.
    const ProfileSpread three = profileSpread(Profiles{{1.0, 1.1, 1.3}, {1.2, 1.3, 1.5}, {1.3, 1.2, 1.0}});
    ASSERT_TRUE(three.meanCorrelation.has_value());
    EXPECT_NEAR(*three.meanCorrelation, -1.0 / 3.0, 1e-12);
    EXPECT_NEAR(three.meanAbsDifference, (0.2 + 0.7 / 3 + 0.7 / 3) / 3, 1e-12);
    // What is the same in all layers correlates with nothing.
    const ProfileSpread flat = profileSpread(Profiles{{1.1, 1.1, 1.1}, {1.0, 1.1, 1.3}});
    EXPECT_FALSE(flat.meanCorrelation.has_value());
    const ProfileSpread some = profileSpread(Profiles{{1.1, 1.1, 1.1}, {1.0, 1.1, 1.3}, {2.0, 2.1, 2.3}});
    EXPECT_NEAR(some.meanCorrelation.value_or(0.0), 1.0, 1e-12);
}

}  // namespace
}  // namespace lpes::analysis
