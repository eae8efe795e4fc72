#include "core/curve/scale_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lpes::curve {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ScaleCurve curve(std::vector<ControlPoint> points) {
    return ScaleCurve::make(CurveKind::Bezier, std::move(points), {}).value();
}
const ScaleCurve kRising = curve({{0, 1.0}, {0.5, 1.2}, {1, 2.0}});
const ScaleCurve kFalling = curve({{0, 2.0}, {1, 1.0}});

TEST(ScaleGroups, AreReadAndSpelledAlike) {
    for (const char* text : {"layer", "kv-head", "band:1", "band:8,20,32"}) {
        const auto groups = parseGroups(text);
        ASSERT_TRUE(groups) << groups.error().message;
        EXPECT_EQ(groupsText(*groups), text);
    }
    EXPECT_EQ(parseGroups("layer")->count(), 1);
    EXPECT_EQ(parseGroups("kv-head")->count(), 0) << "only the model knows";
    EXPECT_THAT(parseGroups("band:8,20,32")->bandEnds, ElementsAre(8, 20, 32));
    EXPECT_EQ(parseGroups("band:8,20,32")->count(), 3);
}

TEST(ScaleGroups, WhatIsNoneIsRefusedWithItsPart) {
    const auto refusal = [](const char* text) {
        const auto groups = parseGroups(text);
        EXPECT_FALSE(groups) << text;
        if (groups) return std::string();
        EXPECT_EQ(groups.error().code, ErrorCode::Usage);
        return groups.error().message;
    };
    for (const char* text : {"", "head", "Layer", "band", "kv-head:4"}) {
        EXPECT_THAT(refusal(text), HasSubstr("layer, kv-head or band:ENDS")) << text;
    }
    for (const char* text : {"band:", "band:8,", "band:8,x", "band:8 20", "band:1.5", "band:99999999999"}) {
        EXPECT_THAT(refusal(text), HasSubstr("no end of a band")) << text;
    }
    EXPECT_THAT(refusal("band:0,8"), AllOf(HasSubstr("band 0 ends at frequency 0"), HasSubstr("must rise")));
    EXPECT_THAT(refusal("band:8,8"), AllOf(HasSubstr("band 1"), HasSubstr("begins at 8")));
    EXPECT_THAT(refusal("band:70000"), HasSubstr("at most 65536"));
}

TEST(ScaleGroups, HaveNamesForPictures) {
    EXPECT_EQ(groupName({}, 0), "");
    EXPECT_EQ(groupName(ScaleGroups::kvHeads(4), 3), "head 3");
    EXPECT_EQ(groupName(ScaleGroups::bands({8, 20}), 0), "band 0–7");
    EXPECT_EQ(groupName(ScaleGroups::bands({8, 20}), 1), "band 8–19");
}

TEST(GroupedCurve, OneCurveDecodesToItsVeryScales) {
    EXPECT_EQ(GroupedCurve::make({}, {kRising})->decode(7), kRising.decode(7));
}

TEST(GroupedCurve, EveryGroupHasItsOwnCurveLayerByLayer) {
    const auto grouped = GroupedCurve::make(ScaleGroups::kvHeads(2), {kRising, kFalling});
    ASSERT_TRUE(grouped);
    const std::vector<double> scales = grouped->decode(5);
    ASSERT_EQ(scales.size(), 10u);
    EXPECT_EQ(scalesOfGroup(scales, 2, 0), kRising.decode(5));
    EXPECT_EQ(scalesOfGroup(scales, 2, 1), kFalling.decode(5));
    const auto rows = layerRows(scales, 2);
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_THAT(rows[0], ElementsAre(1.0, 2.0));
    EXPECT_THAT(rows[4], ElementsAre(2.0, 1.0));
}

TEST(GroupedCurve, NeedsOneCurveForEachGroup) {
    const auto few = GroupedCurve::make(ScaleGroups::bands({8, 20, 32}), {kRising, kFalling});
    ASSERT_FALSE(few);
    EXPECT_THAT(few.error().message, AllOf(HasSubstr("2 curves"), HasSubstr("3 groups"), HasSubstr("band:8,20,32")));
    EXPECT_THAT(GroupedCurve::make(ScaleGroups::kvHeads(0), {}).error().message, HasSubstr("0 key/value heads"));
    EXPECT_FALSE(GroupedCurve::make(ScaleGroups::bands({8, 4}), {kRising, kFalling}));
    EXPECT_FALSE(GroupedCurve::make(ScaleGroups::bands({}), {}));
}

TEST(ScalesByFrequency, RepeatABandsScaleUpToItsEnd) {
    const std::vector<double> ofBands{1.0, 1.5, 2.0};
    EXPECT_THAT(scalesByFrequency(ofBands, std::vector<int>{1, 3, 4}), ElementsAre(1.0, 1.5, 1.5, 2.0));
}

}  // namespace
}  // namespace lpes::curve
