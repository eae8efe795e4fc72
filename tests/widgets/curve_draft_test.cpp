#include "widgets/curve_editor/curve_draft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace lpes::widgets;
using lpes::curve::ControlPoint;
using lpes::curve::CurveKind;

namespace {

CurveDraft draftOf(CurveKind kind, std::vector<ControlPoint> points) {
    return {kind, std::move(points), {0.5, 2.5, 0.05}};
}

CurveDraft bezier() {
    return draftOf(CurveKind::Bezier, {{0, 1.0}, {0.33, 1.6}, {0.67, 2.0}, {1, 1.2}});
}

CurveDraft freeCurve(int layers) {
    CurveDraft draft = draftOf(CurveKind::Free, {});
    for (int layer = 0; layer < layers; ++layer) {
        draft.points.push_back({static_cast<double>(layer) / (layers - 1), 1.0 + 0.01 * layer});
    }
    return draft;
}

double valueAt(const CurveDraft& draft, double depth) {
    const auto made = lpes::curve::ScaleCurve::make(draft.kind, draft.points, draft.constraints);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? made->at(depth) : 0.0;
}

}  // namespace

TEST(CurveDraft, DecodesToOneScalePerLayerOnTheGrid) {
    const std::vector<double> scales = decodedScales(bezier(), 30);
    ASSERT_EQ(scales.size(), 30u);
    EXPECT_EQ(scales.front(), 1.0);
    EXPECT_EQ(scales.back(), 1.2);
    for (const double scale : scales) EXPECT_EQ(scale, std::round(scale * 20.0) / 20.0);
}

TEST(CurveDraft, HasNoScalesWhileARuleIsBroken) {
    CurveDraft draft = bezier();
    draft.points[1].y = 3.0;
    EXPECT_TRUE(decodedScales(draft, 30).empty());
    EXPECT_TRUE(decodedScales(CurveDraft{}, 30).empty());
    EXPECT_TRUE(decodedScales(bezier(), 0).empty());
    EXPECT_TRUE(decodedScales(freeCurve(12), 30).empty()) << "a free curve of another model";
    EXPECT_EQ(decodedScales(freeCurve(12), 12).size(), 12u);
}

TEST(CurveDraft, AnAddedBezierPointDoesNotChangeTheCurve) {
    CurveDraft draft = bezier();
    while (const auto more = withPointAdded(draft)) {
        EXPECT_EQ(more->points.size(), draft.points.size() + 1);
        for (int i = 0; i <= 200; ++i) EXPECT_NEAR(valueAt(*more, i / 200.0), valueAt(bezier(), i / 200.0), 1e-12);
        draft = *more;
    }
    EXPECT_EQ(draft.points.size(), static_cast<std::size_t>(lpes::curve::kMaxBezierPoints));
}

TEST(CurveDraft, AnElevatedCurveKeepsTheRulesAtTheirEdge) {
    CurveDraft draft = draftOf(CurveKind::Bezier, {{0, 2.5}, {0.1, 2.5}, {0.1, 2.5}, {1, 2.5}});
    while (const auto more = withPointAdded(draft)) {
        draft = *more;
        EXPECT_EQ(lpes::curve::violation(draft.kind, draft.points, draft.constraints), std::nullopt);
    }
}

TEST(CurveDraft, AnAddedPointLiesInTheLongestGapOfStraightLinesAndSteps) {
    for (const CurveKind kind : {CurveKind::Linear, CurveKind::Step}) {
        const CurveDraft draft = draftOf(kind, {{0, 1.0}, {0.2, 2.0}, {0.8, 1.0}, {1, 1.5}});
        const auto more = withPointAdded(draft);
        ASSERT_TRUE(more);
        ASSERT_EQ(more->points.size(), 5u);
        EXPECT_NEAR(more->points[2].x, 0.5, 1e-12);
        for (int i = 0; i <= 100; ++i) EXPECT_NEAR(valueAt(*more, i / 100.0), valueAt(draft, i / 100.0), 1e-12);
    }
}

TEST(CurveDraft, APointAddedToMonotoneCubicsLiesOnTheCurveInTheLongestGap) {
    const CurveDraft draft = draftOf(CurveKind::Monotone, {{0, 1.0}, {0.2, 2.0}, {0.8, 1.0}, {1, 1.5}});
    const auto more = withPointAdded(draft);
    ASSERT_TRUE(more);
    ASSERT_EQ(more->points.size(), 5u);
    EXPECT_EQ(more->points[2], (ControlPoint{0.5, valueAt(draft, 0.5)}));
    EXPECT_EQ(lpes::curve::violation(more->kind, more->points, more->constraints), std::nullopt);
    CurveDraft broken = draft;
    broken.points[1].y = 9.0;
    EXPECT_EQ(withPointAdded(broken)->points[2], (ControlPoint{0.5, 5.0})) << "there is no curve to lie on";
}

TEST(CurveDraft, NoPointIsAddedToAFreeCurveOrToNothing) {
    EXPECT_EQ(withPointAdded(freeCurve(12)), std::nullopt);
    EXPECT_EQ(withPointAdded(CurveDraft{}), std::nullopt);
}

TEST(CurveDraft, OnlyInnerPointsAreRemoved) {
    const CurveDraft draft = bezier();
    const auto fewer = withPointRemoved(draft, 1);
    ASSERT_TRUE(fewer);
    EXPECT_EQ(fewer->points, (std::vector<ControlPoint>{draft.points[0], draft.points[2], draft.points[3]}));
    for (const int index : {-1, 0, 3, 4}) EXPECT_EQ(withPointRemoved(draft, index), std::nullopt) << index;
    EXPECT_EQ(withPointRemoved(draftOf(CurveKind::Linear, {{0, 1}, {1, 2}}), 1), std::nullopt);
    EXPECT_EQ(withPointRemoved(freeCurve(12), 5), std::nullopt);
}

TEST(CurveDraft, AMovedPointStaysBetweenItsNeighboursAndTheBounds) {
    const CurveDraft draft = bezier();
    EXPECT_EQ(withPointMoved(draft, 1, {0.4, 1.7}).points[1], (ControlPoint{0.4, 1.7}));
    EXPECT_EQ(withPointMoved(draft, 1, {0.9, 9.0}).points[1], (ControlPoint{0.67, 2.5}));
    EXPECT_EQ(withPointMoved(draft, 1, {-1.0, 0.0}).points[1], (ControlPoint{0.0, 0.5}));
    EXPECT_EQ(withPointMoved(draft, 0, {0.3, 1.5}).points[0], (ControlPoint{0.0, 1.5}));
    EXPECT_EQ(withPointMoved(draft, 3, {0.3, 1.5}).points[3], (ControlPoint{1.0, 1.5}));
    EXPECT_EQ(withPointMoved(freeCurve(5), 2, {0.6, 1.5}).points[2], (ControlPoint{0.5, 1.5}));
    EXPECT_EQ(withPointMoved(draft, 7, {0.6, 1.5}), draft);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(withPointMoved(draft, 1, {nan, nan}), draft);
}

TEST(CurveDraft, AnotherKindReadsTheSamePointsWhereItCan) {
    const CurveDraft draft = bezier();
    for (const CurveKind kind : {CurveKind::Linear, CurveKind::Monotone, CurveKind::Step}) {
        EXPECT_EQ(withKind(draft, kind, 30).points, draft.points);
        EXPECT_EQ(withKind(draft, kind, 30).kind, kind);
    }
    EXPECT_EQ(withKind(draft, CurveKind::Bezier, 30), draft);
}

TEST(CurveDraft, AFreeCurveTakesTheValuesOfTheOldOneAndGivesThemBack) {
    const CurveDraft free = withKind(bezier(), CurveKind::Free, 30);
    ASSERT_EQ(free.points.size(), 30u);
    EXPECT_EQ(decodedScales(free, 30), decodedScales(bezier(), 30));
    const CurveDraft back = withKind(free, CurveKind::Bezier, 30);
    EXPECT_EQ(back.points.size(), static_cast<std::size_t>(lpes::curve::kMaxBezierPoints));
    EXPECT_EQ(decodedScales(back, 30).size(), 30u);
    EXPECT_EQ(withKind(bezier(), CurveKind::Free, 1), bezier()) << "one layer makes no free curve";
}
