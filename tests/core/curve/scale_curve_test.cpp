#include "core/curve/scale_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/base/random.h"

namespace lpes::curve {
namespace {

using testing::ElementsAre;
using testing::Pointwise;

const Constraints kSmooth{0.5, 2.5, std::nullopt};

ScaleCurve curve(CurveKind kind, std::vector<ControlPoint> points, const Constraints& constraints = kSmooth) {
    Result<ScaleCurve> made = ScaleCurve::make(kind, std::move(points), constraints);
    if (!made) throw std::runtime_error(made.error().message);
    return *made;
}

std::vector<ControlPoint> even(const std::vector<double>& ys) {
    std::vector<ControlPoint> points;
    for (std::size_t k = 0; k < ys.size(); ++k) {
        points.push_back({static_cast<double>(k) / static_cast<double>(ys.size() - 1), ys[k]});
    }
    return points;
}

TEST(ScaleCurve, DecodesTheCheckValueOfTheDefinition) {
    const auto scales = curve(CurveKind::Bezier, even({1.0, 1.6, 2.0, 1.2})).decode(5);
    EXPECT_THAT(scales, Pointwise(testing::DoubleNear(1e-14), {1.0, 1.396875, 1.625, 1.590625, 1.2}));
}

TEST(ScaleCurve, DecodedGridValuesAreTheDecimalsThemselves) {
    const Constraints bounds{0.5, 2.5, 0.05};
    EXPECT_THAT(curve(CurveKind::Bezier, even({1.0, 1.6, 2.0, 1.2}), bounds).decode(5),
                ElementsAre(1.0, 1.4, 1.65, 1.6, 1.2));
    for (int k = 10; k <= 50; ++k) {
        const double wanted = std::strtod(
            (std::to_string(k * 5 / 100) + "." + (k * 5 % 100 < 10 ? "0" : "") + std::to_string(k * 5 % 100)).c_str(),
            nullptr);
        for (const double off : {-0.02, 0.0, 0.02}) {
            const double y = std::min(2.5, std::max(0.5, wanted + off));
            EXPECT_EQ(curve(CurveKind::Linear, even({y, y}), bounds).decode(3)[1], wanted) << wanted << " " << off;
        }
    }
    EXPECT_EQ(curve(CurveKind::Linear, even({1.351, 1.351}), bounds).decode(1)[0], 1.35);
    EXPECT_NE(23 * 0.05, 1.15) << "a plain product would not do";
}

TEST(ScaleCurve, GridsOfManyDigitsRoundToTheNearestMultiple) {
    for (const double step : {0.3, 0.125, 1.0 / 3.0, 0.01, 1e-7, 3e-16, 1e-300}) {
        RandomStream random(5, kStreamTests);
        for (int i = 0; i < 200; ++i) {
            const double y = random.uniform(0.5, 2.4);
            const double got = curve(CurveKind::Linear, even({y, y}), {0.01, 100.0, step}).decode(2)[0];
            EXPECT_LE(std::abs(got - y), step / 2 + 1e-15) << step;
        }
    }
}

TEST(ScaleCurve, GridStaysInsideBoundsThatAreNoMultiples) {
    EXPECT_EQ(curve(CurveKind::Linear, even({0.51, 2.49}), {0.51, 2.49, 0.05}).decode(2), (std::vector{0.55, 2.45}));
    // No multiple inside: the curve's own value is the only one that keeps the bounds.
    EXPECT_EQ(curve(CurveKind::Linear, even({1.02, 1.03}), {1.01, 1.04, 0.5}).decode(2), (std::vector{1.02, 1.03}));
}

TEST(ScaleCurve, BoundsHoldForEveryCurveAndDepth) {
    RandomStream random(6, kStreamTests);
    for (int trial = 0; trial < 200; ++trial) {
        const double low = random.uniform(0.1, 1.0), high = low + random.uniform(0.001, 1.0);
        std::vector<double> ys(2 + trial % 7);
        for (double& y : ys) y = random.below(3) == 0 ? high : random.uniform(low, high);
        for (const CurveKind kind : kCurveKinds) {
            for (const double scale : curve(kind, even(ys), {low, high, 0.05}).decode(static_cast<int>(ys.size()))) {
                EXPECT_GE(scale, low);
                EXPECT_LE(scale, high);
            }
        }
    }
}

TEST(ScaleCurve, BezierReproducesAStraightLine) {
    for (int count = 2; count <= kMaxBezierPoints; ++count) {
        std::vector<double> ys;
        for (int k = 0; k < count; ++k) ys.push_back(1.15 - 0.3 * k / (count - 1));
        const ScaleCurve line = curve(CurveKind::Bezier, even(ys));
        for (int k = 0; k <= 29; ++k) EXPECT_NEAR(line.at(k / 29.0), 1.15 - 0.3 * k / 29.0, 1e-14);
    }
}

TEST(ScaleCurve, LinearIsStraightBetweenPoints) {
    const ScaleCurve line = curve(CurveKind::Linear, {{0, 1.0}, {0.25, 2.0}, {1, 1.4}});
    EXPECT_DOUBLE_EQ(line.at(0.125), 1.5);
    EXPECT_EQ(line.at(0.25), 2.0);
    EXPECT_DOUBLE_EQ(line.at(0.625), 1.7);
    EXPECT_EQ(line.at(1.0), 1.4);
}

TEST(ScaleCurve, StepHoldsTheLastPointAtOrBeforeTheDepth) {
    const ScaleCurve stairs = curve(CurveKind::Step, {{0, 1.0}, {0.5, 2.0}, {1, 1.4}});
    EXPECT_EQ(stairs.at(0.499), 1.0);
    EXPECT_EQ(stairs.at(0.5), 2.0);
    EXPECT_EQ(stairs.at(0.999), 2.0);
    EXPECT_EQ(stairs.at(1.0), 1.4);
}

TEST(ScaleCurve, LaterPointHoldsWherePointsShareAnX) {
    for (const CurveKind kind : {CurveKind::Linear, CurveKind::Monotone, CurveKind::Step}) {
        const ScaleCurve jump = curve(kind, {{0, 1.0}, {0.5, 1.0}, {0.5, 2.0}, {1, 2.0}});
        EXPECT_EQ(jump.at(0.49), 1.0);
        EXPECT_EQ(jump.at(0.5), 2.0);
        EXPECT_EQ(jump.at(0.51), 2.0);
    }
}

TEST(ScaleCurve, DepthsOutsideTakeTheEndsValue) {
    for (const CurveKind kind : kCurveKinds) {
        const ScaleCurve any = curve(kind, even({1.1, 2.0, 1.7}));
        EXPECT_EQ(any.at(-1.0), 1.1);
        EXPECT_EQ(any.at(2.0), 1.7);
        EXPECT_EQ(any.at(std::nan("")), 1.1);
    }
}

TEST(ScaleCurve, FreeGivesEveryLayerItsOwnValue) {
    std::vector<double> ys;
    for (int layer = 0; layer < 31; ++layer) ys.push_back(0.9 + 0.01 * layer);
    EXPECT_EQ(curve(CurveKind::Free, even(ys)).decode(31), ys);
}

TEST(ScaleCurve, OneLayerHasDepthZero) {
    EXPECT_EQ(curve(CurveKind::Bezier, even({1.3, 2.0})).decode(1), std::vector{1.3});
}

TEST(CurveKind, NamesRoundTripAndOthersAreRefused) {
    for (const CurveKind kind : kCurveKinds) {
        EXPECT_THAT(curveKindNames(), testing::HasSubstr(curveKindName(kind)));
        EXPECT_EQ(parseCurveKind(curveKindName(kind)).value(), kind);
    }
    const auto spline = parseCurveKind("spline");
    ASSERT_FALSE(spline);
    EXPECT_EQ(spline.error().code, ErrorCode::Usage);
    EXPECT_THAT(spline.error().message, testing::HasSubstr("'spline'"));
}

}  // namespace
}  // namespace lpes::curve
