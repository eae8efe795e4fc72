#include "core/curve/monotone_cubic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/random.h"

namespace lpes::curve {
namespace {

ScaleCurve monotone(std::vector<ControlPoint> points) {
    auto made = ScaleCurve::make(CurveKind::Monotone, std::move(points), {0.01, 100.0, std::nullopt});
    if (!made) throw std::runtime_error(made.error().message);
    return *made;
}

TEST(MonotoneCubic, AgreesWithScipyItsEndSlopesIncluded) {
    std::ifstream file(LPES_TEST_DATA "/golden/monotone_cubic.json");
    const auto cases = nlohmann::json::parse(file);
    ASSERT_GE(cases.size(), 15u);
    for (const auto& one : cases) {
        std::vector<ControlPoint> points;
        for (const auto& point : one["points"]) points.push_back({point[0].get<double>(), point[1].get<double>()});
        const ScaleCurve curve = monotone(points);
        for (const auto& value : one["values"]) {
            EXPECT_NEAR(curve.at(value[0].get<double>()), value[1].get<double>(), 1e-14)
                << one["name"] << " at " << value[0];
        }
    }
}

TEST(MonotoneCubic, PassesThroughItsPointsAndLeavesNoIntervalsRange) {
    RandomStream random(8, kStreamTests);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<ControlPoint> points{{0.0, random.uniform(0.5, 2.5)}};
        std::vector<double> inner;
        for (int k = 0; k < trial % 8; ++k) inner.push_back(random.uniform());
        std::sort(inner.begin(), inner.end());
        for (const double x : inner) points.push_back({x, random.uniform(0.5, 2.5)});
        points.push_back({1.0, random.uniform(0.5, 2.5)});
        const ScaleCurve curve = monotone(points);
        for (std::size_t k = 0; k + 1 < points.size(); ++k) {
            EXPECT_EQ(curve.at(points[k].x), points[k].y);
            const bool rises = points[k + 1].y > points[k].y;
            double before = points[k].y;
            for (int i = 1; i <= 50; ++i) {
                const double share = i / 50.0;
                const double value = curve.at((1.0 - share) * points[k].x + share * points[k + 1].x);
                EXPECT_GE(rises ? value - before : before - value, -1e-12) << trial << ", interval " << k;
                before = value;
            }
        }
        EXPECT_EQ(curve.at(1.0), points.back().y);
    }
}

TEST(MonotoneCubic, IsStraightBetweenTwoPointsAndOnALine) {
    const ScaleCurve two = monotone({{0, 1.15}, {1, 0.85}});
    const ScaleCurve four = monotone({{0, 1.15}, {0.2, 1.09}, {0.7, 0.94}, {1, 0.85}});
    for (int i = 0; i <= 29; ++i) {
        EXPECT_NEAR(two.at(i / 29.0), 1.15 - 0.3 * i / 29.0, 1e-14);
        EXPECT_NEAR(four.at(i / 29.0), 1.15 - 0.3 * i / 29.0, 1e-14);
    }
}

TEST(MonotoneCubic, LevelStretchesHaveTheirVeryValue) {
    const ScaleCurve level = monotone({{0, 1.1}, {0.3, 1.1}, {0.9, 1.1}, {1, 1.7}});
    for (int i = 0; i <= 90; ++i) EXPECT_EQ(level.at(i / 100.0), 1.1);
}

/// Mutations and projected steps bring points together: nothing may break off there.
TEST(MonotoneCubic, PointsThatShareADepthAreTheLimitOfPointsThatComeTogether) {
    constexpr double kNear = 1e-9;
    const std::vector<std::vector<ControlPoint>> cases{
        {{0, 1.0}, {0.4, 1.3}, {0.4, 2.1}, {1, 2.4}}, {{0, 1.0}, {0.4, 1.3}, {0.4, 0.9}, {1, 2.4}},
        {{0, 1.0}, {0.4, 1.3}, {0.4, 1.3}, {1, 2.4}}, {{0, 1.0}, {0.0, 1.4}, {0.3, 1.3}, {1, 2.4}},
        {{0, 1.0}, {0.7, 1.3}, {1.0, 0.9}, {1, 2.4}}, {{0, 1.0}, {0.0, 0.7}, {1.0, 0.9}, {1, 2.4}}};
    for (std::size_t which = 0; which < cases.size(); ++which) {
        std::vector<ControlPoint> apart = cases[which];
        for (std::size_t k = 1; k < apart.size(); ++k) {
            if (apart[k].x != cases[which][k - 1].x) continue;
            (apart[k].x == 1.0 ? apart[k - 1].x : apart[k].x) += apart[k].x == 1.0 ? -kNear : kNear;
        }
        const ScaleCurve together = monotone(cases[which]), nearly = monotone(apart);
        for (int i = 1; i < 29; ++i) EXPECT_NEAR(together.at(i / 29.0), nearly.at(i / 29.0), 1e-7) << which << " " << i;
    }
    const ScaleCurve three = monotone({{0, 1.0}, {0.5, 1.2}, {0.5, 2.0}, {0.5, 1.6}, {1, 1.4}});
    for (int i = 0; i <= 40; ++i) EXPECT_TRUE(std::isfinite(three.at(i / 40.0))) << i;
    EXPECT_EQ(three.at(0.5), 1.6);
}

}  // namespace
}  // namespace lpes::curve
