#include <functional>

#include "core/base/random.h"
#include "tests/core/exporters/profile_fixtures.h"

namespace lpes::exporters {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ProfileHostile, DeepNestingIsRefusedBeforeItCostsStack) {
    for (const char* open : {"[", "{\"a\":"}) {
        std::string deep;
        for (int i = 0; i < 300000; ++i) deep += open;
        EXPECT_THAT(refused(profileFromJson(deep, "p.json")).message, HasSubstr("nested"));
        EXPECT_THAT(
            refused(profileFromJson(R"({"format":"lpes-profile","version":1,"scales":[1],"x":)" + deep, "p.json"))
                .message,
            HasSubstr("nested"));
    }
    Profile profile = fullProfile();
    profile.model.rope = std::string(300000, '[') + std::string(300000, ']');
    const auto loaded = profileFromJson(toJson(profile), "p.json");
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->profile.model.rope, profile.model.rope);
}

TEST(ProfileHostile, BracketsInTextsAreNoNesting) {
    Profile profile = fullProfile();
    profile.toolVersion = std::string(500, '[') + "\\\"" + std::string(500, '{');
    expectEqual(profileFromJson(toJson(profile), "p.json")->profile, profile);
}

TEST(ProfileHostile, HugeArraysAndObjectsAreRefusedQuickly) {
    std::string many = "1";
    for (int i = 0; i < 1000000; ++i) many += ",1";
    const std::string head = R"({"format":"lpes-profile","version":1,)";
    EXPECT_THAT(refused(profileFromJson(head + R"("scales":[)" + many + "]}", "p.json")).message, HasSubstr("1000001"));
    refused(profileFromJson(head + R"("scales":[1],"curve":{"kind":"linear","points":[)" + many + "]}}", "p.json"));
    std::string keys;
    for (int i = 0; i < 100000; ++i) keys += ",\"k" + std::to_string(i) + "\":0";
    const auto loaded = profileFromJson(head + R"("scales":[1])" + keys + "}", "p.json");
    ASSERT_TRUE(loaded);
    EXPECT_LT(loaded->warnings.back().size(), 300u);
    EXPECT_THAT(loaded->warnings.back(), HasSubstr("99992 more"));
}

TEST(ProfileHostile, WrongTypesInEveryFieldAreErrorsThatNameIt) {
    const json good = json::parse(toJson(fullProfile()));
    const std::vector<json> wrong{json::array(), json::object(), true, "text", -1, 0, 1e300, json::array({nullptr})};
    for (const json& value : wrong) {
        EXPECT_FALSE(profileFromJson(value.dump(), "p.json"));
        for (const auto& [key, unused] : good.items()) {
            json spoilt = good;
            spoilt[key] = value;
            const auto loaded = profileFromJson(spoilt.dump(), "p.json");  // some values are legal; none may crash
            if (!loaded) {
                EXPECT_THAT(loaded.error().message, AllOf(HasSubstr("p.json"), HasSubstr(key)));
            }
            if (!good[key].is_object()) continue;
            for (const auto& [inner, alsoUnused] : good[key].items()) {
                spoilt = good;
                spoilt[key][inner] = value;
                const auto nested = profileFromJson(spoilt.dump(), "p.json");
                if (!nested) {
                    EXPECT_THAT(nested.error().message, HasSubstr(key));
                }
            }
        }
    }
    for (const char* path : {"/model", "/scales", "/curve", "/constraints", "/provenance", "/tool_version",
                             "/model/layers", "/model/head_dim", "/model/rope_theta", "/model/architecture",
                             "/model/fingerprint", "/constraints/min", "/curve/kind", "/curve/points"}) {
        json spoilt = good;
        spoilt[json::json_pointer(path)] = true;
        const std::string name = std::string(path).substr(std::string(path).rfind('/') + 1);
        EXPECT_THAT(refused(profileFromJson(spoilt.dump(), "p.json")).message, HasSubstr(name)) << path;
    }
}

TEST(ProfileHostile, EveryCutFileIsRefused) {
    const std::string text = toJson(fullProfile());
    for (std::size_t size = 0; size + 3 < text.size(); ++size) refused(profileFromJson(text.substr(0, size), "p.json"));
    EXPECT_THAT(refused(profileFromJson(text + "x", "p.json")).message, HasSubstr("byte"));
}

TEST(ProfileHostile, RandomDamageNeverCrashes) {
    const std::string text = toJson(fullProfile()), table = toCsv(fullProfile());
    RandomStream random(3, kStreamTests);
    for (int trial = 0; trial < 4000; ++trial) {
        for (const std::string& good : {text, table}) {
            std::string damaged = good;
            for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
                damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
            }
            for (const auto& loaded : {profileFromJson(damaged, "p.json"), profileFromCsv(damaged, "p.json")}) {
                if (loaded) {
                    EXPECT_FALSE(loaded->profile.scales.empty());
                    EXPECT_FALSE(toJson(loaded->profile).empty());
                }
            }
        }
    }
}

TEST(ProfileHostile, MessagesShowNoControlCharactersAndNoEndlessValues) {
    const std::string head = R"({"format":"lpes-profile","version":1,"scales":[")";
    const auto error = refused(profileFromJson(head + R"(\u001b[31m)" + std::string(100000, 'x') + "\"]}", "p.json"));
    EXPECT_LT(error.message.size(), 300u);
    EXPECT_THAT(error.message, Not(HasSubstr("\x1b")));
    const auto table = refused(profileFromCsv("\x1b[31m" + std::string(100000, '\xff'), "p.json"));
    EXPECT_LT(table.message.size(), 600u);
    EXPECT_THAT(table.message, Not(HasSubstr("\x1b")));
}

TEST(ProfileHostile, TextsThatAreNoUtf8AreWrittenReplaced) {
    Profile profile = fullProfile();
    profile.toolVersion = "\xff\xfe";
    EXPECT_TRUE(profileFromJson(toJson(profile), "p.json"));
}

}  // namespace
}  // namespace lpes::exporters
