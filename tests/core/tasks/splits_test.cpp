#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/tasks/splits.h"

namespace lpes::tasks {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> dataSet(int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) ids.push_back("hex:8/" + std::to_string(i));
    return ids;
}

TEST(Splits, AreDisjointAndComplete) {
    const auto data = dataSet(30);
    const auto splits = makeSplits(data, "numbers", 10, 5, std::nullopt, 7);
    ASSERT_TRUE(splits);
    EXPECT_EQ(splits->search.size(), 10u);
    EXPECT_EQ(splits->select.size(), 5u);
    EXPECT_EQ(splits->report.size(), 15u);
    std::set<std::string> all;
    for (const auto* part : {&splits->search, &splits->select, &splits->report}) all.insert(part->begin(), part->end());
    EXPECT_EQ(all.size(), 30u);
    for (const std::string& id : data) EXPECT_TRUE(all.contains(id));
}

TEST(Splits, DependOnTheSeedAlone) {
    const auto data = dataSet(30);
    const auto first = makeSplits(data, "numbers", 10, 5, 10, 7).value();
    const auto again = makeSplits(data, "numbers", 10, 5, 10, 7).value();
    const auto other = makeSplits(data, "numbers", 10, 5, 10, 8).value();
    EXPECT_EQ(first.search, again.search);
    EXPECT_EQ(first.report, again.report);
    EXPECT_NE(first.search, other.search);
    EXPECT_FALSE(std::is_sorted(first.search.begin(), first.search.end()));
}

// Stored behaviour: the same seed must give the same splits in every later version.
TEST(Splits, KeepTheirItems) {
    std::ifstream file(LPES_TEST_DATA "/golden/kv_items.json");
    const auto expected = nlohmann::json::parse(file).at("splits");
    const auto splits = makeSplits(dataSet(30), "numbers", 10, 5, std::nullopt, expected.at("seed")).value();
    EXPECT_EQ(splits.search, expected.at("search").get<std::vector<std::string>>());
    EXPECT_EQ(splits.select, expected.at("select").get<std::vector<std::string>>());
    EXPECT_EQ(splits.report, expected.at("report").get<std::vector<std::string>>());
}

TEST(Splits, AskingForAnotherReportDoesNotMoveTheSearchItems) {
    const auto data = dataSet(30);
    EXPECT_EQ(makeSplits(data, "numbers", 10, 5, 3, 7).value().search,
              makeSplits(data, "numbers", 10, 5, std::nullopt, 7).value().search);
}

TEST(Splits, NameTheNumbersWhenItemsAreTooFew) {
    const auto data = dataSet(30);
    EXPECT_TRUE(makeSplits(data, "numbers", 10, 10, 10, 7));
    const auto splits = makeSplits(data, "numbers", 10, 10, 11, 7);
    ASSERT_FALSE(splits);
    EXPECT_EQ(splits.error().code, ErrorCode::Usage);
    EXPECT_THAT(splits.error().message, HasSubstr("30 items"));
    EXPECT_THAT(splits.error().message, HasSubstr("11"));
    EXPECT_FALSE(makeSplits(data, "numbers", 15, 15, std::nullopt, 7)) << "nothing is left for the report";
    EXPECT_FALSE(makeSplits(data, "numbers", 2'000'000'000, 2'000'000'000, 2'000'000'000, 7))
        << "the sum must not wrap";
    EXPECT_FALSE(makeSplits(data, "numbers", -1, 5, 5, 7));
    EXPECT_FALSE(makeSplits(data, "numbers", 5, 5, -1, 7));
}

TEST(ResampledSplits, ShareWhatIsHeldOutAndTakeDisjointSearchItemsWhereThereAreEnough) {
    const auto data = dataSet(30);
    std::set<std::string> seen;
    const auto first = makeResampledSplits(data, "numbers", 6, 5, 7, 3, 0, 3).value();
    for (int index = 0; index < 3; ++index) {
        const auto splits = makeResampledSplits(data, "numbers", 6, 5, 7, 3, index, 3).value();
        EXPECT_EQ(splits.select, first.select);
        EXPECT_EQ(splits.report, first.report);
        EXPECT_EQ(splits.search.size(), 6u);
        for (const std::string& id : splits.search) EXPECT_TRUE(seen.insert(id).second) << id;
    }
    for (const auto* heldOut : {&first.select, &first.report}) {
        for (const std::string& id : *heldOut) EXPECT_FALSE(seen.contains(id)) << id;
    }
}

TEST(ResampledSplits, DrawFromASmallPoolWithoutReplacement) {
    const auto data = dataSet(20);
    std::set<std::vector<std::string>> sets;
    for (int index = 0; index < 4; ++index) {
        const auto splits = makeResampledSplits(data, "numbers", 6, 5, 7, 3, index, 4).value();
        const std::set<std::string> distinct(splits.search.begin(), splits.search.end());
        EXPECT_EQ(distinct.size(), 6u);
        for (const std::string& id : splits.select) EXPECT_FALSE(distinct.contains(id));
        for (const std::string& id : splits.report) EXPECT_FALSE(distinct.contains(id));
        sets.insert({distinct.begin(), distinct.end()});
        EXPECT_EQ(splits.search, makeResampledSplits(data, "numbers", 6, 5, 7, 3, index, 4).value().search);
    }
    EXPECT_GT(sets.size(), 1u);
}

TEST(ResampledSplits, NeedMoreItemsThanOneSetHas) {
    for (const int items : {18, 12, 5}) {
        const auto splits = makeResampledSplits(dataSet(items), "numbers", 6, 5, 7, 3, 0, 4);
        ASSERT_FALSE(splits) << items;
        EXPECT_EQ(splits.error().code, ErrorCode::Usage);
        EXPECT_THAT(splits.error().message, HasSubstr("'numbers'"));
    }
    EXPECT_TRUE(makeResampledSplits(dataSet(19), "numbers", 6, 5, 7, 3, 0, 4));
    EXPECT_FALSE(makeResampledSplits(dataSet(90), "numbers", 6, 5, 7, 3, 4, 4)) << "there is no fifth of four";
}

}  // namespace
}  // namespace lpes::tasks
