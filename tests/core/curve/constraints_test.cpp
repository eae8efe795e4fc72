#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <locale>

#include "core/curve/scale_curve.h"

namespace lpes::curve {
namespace {

using testing::HasSubstr;

const std::vector<ControlPoint> kGood{{0, 1.0}, {0.3, 1.6}, {0.7, 2.0}, {1, 1.2}};

TEST(Violation, IsNothingForGoodPoints) {
    EXPECT_EQ(violation(CurveKind::Bezier, kGood, {}), std::nullopt);
    EXPECT_EQ(violation(CurveKind::Bezier, {{0, 1}, {0, 1}, {1, 1}, {1, 1}}, {}), std::nullopt);
    EXPECT_EQ(violation(CurveKind::Step, std::vector<ControlPoint>{{0, 0.5}, {1, 2.5}}, {}), std::nullopt);
}

TEST(Violation, NamesTheRuleAndTheValues) {
    const auto words = [](CurveKind kind, std::vector<ControlPoint> points, const Constraints& bounds = {}) {
        return violation(kind, points, bounds).value_or("(none)");
    };
    auto changed = [](std::size_t k, ControlPoint point) {
        auto points = kGood;
        points[k] = point;
        return points;
    };
    EXPECT_EQ(words(CurveKind::Bezier, {{0, 1}, {0.8, 1}, {0.7, 1}, {1, 1}}),
              "control point 2 has x 0.7, left of point 1 at 0.8; x must not decrease");
    EXPECT_THAT(words(CurveKind::Bezier, changed(0, {0.1, 1})), HasSubstr("control point 0 has x 0.1"));
    EXPECT_THAT(words(CurveKind::Bezier, changed(3, {0.9, 1})), HasSubstr("control point 3 has x 0.9"));
    EXPECT_THAT(words(CurveKind::Bezier, changed(1, {std::nan(""), 1})), HasSubstr("control point 1 has x nan"));
    EXPECT_THAT(words(CurveKind::Bezier, changed(2, {0.7, 2.51})), HasSubstr("control point 2 has scale 2.51"));
    EXPECT_THAT(words(CurveKind::Bezier, changed(2, {0.7, std::nan("")})), HasSubstr("control point 2 has scale nan"));
    EXPECT_THAT(words(CurveKind::Bezier, changed(2, {0.7, INFINITY})), HasSubstr("scale inf"));
    EXPECT_THAT(words(CurveKind::Bezier, {}), HasSubstr("at least 2 control points and has 0"));
    EXPECT_THAT(words(CurveKind::Linear, {{0, 1}}), HasSubstr("at least 2"));
    EXPECT_THAT(words(CurveKind::Bezier, std::vector<ControlPoint>(9, {0, 1})), HasSubstr("at most 8"));
    EXPECT_THAT(words(CurveKind::Free, {{0, 1}, {0.4, 1}, {1, 1}}), HasSubstr("x 0.4; its layer is at 0.5"));
    EXPECT_THAT(words(CurveKind::Bezier, kGood, {0.0, 2.5, 0.05}), HasSubstr("smallest allowed scale is 0"));
    EXPECT_THAT(words(CurveKind::Bezier, kGood, {2.0, 1.0, 0.05}), HasSubstr("largest allowed scale is 1"));
    EXPECT_THAT(words(CurveKind::Bezier, kGood, {0.5, 2.5, 0.0}), HasSubstr("grid step is 0"));
}

TEST(Violation, IsWhatMakeReports) {
    const auto made = ScaleCurve::make(CurveKind::Bezier, {{0, 1}, {1, 3}}, {});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::Usage);
    EXPECT_EQ(made.error().message, violation(CurveKind::Bezier, {{0, 1}, {1, 3}}, {}).value());
}

TEST(ParsePoints, ReadsDepthColonScale) {
    EXPECT_EQ(parsePoints("0:1.0,0.33:1.6,0.67:2.0,1:1.2").value(),
              (std::vector<ControlPoint>{{0, 1.0}, {0.33, 1.6}, {0.67, 2.0}, {1, 1.2}}));
    EXPECT_EQ(parsePoints(" 0 : 1 , 1 : 1.5e0 ").value(), (std::vector<ControlPoint>{{0, 1}, {1, 1.5}}));
}

TEST(ParsePoints, NamesTheMalformedPart) {
    for (const auto& [text, part] : {std::pair{"", "control point 0, ''"},
                                     {"0:1,", "control point 1, ''"},
                                     {"0:1,0.5,1:1", "control point 1, '0.5'"},
                                     {"0:1,x:2", "'x:2'"},
                                     {"0:1,1:2:3", "'1:2:3'"},
                                     {"0:nan,1:1", "'0:nan'"},
                                     {"0:1,1:inf", "'1:inf'"},
                                     {"0:1,1:1e999", "'1:1e999'"},
                                     {"0:1;1:2", "'0:1;1:2'"},
                                     {"0,5:1", "'0'"}}) {
        const auto points = parsePoints(text);
        ASSERT_FALSE(points) << text;
        EXPECT_EQ(points.error().code, ErrorCode::Usage);
        EXPECT_THAT(points.error().message, HasSubstr(part));
    }
}

/// A locale of Central Europe, whether or not the machine has one installed.
struct CommaDecimals : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
};

TEST(ParsePoints, UsesDecimalPointsInEveryLocale) {
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaDecimals));
    const auto points = parsePoints("0:1.25,1:1.5");
    const auto words = violation(CurveKind::Bezier, {{0, 1}, {1, 3.25}}, {});
    std::locale::global(before);
    EXPECT_EQ(points.value().front().y, 1.25);
    EXPECT_THAT(words.value(), HasSubstr("3.25"));
}

}  // namespace
}  // namespace lpes::curve
