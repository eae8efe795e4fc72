#include <unistd.h>

#include <clocale>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <locale>

#include "core/base/files.h"
#include "core/base/random.h"
#include "tests/core/exporters/profile_fixtures.h"

namespace lpes::exporters {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Result<LoadedProfile> load(const json& object) {
    return profileFromJson(object.dump(), "p.json");
}
json asJson(const Profile& profile) {
    return json::parse(toJson(profile));
}

TEST(ProfileJson, RoundTripsEveryField) {
    const auto loaded = profileFromJson(toJson(fullProfile()), "p.json");
    ASSERT_TRUE(loaded) << loaded.error().message;
    expectEqual(loaded->profile, fullProfile());
    EXPECT_TRUE(loaded->warnings.empty());
    EXPECT_EQ(toJson(loaded->profile), toJson(fullProfile()));
}

TEST(ProfileJson, RoundTripsArbitraryDoublesBitForBit) {
    RandomStream random(1, kStreamTests);
    Profile profile;
    for (int i = 0; i < 5000; ++i) profile.scales.push_back(std::exp(random.uniform(std::log(0.01), std::log(100.0))));
    profile.scales.insert(profile.scales.end(), {0.01, 100.0, 1.0, 0.1 + 0.2, 1.0 / 3.0, std::nextafter(1.0, 2.0)});
    profile.model.layers = static_cast<int>(profile.scales.size());
    profile.provenance["fitness"] = 5e-324;
    const auto loaded = profileFromJson(toJson(profile), "p.json");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->profile.scales, profile.scales);
    EXPECT_EQ(loaded->profile.provenance["fitness"].get<double>(), 5e-324);
}

TEST(ProfileJson, WritesTheAgreedKeysInTheAgreedOrder) {
    const std::string text = toJson(fullProfile());
    std::size_t before = 0;
    for (const char* key :
         {"format", "version", "model", "scales", "curve", "constraints", "provenance", "tool_version"}) {
        const std::size_t at = text.find("\n  \"" + std::string(key) + "\": ");
        ASSERT_NE(at, std::string::npos) << key;
        EXPECT_GT(at, before);
        before = at;
    }
    const json object = json::parse(text);
    EXPECT_EQ(object["format"], "lpes-profile");
    EXPECT_EQ(object["version"], 1);
    EXPECT_EQ(object["model"]["rope"]["factor"], 2.5);
    EXPECT_EQ(object["curve"]["points"][3], json::array({1.0, 1.2}));
    EXPECT_EQ(object["constraints"]["step"], 0.05);
    EXPECT_THAT(text, HasSubstr("\"scales\": [1.0,1.4,1.65,1.6,1.2]"));
}

TEST(ProfileJson, UnsetIsNullAndStaysUnset) {
    Profile profile;
    profile.scales = {1.0, 1.5};
    profile.model.layers = 2;
    const json object = asJson(profile);
    EXPECT_TRUE(object["curve"].is_null());
    EXPECT_TRUE(object["model"]["head_dim"].is_null());
    EXPECT_TRUE(object["model"]["architecture"].is_null());
    const auto loaded = load(object);
    ASSERT_TRUE(loaded) << loaded.error().message;
    expectEqual(loaded->profile, profile);

    profile.constraints = curve::Constraints{0.5, 2.5, std::nullopt};
    expectEqual(load(asJson(profile))->profile, profile);
}

TEST(ProfileJson, KeepsTheRopeBlockWhateverItIs) {
    for (const char* rope : {"null", R"({"a":[1,2.5,"x"]})", "\"text\"", "no json {", "7"}) {
        Profile profile = fullProfile();
        profile.model.rope = rope;
        const auto loaded = load(asJson(profile));
        ASSERT_TRUE(loaded);
        EXPECT_EQ(loaded->profile.model.rope, rope);
    }
}

TEST(ProfileJson, KeepsUnknownKeysWithAWarningAndWritesThemAgain) {
    json object = asJson(fullProfile());
    object["colour"] = {{"r", 1}};
    object["model"]["kv_heads"] = 2;
    object["curve"]["note"] = "mine";
    const auto loaded = load(object);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_THAT(loaded->warnings, ElementsAre(AllOf(HasSubstr("p.json"), HasSubstr("colour"),
                                                    HasSubstr("model.kv_heads"), HasSubstr("curve.note"))));
    EXPECT_EQ(asJson(loaded->profile), object);
}

TEST(ProfileJson, ExtraNeverOverwritesAKnownKey) {
    Profile profile = fullProfile();
    profile.extra = {{"scales", {9.0}}, {"model", {{"layers", 99}, {"more", 1}}}, {"version", 7}};
    const json object = asJson(profile);
    EXPECT_EQ(object["scales"].size(), 5u);
    EXPECT_EQ(object["model"]["layers"], 5);
    EXPECT_EQ(object["model"]["more"], 1);
    EXPECT_EQ(object["version"], 1);
}

TEST(ProfileJson, WarnsOfMissingOptionalParts) {
    const auto loaded = profileFromJson(R"({"format":"lpes-profile","version":1,"scales":[1.0,1.1]})", "p.json");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->profile.model.layers, 2);
    EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("names no model"), HasSubstr("has no curve")));
}

TEST(ProfileJson, WarnsWhenTheScalesDoNotFollowTheCurve) {
    Profile profile = fullProfile();
    profile.scales[2] = 1.7;
    const auto loaded = load(asJson(profile));
    ASSERT_TRUE(loaded);
    EXPECT_THAT(loaded->warnings, ElementsAre(AllOf(HasSubstr("layer 2"), HasSubstr("1.7"), HasSubstr("1.65"))));
    EXPECT_EQ(loaded->profile.scales[2], 1.7);
}

TEST(ProfileJson, RefusesOtherFormatsAndNewerVersions) {
    const auto with = [](const char* key, const json& value) {
        json object = asJson(fullProfile());
        object[key] = value;
        return refused(load(object)).message;
    };
    EXPECT_THAT(with("format", "lut"), AllOf(HasSubstr("'format'"), HasSubstr("\"lut\"")));
    EXPECT_THAT(with("format", nullptr), HasSubstr("missing"));
    EXPECT_THAT(with("version", 2), AllOf(HasSubstr("'version' is 2"), HasSubstr("newer program")));
    EXPECT_THAT(with("version", std::numeric_limits<std::uint64_t>::max()), HasSubstr("newer program"));
    EXPECT_THAT(with("version", 0), HasSubstr("'version' is 0"));
    EXPECT_THAT(with("version", 1.5), HasSubstr("'version' is 1.5"));
    EXPECT_THAT(with("version", "1"), HasSubstr("'version' is \"1\""));
    EXPECT_THAT(with("version", nullptr), HasSubstr("'version' is missing"));
}

TEST(FieldReports, T12_ScalesOutOfRangeAreRefusedByLayer) {
    for (const auto& [value, words] : {std::pair{"0", "layer 3 is 0"},
                                       {"-1", "layer 3 is -1"},
                                       {"1e9", "layer 3 is 1"},
                                       {"NaN", "layer 3 is \"NaN\""},
                                       {"Infinity", "layer 3 is \"Infinity\""},
                                       {"-inf", "layer 3 is \"-inf\""},
                                       {"1e999", "layer 3 is \"1e999\""},
                                       {"null", "layer 3 is null"},
                                       {"\"1.5\"", "layer 3 is \"1.5\""},
                                       {"true", "layer 3 is true"},
                                       {"0.0099", "layer 3 is 0.0099"},
                                       {"100.01", "layer 3 is 100.01"},
                                       {"{}", "layer 3 is an object"}}) {
        std::string text = toJson(fullProfile());
        text.replace(text.find("1.6,1.2]"), 3, value);
        EXPECT_THAT(refused(profileFromJson(text, "p.json")).message, HasSubstr(words)) << value;
    }
}

TEST(FieldReports, T12_AnotherNumberOfScalesIsRefusedWithBothNumbers) {
    Profile profile = fullProfile();
    profile.scales.pop_back();
    EXPECT_THAT(refused(load(asJson(profile))).message, AllOf(HasSubstr("4 values"), HasSubstr("5")));
    profile.scales.clear();
    EXPECT_THAT(refused(load(asJson(profile))).message, HasSubstr("'scales'"));
}

TEST(ProfileJson, RefusesSeveralScalesOfALayerThatNobodyAnnounced) {
    json object = asJson(fullProfile());
    object["scales"][1] = {1.0, 1.1};
    EXPECT_THAT(refused(load(object)).message, AllOf(HasSubstr("layer 1"), HasSubstr("KV head")));
}

TEST(ProfileJson, RefusesABrokenCurve) {
    const auto with = [](const std::function<void(json&)>& spoil) {
        json object = asJson(fullProfile());
        spoil(object);
        return refused(load(object)).message;
    };
    EXPECT_THAT(with([](json& o) { o["curve"]["points"][1][0] = 0.9; }), HasSubstr("left of point 1 at 0.9"));
    EXPECT_THAT(with([](json& o) { o["curve"]["points"][1][1] = 2.6; }), HasSubstr("control point 1 has scale 2.6"));
    EXPECT_THAT(with([](json& o) { o["curve"]["points"][1] = {1.0}; }), HasSubstr("curve.points[1]"));
    EXPECT_THAT(with([](json& o) { o["curve"]["points"] = "x"; }), HasSubstr("'curve.points'"));
    EXPECT_THAT(with([](json& o) { o["curve"].erase("points"); }), HasSubstr("'curve.points'"));
    EXPECT_THAT(with([](json& o) { o["curve"]["kind"] = "spline"; }), HasSubstr("\"spline\""));
    EXPECT_THAT(with([](json& o) { o["curve"]["kind"] = "free"; }), HasSubstr("'curve'"));
    EXPECT_THAT(with([](json& o) { o["constraints"]["min"] = -1; }), HasSubstr("'constraints'"));
    EXPECT_THAT(with([](json& o) { o["constraints"].erase("max"); }), HasSubstr("'constraints.max' is missing"));
    EXPECT_THAT(with([](json& o) { o["constraints"]["step"] = 0; }), HasSubstr("grid step is 0"));
    EXPECT_THAT(with([](json& o) {
                    o["curve"] = {{"kind", "free"}, {"points", {{0, 1}, {1, 1}}}};
                }),
                HasSubstr("free with 2 points and there are 5 layers"));
}

TEST(ProfileJson, ReadsFilesByWhatTheyHold) {
    const auto folder = std::filesystem::temp_directory_path() / ("lpes_profile_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const auto write = [&](const char* name, const std::string& text) {
        EXPECT_TRUE(writeFileAtomically(folder / name, text));
        return folder / name;
    };
    expectEqual(readProfile(write("a.csv", toJson(fullProfile())))->profile, fullProfile());
    EXPECT_EQ(readProfile(write("b.json", "\xEF\xBB\xBF\n" + toJson(fullProfile())))->profile.scales,
              fullProfile().scales);
    EXPECT_EQ(readProfile(write("c.json", toCsv(fullProfile())))->profile.scales, fullProfile().scales);
    EXPECT_EQ(readProfile(write("d.csv", "0,1.5\n"))->profile.scales, std::vector{1.5});
    for (const auto& [name, text] : {std::pair{"e.json", ""},
                                     {"e.csv", ""},
                                     {"f.bin",
                                      "\x7f"
                                      "ELF\x02"},
                                     {"g.csv", "hello"}}) {
        const auto loaded = readProfile(write(name, text));
        ASSERT_FALSE(loaded) << name;
        EXPECT_EQ(loaded.error().code, ErrorCode::BadInput);
        EXPECT_THAT(loaded.error().message, HasSubstr(name));
    }
    EXPECT_EQ(readProfile(folder / "none.json").error().code, ErrorCode::BadInput);
    std::filesystem::remove_all(folder);
}

/// A locale of Central Europe, whether or not the machine has one installed.
struct CommaDecimals : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

TEST(ProfileJson, IsTheSameInALocaleWithCommas) {
    const std::string text = toJson(fullProfile()), table = toCsv(fullProfile());
    const std::string before = std::setlocale(LC_NUMERIC, nullptr);
    std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // where it is installed
    const std::locale global = std::locale::global(std::locale(std::locale::classic(), new CommaDecimals));
    const std::string textThen = toJson(fullProfile()), tableThen = toCsv(fullProfile());
    const auto fromJson = profileFromJson(text, "p.json");
    const auto fromCsv = profileFromCsv(table, "p.csv");
    std::locale::global(global);
    std::setlocale(LC_NUMERIC, before.c_str());
    EXPECT_EQ(textThen, text);
    EXPECT_EQ(tableThen, table);
    EXPECT_EQ(fromJson->profile.scales, fullProfile().scales);
    EXPECT_EQ(fromCsv->profile.scales, fullProfile().scales);
}

}  // namespace
}  // namespace lpes::exporters
