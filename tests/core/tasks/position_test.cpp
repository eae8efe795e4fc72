#include "core/tasks/position.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>

namespace lpes::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> goldIndices(const std::string& text, int records) {
    std::vector<int> indices;
    const auto positions = parsePositions(text);
    EXPECT_TRUE(positions) << text;
    if (!positions) return indices;
    for (const PositionSpec& position : *positions) indices.push_back(position.goldIndex(records).value());
    return indices;
}

TEST(PositionSpec, FollowsTheDefinition) {
    EXPECT_THAT(goldIndices("begin,middle,end", 20), ElementsAre(0, 10, 19));
    EXPECT_THAT(goldIndices("begin,middle,end", 75), ElementsAre(0, 37, 74));
    EXPECT_THAT(goldIndices("0,25,50,75,100", 10), ElementsAre(0, 2, 5, 7, 9));
    EXPECT_THAT(goldIndices("begin,middle,end", 1), ElementsAre(0, 0, 0));
    EXPECT_THAT(goldIndices("begin,middle,end", 2), ElementsAre(0, 1, 1));
}

TEST(PositionSpec, TakesAbsoluteIndicesAsTheyAre) {
    EXPECT_THAT(goldIndices("#0,#4,#9", 10), ElementsAre(0, 4, 9));
    const auto position = parsePositions("#9").value().front();
    const auto outside = position.goldIndex(9);
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, ErrorCode::Usage);
    EXPECT_THAT(outside.error().message, HasSubstr("#9"));
    EXPECT_THAT(outside.error().message, HasSubstr("#8"));
}

TEST(PositionSpec, NeedsARecord) {
    EXPECT_FALSE(parsePositions("begin").value().front().goldIndex(0));
}

TEST(ParsePositions, KeepsTheUsersWords) {
    const auto positions = parsePositions("begin,12.5,#4").value();
    ASSERT_EQ(positions.size(), 3u);
    EXPECT_EQ(positions[0].label, "begin");
    EXPECT_EQ(positions[1].label, "12.5");
    EXPECT_EQ(positions[1].relative, 0.125);
    EXPECT_EQ(positions[2].label, "#4");
    EXPECT_EQ(positions[2].index, 4);
    EXPECT_FALSE(positions[2].relative);
}

TEST(ParsePositions, ExpandsEvery) {
    const auto positions = parsePositions("every:10").value();
    ASSERT_EQ(positions.size(), 11u);
    EXPECT_EQ(positions[0].label, "0");
    EXPECT_EQ(positions[3].label, "30");
    EXPECT_EQ(positions[3].relative, 0.3);
    EXPECT_EQ(positions[10].label, "100");
    EXPECT_EQ(parsePositions("every:12.5").value()[1].label, "12.5");
    EXPECT_EQ(parsePositions("every:100").value().size(), 2u);
    EXPECT_EQ(parsePositions("every:50,#3").value().size(), 4u);
}

TEST(ParsePositions, ForgivesSpacesAroundCommas) {
    EXPECT_EQ(parsePositions("begin, 25 ,#4").value().size(), 3u);
}

TEST(ParsePositions, RefusesWhatItDoesNotKnow) {
    for (const std::string part :
         {"",       "start",   "-1",        "101",      "100.1",     "nan",           "inf",   "1e1",
          "0x10",   "50%",     "+5",        "#",        "#-1",       "#1.5",          "#+1",   "#99999999999",
          "every:", "every:0", "every:-10", "every:30", "every:101", "every:0.00001", "1,5 x", "5 0"}) {
        const auto positions = parsePositions(part);
        ASSERT_FALSE(positions) << part;
        EXPECT_EQ(positions.error().code, ErrorCode::Usage);
    }
    const auto trailing = parsePositions("begin,,end");
    ASSERT_FALSE(trailing);
    EXPECT_FALSE(parsePositions("begin,"));
    EXPECT_THAT(parsePositions("begin,strat").error().message, HasSubstr("'strat'"));
}

TEST(ParsePositions, RefusalsGiveARemedyThatWorks) {
    const auto said = [](const char* part) { return parsePositions(part).error().message; };
    EXPECT_THAT(said("every:7"), HasSubstr("from 0.1 that divides 100, such as every:10"));
    EXPECT_THAT(said("every:0.05"), HasSubstr("from 0.1 that divides 100"));
    EXPECT_EQ(parsePositions("every:0.1").value().size(), 1001u);
    EXPECT_THAT(said("150"), HasSubstr("a percentage from 0 to 100"));
    EXPECT_THAT(said("0,0"), HasSubstr("name each position once"));
    EXPECT_THAT(said("start"),
                HasSubstr("begin, middle, end, a percentage from 0 to 100, every:N or a gold index such as #4"));
    for (const char* remedy : {"begin", "middle", "end", "100", "0", "every:10", "#4"})
        EXPECT_TRUE(parsePositions(remedy)) << remedy;
}

TEST(ParsePositions, RefusesAPositionNamedTwice) {
    for (const std::string text : {"begin,begin", "begin,0", "50,middle", "every:10,20", "#4,#4", "25,25.0"}) {
        const auto positions = parsePositions(text);
        ASSERT_FALSE(positions) << text;
        EXPECT_EQ(positions.error().code, ErrorCode::Usage);
        EXPECT_THAT(positions.error().message, HasSubstr("twice"));
    }
}

TEST(FieldReports, T30_NumbersDoNotDependOnTheLocale) {
    const char* german = std::setlocale(LC_ALL, "de_DE.UTF-8");
    EXPECT_EQ(parsePositions("12.5").value().front().relative, 0.125);
    EXPECT_EQ(parsePositions("every:12.5").value()[1].label, "12.5");
    if (german != nullptr) std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace lpes::tasks
