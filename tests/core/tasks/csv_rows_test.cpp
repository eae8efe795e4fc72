#include "core/tasks/csv_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lpes::tasks {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

struct Parsed {
    Rows rows;
    std::vector<std::int64_t> lines;
    std::optional<Error> error;
};

Parsed parse(const std::string& text, std::size_t maxFields = 8) {
    Parsed parsed;
    const auto read = forEachCsvRow(text, "'f.csv'", maxFields, [&](CsvRow& row) -> Result<void> {
        parsed.rows.push_back(row.fields);
        parsed.lines.push_back(row.line);
        return {};
    });
    if (!read) parsed.error = read.error();
    return parsed;
}

TEST(CsvRows, ReadsQuotesCommasAndLineBreaks) {
    const Parsed parsed = parse("a,\"b,\"\"c\"\"\nd\",\n\"\",e\r\n\r\n\nf\n");
    EXPECT_FALSE(parsed.error);
    EXPECT_EQ(parsed.rows, (Rows{{"a", "b,\"c\"\nd", ""}, {"", "e"}, {"f"}}));
    EXPECT_EQ(parsed.lines, (std::vector<std::int64_t>{1, 3, 6}));
}

TEST(CsvRows, KeepsWhiteSpaceAndQuotesInsideFields) {
    EXPECT_EQ(parse(" a\t,12\" ruler , \n").rows, (Rows{{" a\t", "12\" ruler ", " "}}));
}

TEST(CsvRows, TakesALastRowWithoutLineEndAndAByteOrderMark) {
    EXPECT_EQ(parse("\xEF\xBB\xBF\"é\",b").rows, (Rows{{"é", "b"}}));
    EXPECT_TRUE(parse("").rows.empty());
}

TEST(CsvRows, NamesTheLineOnWhichABadRowBegins) {
    EXPECT_THAT(parse("a,b\n\nc,\"d\ne\n").error->message, HasSubstr("'f.csv', line 3: a quoted field has no end"));
    EXPECT_THAT(parse("a\n1,2,3\n", 2).error->message, HasSubstr("line 2: the row has more than 2 fields"));
    EXPECT_THAT(parse("a\n\xff\n").error->message, HasSubstr("line 2: the text is not UTF-8"));
    for (const char* text : {"\"a", "1,2,3\n", "\xff"}) EXPECT_EQ(parse(text, 2).error->code, ErrorCode::BadInput);
}

TEST(CsvRows, EndsAtTheFirstErrorOfTheVisitor) {
    int visited = 0;
    const auto read = forEachCsvRow("a\nb\nc\n", "'f'", 8, [&](CsvRow&) -> Result<void> {
        if (++visited == 2) return fail(ErrorCode::Failed, "enough");
        return {};
    });
    EXPECT_EQ(read.error().message, "enough");
    EXPECT_EQ(visited, 2);
}

}  // namespace
}  // namespace lpes::tasks
