#include "core/base/random.h"
#include "tests/core/exporters/profile_fixtures.h"

namespace lpes::exporters {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ProfileCsv, WritesAHeaderAndOneLinePerLayer) {
    EXPECT_EQ(toCsv(fullProfile()), "layer,scale\n0,1\n1,1.4\n2,1.65\n3,1.6\n4,1.2\n");
}

TEST(ProfileCsv, RoundTripsBitForBit) {
    RandomStream random(2, kStreamTests);
    Profile profile;
    for (int i = 0; i < 2000; ++i) profile.scales.push_back(random.uniform(0.01, 100.0));
    const auto loaded = profileFromCsv(toCsv(profile), "p.json");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->profile.scales, profile.scales);
    EXPECT_EQ(loaded->profile.model.layers, 2000);
    EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("scales only")));
}

TEST(ProfileCsv, ReadsAnyOrderWithOrWithoutHeaderSpacesAndCarriageReturns) {
    const std::vector<double> wanted{1.0, 1.5, 2.0};
    for (const char* text :
         {"layer,scale\n0,1\n1,1.5\n2,2\n", "0,1.0\n1,1.5\n2,2e0", "\n 2 , 2 \r\n0,1\r\n\r\n1,1.5\r\n",
          "\xEF\xBB\xBFlayer, scale\r\n1,1.5\r\n0,1\r\n2,2\r\n", "\n\nlayer,scale\n2,2\n1,1.5\n0,1\n"}) {
        const auto loaded = profileFromCsv(text, "p.json");
        ASSERT_TRUE(loaded) << loaded.error().message;
        EXPECT_EQ(loaded->profile.scales, wanted) << text;
    }
}

TEST(ProfileCsv, NamesTheLineOrTheLayer) {
    const auto message = [](const std::string& text) { return refused(profileFromCsv(text, "p.json")).message; };
    EXPECT_THAT(message(""), HasSubstr("no LAYER,SCALE line"));
    EXPECT_THAT(message("layer,scale\n"), HasSubstr("no LAYER,SCALE line"));
    EXPECT_THAT(message("0,1\n1,abc\n"), AllOf(HasSubstr("line 2"), HasSubstr("1,abc")));
    EXPECT_THAT(message("0,1,1,1\n"), HasSubstr("line 1"));
    EXPECT_THAT(message("0;1\n"), HasSubstr("line 1"));
    EXPECT_THAT(message("0,1,5\n"), HasSubstr("decimal point"));
    EXPECT_THAT(message("0,1\nlayer,scale\n"), HasSubstr("line 2"));
    EXPECT_THAT(message("-1,1\n"), HasSubstr("line 1"));
    EXPECT_THAT(message("0.5,1\n"), HasSubstr("line 1"));
    EXPECT_THAT(message("999999999,1\n"), HasSubstr("line 1"));
    EXPECT_THAT(message("99999999999999999999,1\n"), HasSubstr("line 1"));
    EXPECT_THAT(message("0,1\n1,1\n0,1\n"), AllOf(HasSubstr("line 3"), HasSubstr("layer 0")));
    EXPECT_THAT(message("0,1\n2,1\n"), HasSubstr("layer 1 has no line"));
    EXPECT_THAT(message("1,1\n2,1\n"), AllOf(HasSubstr("layer 0 has no line"), HasSubstr("count from 0")));
}

TEST(FieldReports, T12_CsvScalesOutOfRangeAreRefusedByLayer) {
    for (const char* value : {"0", "-1", "nan", "inf", "1e9", "1e-9"}) {
        const auto loaded = profileFromCsv(std::string("0,1\n1,") + value + "\n", "p.json");
        EXPECT_THAT(refused(loaded).message, HasSubstr("layer 1 is")) << value;
    }
}

}  // namespace
}  // namespace lpes::exporters
