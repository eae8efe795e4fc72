#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/rope/rope_config.h"

namespace lpes::rope {
namespace {

RopeConfig config(int headDim, double theta) {
    RopeConfig result;
    result.headDim = headDim;
    result.theta = theta;
    return result;
}

TEST(InverseFrequencies, FallFromOneByPowersOfTheBase) {
    const auto frequencies = inverseFrequencies(config(8, 10000.0), 1);
    ASSERT_EQ(frequencies.size(), 4u);
    EXPECT_DOUBLE_EQ(frequencies[0], 1.0);
    EXPECT_NEAR(frequencies[1], 0.1, 1e-15);
    EXPECT_NEAR(frequencies[2], 0.01, 1e-16);
    EXPECT_NEAR(frequencies[3], 0.001, 1e-17);
}

TEST(InverseFrequencies, LinearDividesEachOfThem) {
    RopeConfig linear = config(64, 100000.0);
    const auto plain = inverseFrequencies(linear, 1);
    linear.type = RopeConfig::Type::Linear;
    linear.factor = 4.0;
    const auto divided = inverseFrequencies(linear, 1);
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_DOUBLE_EQ(divided[i], plain[i] / 4.0);
}

TEST(InverseFrequencies, IgnoreTheFactorOfAModelWithoutLinearRope) {
    RopeConfig plain = config(64, 10000.0);
    plain.factor = 4.0;
    EXPECT_EQ(inverseFrequencies(plain, 1), inverseFrequencies(config(64, 10000.0), 1));
}

TEST(InverseFrequencies, OfYarnRampBetweenTheDimensionsOfMethodsMd) {
    // Check values of methods.md §1.3: d = 128, b = 1e4, L = 4096 → low 20, high 46; b = 1e6, L = 32768 → 23 and 40.
    const struct {
        double theta;
        int original, low, high;
    } cases[] = {{10000.0, 4096, 20, 46}, {1000000.0, 32768, 23, 40}};
    for (const auto& expected : cases) {
        RopeConfig yarn = config(128, expected.theta);
        const auto plain = inverseFrequencies(yarn, 1);
        yarn.type = RopeConfig::Type::Yarn;
        yarn.factor = 4.0;
        yarn.originalContext = expected.original;
        const auto scaled = inverseFrequencies(yarn, 1);
        for (std::size_t i = 0; i < plain.size(); ++i) {
            const int dim = static_cast<int>(i);
            if (dim <= expected.low) {
                EXPECT_DOUBLE_EQ(scaled[i], plain[i]) << i;
            } else if (dim >= expected.high) {
                EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 4.0) << i;
            } else {
                EXPECT_LT(scaled[i], plain[i]) << i;
                EXPECT_GT(scaled[i], plain[i] / 4.0) << i;
            }
        }
    }
}

TEST(InverseFrequencies, OfDynamicNtkGrowWithTheLengthAndEndAtOneOverTheFactor) {
    RopeConfig dynamic = config(128, 10000.0);
    const auto plain = inverseFrequencies(dynamic, 1);
    dynamic.type = RopeConfig::Type::Dynamic;
    dynamic.factor = 2.0;
    dynamic.originalContext = 100;
    EXPECT_EQ(inverseFrequencies(dynamic, 100), plain);
    EXPECT_EQ(lengthVariant(dynamic, 100), 0);
    EXPECT_NE(lengthVariant(dynamic, 101), lengthVariant(dynamic, 102));
    // At 150 tokens the base is that of NTK with factor 2 (methods.md §1.2: 20221.2617): the last frequency is halved.
    const auto grown = inverseFrequencies(dynamic, 150);
    EXPECT_DOUBLE_EQ(grown.front(), 1.0);
    EXPECT_NEAR(grown.back(), plain.back() / 2.0, 1e-12);
    EXPECT_NEAR(std::pow(grown[1], -64.0), 20221.2617, 0.01);
}

TEST(InverseFrequencies, ArePartialWhereAPartOfTheHeadIsRotated) {
    RopeConfig partial = config(16, 10000.0);
    partial.rotaryDim = 12;
    EXPECT_EQ(inverseFrequencies(partial, 1), inverseFrequencies(config(12, 10000.0), 1));
    EXPECT_EQ(partial.rotated(), 12);
}

TEST(PositionTable, HoldsCosAndSinOfTheDividedPosition) {
    const auto frequencies = inverseFrequencies(config(64, 10000.0), 1);
    const PositionTable table = positionTable(frequencies, 1.7, 4000, 3);
    ASSERT_EQ(table.count, 3);
    ASSERT_EQ(table.half, 32);
    ASSERT_EQ(table.cos.size(), 96u);
    for (int row = 0; row < 3; ++row) {
        for (int i = 0; i < 32; ++i) {
            const double angle = (4000 + row) / 1.7 * std::pow(10000.0, -2.0 * i / 64);
            EXPECT_NEAR(table.cos[static_cast<std::size_t>(row * 32 + i)], std::cos(angle), 6e-8);
            EXPECT_NEAR(table.sin[static_cast<std::size_t>(row * 32 + i)], std::sin(angle), 6e-8);
        }
    }
}

TEST(PositionTable, IdentityScaleIsBitIdenticalToPlainAngles) {
    const auto frequencies = inverseFrequencies(config(64, 10000.0), 1);
    const PositionTable table = positionTable(frequencies, 1.0, 0, 50);
    for (int row = 0; row < 50; ++row) {
        for (std::size_t i = 0; i < 32; ++i) {
            EXPECT_EQ(table.cos[static_cast<std::size_t>(row) * 32 + i],
                      static_cast<float>(std::cos(row * frequencies[i])));
        }
    }
}

TEST(PositionTable, DoublingScaleAndPositionGivesTheSameRotation) {
    const auto frequencies = inverseFrequencies(config(64, 10000.0), 1);
    const PositionTable one = positionTable(frequencies, 1.0, 321, 1);
    const PositionTable two = positionTable(frequencies, 2.0, 642, 1);
    EXPECT_EQ(one.cos, two.cos);
    EXPECT_EQ(one.sin, two.sin);
}

TEST(PositionTable, ScoresDependOnDistancesOnly) {
    const auto frequencies = inverseFrequencies(config(32, 10000.0), 1);
    const auto distanceCos = [&](int m, int n, std::size_t i) {
        const PositionTable a = positionTable(frequencies, 1.3, m, 1), b = positionTable(frequencies, 1.3, n, 1);
        return a.cos[i] * b.cos[i] + a.sin[i] * b.sin[i];
    };
    for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(distanceCos(40, 17, i), distanceCos(1040, 1017, i), 1e-6);
}

TEST(PositionTable, OfNoRowsIsEmpty) {
    const PositionTable table = positionTable(inverseFrequencies(config(8, 10000.0), 1), 1.0, 5, 0);
    EXPECT_TRUE(table.cos.empty());
    EXPECT_EQ(table.half, 4);
}

TEST(CheckScales, AcceptsNoProfileAndTheWholeRange) {
    EXPECT_TRUE(checkScales({}, 30).has_value());
    EXPECT_TRUE(checkScales(LayerScales{kMinScale, 1.0, kMaxScale}, 3).has_value());
}

TEST(CheckScales, NamesBothCountsWhenOneIsMissing) {
    const auto result = checkScales(LayerScales(29, 1.0), 30);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::BadInput);
    EXPECT_THAT(result.error().message, testing::AllOf(testing::HasSubstr("29"), testing::HasSubstr("30 layers"),
                                                       testing::HasSubstr("layer 29")));
}

class UnusableScale : public testing::TestWithParam<double> {};

TEST_P(UnusableScale, IsRefusedWithItsLayer) {
    LayerScales scales(4, 1.0);
    scales[2] = GetParam();
    const auto result = checkScales(scales, 4);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::BadInput);
    EXPECT_THAT(result.error().message, testing::HasSubstr("layer 2"));
}

INSTANTIATE_TEST_SUITE_P(T12, UnusableScale,
                         testing::Values(0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                                         std::numeric_limits<double>::infinity(), 1e9, 0.0099, 100.01));

}  // namespace
}  // namespace lpes::rope
