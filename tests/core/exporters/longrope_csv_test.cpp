#include "core/exporters/longrope_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.h"
#include "tests/support/temp_folder.h"

namespace lpes::exporters {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Rows = std::vector<std::vector<double>>;

std::string refusal(const std::string& text) {
    const auto rows = longRopeFromCsv(text, "f.csv");
    EXPECT_FALSE(rows.has_value()) << text;
    if (rows) return {};
    EXPECT_EQ(rows.error().code, ErrorCode::BadInput) << text;
    EXPECT_THAT(rows.error().message, HasSubstr("f.csv"));
    return rows.error().message;
}

TEST(LongRopeCsv, ReadsARowPerLayerOneRowOrOneColumn) {
    EXPECT_EQ(*longRopeFromCsv("1,2.5,3e0\n", "f"), (Rows{{1.0, 2.5, 3.0}}));
    EXPECT_EQ(*longRopeFromCsv("1\n2.5\n3", "f"), (Rows{{1.0, 2.5, 3.0}}));
    EXPECT_EQ(*longRopeFromCsv("1,2\n3,4\n5,6\n", "f"), (Rows{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
    EXPECT_EQ(*longRopeFromCsv("7", "f"), (Rows{{7.0}}));
}

TEST(LongRopeCsv, TakesBlanksEmptyLinesAndCarriageReturns) {
    EXPECT_EQ(*longRopeFromCsv("\xEF\xBB\xBF\r\n 1 , 2 \r\n\r\n3,\t4\r\n\n", "f"), (Rows{{1.0, 2.0}, {3.0, 4.0}}));
    // numpy.savetxt's spelling.
    EXPECT_EQ(*longRopeFromCsv("1.000000000000000000e+00,1.250000000000000000e+00\n", "f"), (Rows{{1.0, 1.25}}));
}

TEST(LongRopeCsv, NamesLineAndColumnOfWhatIsNoFactor) {
    for (const char* value : {"0", "-1", "nan", "inf", "1e999", "x", "", "1.5x", "1;2"}) {
        const std::string message = refusal(std::string("1,1,1\n1,") + value + ",1\n");
        EXPECT_THAT(message, AllOf(HasSubstr("line 2, column 2"), HasSubstr("above 0"))) << value;
    }
    EXPECT_THAT(refusal("factor_1,factor_2\n1,1\n"), AllOf(HasSubstr("line 1, column 1"), HasSubstr("no header")));
    EXPECT_THAT(refusal("1,2,\n"), HasSubstr("line 1, column 3"));
    EXPECT_THAT(refusal(""), HasSubstr("line 1, column 1"));
    EXPECT_THAT(refusal("\n \n"), HasSubstr("no factors"));
}

TEST(LongRopeCsv, LeavesRowsOfOtherLengthsToWhoKnowsTheModel) {
    EXPECT_EQ(*longRopeFromCsv("\n\n1,2\n1,2,3\n", "f"), (Rows{{1.0, 2.0}, {1.0, 2.0, 3.0}}));
    EXPECT_EQ(*longRopeFromCsv("1\n2,3\n", "f"), (Rows{{1.0}, {2.0, 3.0}}));
}

TEST(LongRopeCsv, WritesEachLayersScaleOncePerFrequency) {
    EXPECT_EQ(toLongRopeCsv(std::vector<double>{1.0, 1.4, 0.05}, 3), "1,1,1\n1.4,1.4,1.4\n0.05,0.05,0.05\n");
    EXPECT_EQ(toLongRopeCsv({}, 3), "");
}

TEST(LongRopeCsv, RoundTripsBitForBit) {
    RandomStream random(5, kStreamTests);
    std::vector<double> scales;
    for (int layer = 0; layer < 200; ++layer) scales.push_back(random.uniform(0.01, 100.0));
    const auto rows = longRopeFromCsv(toLongRopeCsv(scales, 32), "f");
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    ASSERT_EQ(rows->size(), scales.size());
    for (std::size_t layer = 0; layer < scales.size(); ++layer) {
        EXPECT_EQ((*rows)[layer], std::vector<double>(32, scales[layer]));
    }
}

TEST(LongRopeCsv, ReadsFilesAndNamesThem) {
    const test::TempFolder folder;
    EXPECT_THAT(*readLongRope(folder.write("good.csv", "1,2\n")), ElementsAre(ElementsAre(1.0, 2.0)));
    const auto bad = readLongRope(folder.write("bad.csv", "1,-2\n"));
    ASSERT_FALSE(bad.has_value());
    EXPECT_THAT(bad.error().message, AllOf(HasSubstr("bad.csv"), HasSubstr("column 2")));
    EXPECT_FALSE(readLongRope(folder.path() / "absent.csv").has_value());
}

}  // namespace
}  // namespace lpes::exporters
