#include <functional>

#include "core/exporters/longrope_csv.h"
#include "tests/core/exporters/profile_fixtures.h"

namespace lpes::exporters {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// fullProfile with its curve and two others, for these groups (at most three).
Profile groupedProfile(const curve::ScaleGroups& groups) {
    Profile profile = fullProfile();
    const Profile::Curve first = *profile.curve;
    profile.curve.reset();
    profile.groups = groups;
    profile.curves = {first,
                      {curve::CurveKind::Linear, {{0, 0.5}, {1, 2.5}}},
                      {curve::CurveKind::Step, {{0, 1.0}, {0.5, 1.5}, {1, 1.5}}}};
    profile.curves.resize(static_cast<std::size_t>(groups.count()));
    std::vector<curve::ScaleCurve> curves;
    for (const Profile::Curve& one : profile.curves) {
        curves.push_back(curve::ScaleCurve::make(one.kind, one.points, *profile.constraints).value());
    }
    profile.scales = curve::GroupedCurve::make(groups, std::move(curves))->decode(5);
    return profile;
}
Profile byHead() {
    return groupedProfile(curve::ScaleGroups::kvHeads(2));
}
Profile byBand() {
    return groupedProfile(curve::ScaleGroups::bands({8, 20, 32}));
}

Result<LoadedProfile> load(const json& object) {
    return profileFromJson(object.dump(), "p.json");
}
json asJson(const Profile& profile) {
    return json::parse(toJson(profile));
}
std::string refusal(const Profile& profile, const std::function<void(json&)>& spoil) {
    json object = asJson(profile);
    spoil(object);
    return refused(load(object)).message;
}

TEST(ProfileGroups, RoundTripEveryField) {
    for (const Profile& profile : {byHead(), byBand()}) {
        const auto loaded = profileFromJson(toJson(profile), "p.json");
        ASSERT_TRUE(loaded) << loaded.error().message;
        EXPECT_THAT(loaded->warnings, IsEmpty());
        expectEqual(loaded->profile, profile);
        EXPECT_EQ(toJson(loaded->profile), toJson(profile));
    }
    EXPECT_EQ(profileFromJson(toJson(byHead()), "p.json")->profile.model.kvHeads, 2);
    EXPECT_EQ(profileFromJson(toJson(byBand()), "p.json")->profile.model.frequencies, 32);
}

TEST(ProfileGroups, AreWrittenAsRowsOfScalesAndCurves) {
    const json heads = asJson(byHead());
    EXPECT_EQ(heads["per"], "kv_head");
    EXPECT_EQ(heads["model"]["kv_heads"], 2);
    EXPECT_EQ(heads["scales"].size(), 5u);
    EXPECT_EQ(heads["scales"][0], json({1.0, 0.5}));
    EXPECT_EQ(heads["scales"][4], json({1.2, 2.5}));
    EXPECT_EQ(heads["curves"].size(), 2u);
    EXPECT_EQ(heads["curves"][1]["kind"], "linear");
    EXPECT_FALSE(heads.contains("curve"));
    EXPECT_FALSE(heads.contains("band_ends"));
    const json bands = asJson(byBand());
    EXPECT_EQ(bands["per"], "band");
    EXPECT_EQ(bands["band_ends"], json({8, 20, 32}));
    EXPECT_FALSE(bands["model"].contains("kv_heads"));
    EXPECT_THAT(toJson(byBand()), HasSubstr("\"scales\": [\n    [1.0,0.5,1.0],\n    [1.4,1.0,1.0],"));
}

TEST(ProfileGroups, LeaveTheFileOfAScalePerLayerAsItWas) {
    Profile profile = fullProfile();
    const std::string before = toJson(profile);
    profile.model.kvHeads = 4;
    profile.model.frequencies = 32;
    EXPECT_EQ(toJson(profile), before);
    for (const char* key : {"per", "band_ends", "curves", "kv_heads"}) EXPECT_THAT(before, Not(HasSubstr(key)));
    json said = json::parse(before);
    said["per"] = "layer";
    const auto loaded = load(said);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_THAT(loaded->warnings, IsEmpty());
    EXPECT_EQ(toJson(loaded->profile), before);
}

TEST(ProfileGroups, WhatDoesNotFitTogetherIsRefusedByName) {
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["per"] = "head"; }), AllOf(HasSubstr("'per'"), HasSubstr("kv_head")));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["per"] = 2; }), HasSubstr("'per'"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["scales"][3] = {1.0}; }),
                AllOf(HasSubstr("layer 3 has 1 scales"), HasSubstr("2 key/value heads")));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["scales"][0] = json::array(); }), HasSubstr("layer 0 has 0 scales"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["scales"][2] = 1.0; }), HasSubstr("layer 2"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["model"]["kv_heads"] = 4; }), HasSubstr("4 key/value heads"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["model"]["kv_heads"] = 0; }), HasSubstr("model.kv_heads"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["scales"].erase(4); }), HasSubstr("one row of scales per layer"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p.erase("per"); }),
                AllOf(HasSubstr("layer 0"), HasSubstr("several scales"), HasSubstr("kv_head")));
    EXPECT_THAT(refusal(byBand(),
                        [](json& p) {
                            p["scales"][1] = {1, 1, 1, 1};
                        }),
                AllOf(HasSubstr("layer 1 has 4 scales"), HasSubstr("3 bands")));
    EXPECT_THAT(refusal(byBand(), [](json& p) { p.erase("band_ends"); }), HasSubstr("'band_ends' is missing"));
    EXPECT_THAT(refusal(byBand(),
                        [](json& p) {
                            p["band_ends"] = {8, 8, 32};
                        }),
                HasSubstr("band 1 ends at frequency 8"));
    EXPECT_THAT(refusal(byBand(), [](json& p) { p["band_ends"] = {8, 20.5, 32}; }), HasSubstr("band_ends[1]"));
    EXPECT_THAT(refusal(byBand(), [](json& p) { p["band_ends"] = {0, 20, 32}; }), HasSubstr("band_ends[0]"));
    EXPECT_THAT(refusal(byBand(), [](json& p) { p["band_ends"] = "8"; }), HasSubstr("'band_ends'"));
    EXPECT_THAT(refusal(byBand(), [](json& p) { p["band_ends"] = json::array(); }), HasSubstr("'band_ends'"));
}

TEST(ProfileGroups, ValuesOutOfRangeNameLayerAndGroup) {
    for (const double value : {0.0, -1.0, 0.009, 100.5}) {
        EXPECT_THAT(refusal(byHead(), [&](json& p) { p["scales"][2][1] = value; }), HasSubstr("layer 2, head 1"));
    }
    EXPECT_THAT(refusal(byBand(), [](json& p) { p["scales"][0][2] = "x"; }), HasSubstr("layer 0, band 20–31"));
    std::string text = toJson(byHead());
    text.replace(text.find("[1.4,1.0]"), 9, "[NaN,1.0]");
    EXPECT_THAT(refused(profileFromJson(text, "p.json")).message,
                AllOf(HasSubstr("layer 1, head 0"), HasSubstr("NaN")));
}

TEST(ProfileGroups, CurvesAreOneForEachGroup) {
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["curves"].erase(1); }), AllOf(HasSubstr("'curves'"), HasSubstr("2")));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["curves"][1]["kind"] = "spline"; }), HasSubstr("curves[1].kind"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["curves"][1]["points"][0][0] = 0.5; }), HasSubstr("'curves[1]'"));
    EXPECT_THAT(refusal(byHead(), [](json& p) { p["curve"] = p["curves"][0]; }), HasSubstr("give 'curves'"));
    json bare = asJson(byHead());
    bare["curves"] = nullptr;
    EXPECT_THAT(load(bare)->profile.curves, IsEmpty());
    bare.erase("curves");
    EXPECT_THAT(load(bare)->warnings, ElementsAre(HasSubstr("no curves")));
    json other = asJson(byBand());
    other["scales"][1][2] = 1.1;
    EXPECT_THAT(load(other)->warnings, ElementsAre(AllOf(HasSubstr("layer 1, band 20–31"), HasSubstr("1.1"))));
}

TEST(ProfileGroups, HeadsCountThemselvesAndUnknownKeysOfCurvesAreKept) {
    json object = asJson(byHead());
    object["model"].erase("kv_heads");
    EXPECT_EQ(load(object)->profile.groups.heads, 2);
    object["model"]["kv_heads"] = 2;
    object["curves"][1]["note"] = "mine";
    const auto loaded = load(object);
    EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("curves[1].note")));
    EXPECT_EQ(asJson(loaded->profile), object);
}

TEST(ProfileGroups, FitOnlyAModelWithTheirHeadsOrFrequencies) {
    ProfileModel model{"llama", 5, 64, 100000.0, "", "sha256:abc", 2, 32};
    EXPECT_TRUE(checkFits(byHead(), model));
    EXPECT_TRUE(checkFits(byBand(), model));
    model.kvHeads = 4;
    model.frequencies = 16;
    EXPECT_TRUE(checkFits(fullProfile(), model)) << "a scale per layer asks for neither";
    const auto heads = checkFits(byHead(), model);
    ASSERT_FALSE(heads);
    EXPECT_EQ(heads.error().code, ErrorCode::BadInput);
    EXPECT_THAT(heads.error().message, AllOf(HasSubstr("2 key/value heads"), HasSubstr("has 4")));
    const auto bands = checkFits(byBand(), model);
    ASSERT_FALSE(bands);
    EXPECT_THAT(bands.error().message, AllOf(HasSubstr("frequency 32"), HasSubstr("16 frequencies")));
    model.layers = 6;
    EXPECT_THAT(checkFits(byHead(), model).error().message, AllOf(HasSubstr("5 layers"), HasSubstr("6 layers")));
}

TEST(ProfileGroups, AreTransferredToTheSameHeadsOrFrequenciesOnly) {
    const ProfileModel to{"qwen2", 9, 64, 1e6, "null", "", 2, 32};
    for (const Profile& profile : {byHead(), byBand()}) {
        const auto carried = transferred(profile, to);
        ASSERT_TRUE(carried) << carried.error().message;
        EXPECT_EQ(carried->layers(), 9);
        EXPECT_EQ(carried->groups, profile.groups);
        EXPECT_TRUE(checkFits(*carried, to));
        const auto first =
            curve::ScaleCurve::make(profile.curves[0].kind, profile.curves[0].points, *profile.constraints);
        EXPECT_EQ(curve::scalesOfGroup(carried->scales, profile.groups.count(), 0), first->decode(9));
        EXPECT_TRUE(profileFromJson(toJson(*carried), "p.json"));
    }
    const auto refusedTo = [](const Profile& profile, const ProfileModel& model) {
        const auto carried = transferred(profile, model);
        EXPECT_FALSE(carried);
        if (carried) return std::string();
        EXPECT_EQ(carried.error().code, ErrorCode::Unsupported);
        return carried.error().message;
    };
    EXPECT_THAT(refusedTo(byHead(), {"qwen2", 9, 64, 1e6, "null", "", 4, 32}), HasSubstr("2 key/value heads"));
    EXPECT_THAT(refusedTo(byBand(), {"qwen2", 9, 128, 1e6, "null", "", 2, 64}), HasSubstr("64 frequencies"));
    Profile bare = byHead();
    bare.curves.clear();
    EXPECT_THAT(refusedTo(bare, to), HasSubstr("no curve"));
    Profile free = byHead();
    free.curves[1] = {curve::CurveKind::Free, {{0, 1}, {0.25, 1}, {0.5, 1}, {0.75, 1}, {1, 1}}};
    EXPECT_THAT(refusedTo(free, to), HasSubstr("free"));
}

TEST(ProfileGroupsCsv, RoundTripBitForBit) {
    for (const Profile& profile : {byHead(), byBand()}) {
        const auto loaded = profileFromCsv(toCsv(profile), "p.json");
        ASSERT_TRUE(loaded) << loaded.error().message;
        EXPECT_EQ(loaded->profile.groups, profile.groups);
        EXPECT_EQ(loaded->profile.scales, profile.scales);
        EXPECT_EQ(loaded->profile.model.layers, 5);
        EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("heads or frequencies")));
    }
    EXPECT_THAT(toCsv(byHead()), HasSubstr("layer,group,scale\n0,0,1\n0,1,0.5\n1,0,1.4\n"));
    EXPECT_THAT(toCsv(byBand()), HasSubstr("layer,group,scale\n0,0-7,1\n0,8-19,0.5\n0,20-31,1\n"));
    const auto loose = profileFromCsv("\nlayer, group,scale\n 1, 0-0 ,2\n\n0,0-0,1\n0, 1 - 3,3\n1,1-3,4\n", "p.json");
    ASSERT_TRUE(loose) << loose.error().message;
    EXPECT_THAT(loose->profile.scales, ElementsAre(1, 3, 2, 4));
    EXPECT_THAT(loose->profile.groups.bandEnds, ElementsAre(1, 4));
}

TEST(ProfileGroupsCsv, NamesTheLineOrTheLayer) {
    const auto message = [](const std::string& text) {
        return refused(profileFromCsv("layer,group,scale\n" + text, "p.json")).message;
    };
    EXPECT_THAT(message(""), HasSubstr("LAYER,GROUP,SCALE"));
    EXPECT_THAT(refused(profileFromCsv("0,0,1\n0,1,1\n", "p.json")).message, HasSubstr("decimal point"))
        << "a decimal comma where the header is missing";
    EXPECT_THAT(message("0,0,1\n0,1\n"), AllOf(HasSubstr("line 3"), HasSubstr("LAYER,GROUP,SCALE")));
    EXPECT_THAT(message("0,0,1\n0,x,1\n"), HasSubstr("line 3"));
    EXPECT_THAT(message("0,-1,1\n"), HasSubstr("line 2"));
    EXPECT_THAT(message("0,0,1\n0,1-2,1\n"), AllOf(HasSubstr("line 3"), HasSubstr("not both")));
    EXPECT_THAT(message("0,0,1\n0,0,1\n"), AllOf(HasSubstr("layer 0, group 0"), HasSubstr("second time")));
    EXPECT_THAT(message("0,0,1\n0,2,1\n"), HasSubstr("group 2 where 1 is due"));
    EXPECT_THAT(message("0,0-3,1\n0,5-7,1\n"), HasSubstr("group 5-7 where 4 is due"));
    EXPECT_THAT(message("0,0,1\n0,1,1\n1,0,1\n"), HasSubstr("layer 1 has no line for group 1"));
    EXPECT_THAT(message("0,0,1\n1,0,1\n1,1,1\n"), HasSubstr("layer 1 has 2 groups"));
    EXPECT_THAT(message("1,0,1\n"), HasSubstr("layers count from 0"));
    EXPECT_THAT(message("0,0,1\n2,0,1\n"), HasSubstr("layer 1 has no line"));
    for (const char* value : {"0", "101", "nan", "inf"}) {
        EXPECT_THAT(message(std::string("0,0,") + value + "\n"), HasSubstr("layer 0, group 0 is")) << value;
    }
}

TEST(ProfileGroupsLongRope, BandsBecomeRowsAndHeadsAreRefused) {
    const auto text = profileToLongRope(groupedProfile(curve::ScaleGroups::bands({1, 3})), 0);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(*text, "1,0.5,0.5\n1.4,1,1\n1.65,1.5,1.5\n1.6,2,2\n1.2,2.5,2.5\n");
    EXPECT_THAT(*longRopeFromCsv(*profileToLongRope(byBand(), 32), "f"), testing::SizeIs(5));
    EXPECT_THAT(profileToLongRope(byBand(), 16).error().message, AllOf(HasSubstr("32"), HasSubstr("16 frequencies")));
    EXPECT_EQ(profileToLongRope(byHead(), 32).error().code, ErrorCode::Unsupported);
    EXPECT_THAT(profileToLongRope(byHead(), 32).error().message, HasSubstr("2 key/value heads"));
    EXPECT_EQ(*profileToLongRope(fullProfile(), 2), toLongRopeCsv(fullProfile().scales, 2));
    EXPECT_EQ(profileToLongRope(fullProfile(), 0).error().code, ErrorCode::Usage);
}

}  // namespace
}  // namespace lpes::exporters
