#include "core/curve/bezier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"

namespace lpes::curve {
namespace {

std::vector<ControlPoint> randomPoints(int count, RandomStream& random) {
    std::vector<double> xs{0.0, 1.0};
    for (int k = 2; k < count; ++k) xs.push_back(random.uniform());
    std::sort(xs.begin(), xs.end());
    std::vector<ControlPoint> points;
    for (const double x : xs) points.push_back({x, random.uniform(0.5, 2.5)});
    return points;
}

double binomial(int n, int k) {
    return std::round(std::tgamma(n + 1.0) / (std::tgamma(k + 1.0) * std::tgamma(n - k + 1.0)));
}

TEST(BezierPoint, EqualsTheBernsteinSumForDegreesOneToSeven) {
    RandomStream random(1, kStreamTests);
    for (int count = 2; count <= kMaxBezierPoints; ++count) {
        const auto points = randomPoints(count, random);
        for (double t = 0.0; t <= 1.0; t += 1.0 / 64) {
            double x = 0.0, y = 0.0;
            for (int k = 0; k < count; ++k) {
                const double weight = binomial(count - 1, k) * std::pow(t, k) * std::pow(1.0 - t, count - 1 - k);
                x += weight * points[static_cast<std::size_t>(k)].x;
                y += weight * points[static_cast<std::size_t>(k)].y;
            }
            EXPECT_NEAR(bezierPoint(points, t).x, x, 1e-14);
            EXPECT_NEAR(bezierPoint(points, t).y, y, 1e-14);
        }
    }
}

TEST(BezierPoint, PassesThroughItsEndPointsExactly) {
    RandomStream random(2, kStreamTests);
    for (int count = 2; count <= kMaxBezierPoints; ++count) {
        const auto points = randomPoints(count, random);
        EXPECT_EQ(bezierPoint(points, 0.0), points.front());
        EXPECT_EQ(bezierPoint(points, 1.0), points.back());
    }
}

TEST(ParameterAtDepth, AgreesWithADenseReferenceAndIsMonotone) {
    RandomStream random(3, kStreamTests);
    for (int trial = 0; trial < 40; ++trial) {
        const auto points = randomPoints(2 + trial % 7, random);
        constexpr int kDense = 20000;
        double before = 0.0;
        int i = 0;
        for (int k = 0; k <= 50; ++k) {
            const double depth = k / 50.0;
            const double t = parameterAtDepth(points, depth);
            EXPECT_GE(t, before);
            before = t;
            while (i < kDense && bezierPoint(points, static_cast<double>(i) / kDense).x < depth) ++i;
            EXPECT_NEAR(t, static_cast<double>(i) / kDense, 1.01 / kDense);
            EXPECT_NEAR(bezierPoint(points, t).x, depth, 1e-15 * 8);
        }
    }
}

TEST(ParameterAtDepth, EqualsTheDepthForEvenlySpacedPoints) {
    const std::vector<ControlPoint> points{{0.0, 1.0}, {1.0 / 3, 1.0}, {2.0 / 3, 1.0}, {1.0, 1.0}};
    for (int k = 0; k <= 100; ++k) EXPECT_NEAR(parameterAtDepth(points, k / 100.0), k / 100.0, 1e-15 * 8);
}

TEST(ParameterAtDepth, HandlesPointsThatShareAnX) {
    // x(t) = t^3, 1 − (1−t)^3 and 3t² − 2t³: the flattest that the constraint allows.
    const std::vector<ControlPoint> left{{0, 1}, {0, 1}, {0, 1}, {1, 1}}, right{{0, 1}, {1, 1}, {1, 1}, {1, 1}};
    const std::vector<ControlPoint> middle{{0, 1}, {0, 1}, {1, 1}, {1, 1}},
        vertical{{0, 1}, {0.5, 1}, {0.5, 2}, {1, 2}};
    for (int k = 0; k <= 64; ++k) {
        const double depth = k / 64.0;
        EXPECT_NEAR(parameterAtDepth(left, depth), std::cbrt(depth), 1e-12);
        EXPECT_NEAR(parameterAtDepth(right, depth), 1.0 - std::cbrt(1.0 - depth), 1e-12);
        const double t = parameterAtDepth(middle, depth);
        EXPECT_NEAR(t * t * (3.0 - 2.0 * t), depth, 1e-14);
        EXPECT_NEAR(bezierPoint(vertical, parameterAtDepth(vertical, depth)).x, depth, 1e-14);
    }
}

TEST(ParameterAtDepth, ClampsOutsideTheEnds) {
    const std::vector<ControlPoint> points{{0, 1}, {0.3, 1}, {1, 1}};
    EXPECT_EQ(parameterAtDepth(points, -3.0), 0.0);
    EXPECT_EQ(parameterAtDepth(points, std::nan("")), 0.0);
    EXPECT_EQ(parameterAtDepth(points, 7.0), 1.0);
}

}  // namespace
}  // namespace lpes::curve
