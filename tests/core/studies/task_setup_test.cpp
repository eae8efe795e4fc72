#include "core/studies/task_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/studies/model_setup.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::TaskSpec;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TaskSetup : public ::testing::Test {
  protected:
    TaskSetup() : opened(take(studies::openModel(folder.model(), true))) {}

    [[nodiscard]] Result<studies::PreparedTask> prepared(TaskSpec spec, const std::optional<std::string>& positions,
                                                         studies::Purpose purpose = studies::Purpose::Scored) const {
        spec.positions = positions;
        return studies::prepareTask(spec, 4, opened.tokenizer.get(), purpose);
    }
    /// The refusal names both positions and the place that they share.
    void expectOnePlace(const TaskSpec& spec, const std::optional<std::string>& positions, const std::string& first,
                        const std::string& second, const std::string& place) const {
        const auto refused = prepared(spec, positions);
        ASSERT_FALSE(refused) << spec.task;
        EXPECT_EQ(refused.error().code, ErrorCode::Usage);
        EXPECT_THAT(refused.error().message,
                    AllOf(HasSubstr("positions '" + first + "' and '" + second + "' are one place, " + place + ","),
                          HasSubstr("at a place of its own with --positions ")));
        // What it advises, done.
        std::string advised = refused.error().message;
        advised.erase(0, advised.rfind("--positions ") + std::string("--positions ").size());
        advised.resize(std::min(advised.find(", or "), advised.size()));
        const auto done = prepared(spec, advised);
        ASSERT_TRUE(done) << advised << ": " << done.error().text();
    }

    StudyFolder folder;
    studies::OpenedModel opened;
};

TaskSpec pairs(int count) {
    TaskSpec spec;
    spec.task = "kv";
    spec.keys = "words";
    spec.pairs = count;
    return spec;
}

TEST_F(TaskSetup, TwoPositionsAtOneGoldIndexAreRefused) {
    expectOnePlace(pairs(2), std::nullopt, "middle", "end", "#1");
    expectOnePlace(pairs(9), "50,#4", "50", "#4", "#4");
    expectOnePlace(pairs(5), "every:10", "0", "10", "#0");
    const auto said = [&](int count) { return prepared(pairs(count), "every:10").error().message; };
    EXPECT_THAT(said(10), HasSubstr("--positions 0,10,20,30,40,50,70,80,90,100, or ask for more records with --pairs"));
    EXPECT_THAT(said(2), HasSubstr("--positions 0,50, or"));
    EXPECT_TRUE(prepared(pairs(2), "begin,end"));
    EXPECT_TRUE(prepared(pairs(3), std::nullopt));
    EXPECT_TRUE(prepared(pairs(11), "every:10"));
}

TEST_F(TaskSetup, EveryTaskWithMovingEvidenceRefusesThem) {
    TaskSpec documents;
    documents.task = "mdqa";
    documents.data = (folder / "two.jsonl").string();
    json contexts = json::array();
    for (const bool gold : {true, false}) contexts.push_back({{"title", "T"}, {"text", "Text."}, {"isgold", gold}});
    writeBytes(*documents.data, jsonLines({{{"question", "q"}, {"answers", {"a"}}, {"ctxs", contexts}}}));
    expectOnePlace(documents, std::nullopt, "middle", "end", "#1");

    TaskSpec needles;
    needles.task = "niah";
    needles.niah.length = 600;
    const auto few = prepared(needles, "begin,end");
    ASSERT_TRUE(few) << few.error().text();
    const int places = few->benchmark->places(0);
    const std::string last = "#" + std::to_string(places - 1);
    expectOnePlace(needles, "end," + last, "end", last, last);

    json two = bakery();
    two["documents"].erase(2);
    expectOnePlace(ownTask(folder / "own.jsonl", {bakery(), two}), std::nullopt, "middle", "end", "#1");
}

TEST_F(TaskSetup, NoChatPresetIsCalledNone) {
    EXPECT_EQ(studies::namedPreset("none"), std::nullopt);
    EXPECT_EQ(studies::namedPreset(std::nullopt), std::nullopt);
    EXPECT_EQ(studies::namedPreset("chatml"), "chatml");
    const auto read = take(studies::taskSpecFromJson({{"task", "kv"}, {"chat", "none"}}));
    EXPECT_EQ(read.chat, std::nullopt);
    EXPECT_TRUE(toJson(read)["chat"].is_null()) << "stored as it always was";
}

TEST_F(TaskSetup, APromptThatIsOnlyLookedAtMayStandAtOnePlaceTwice) {
    EXPECT_TRUE(prepared(pairs(2), std::nullopt, studies::Purpose::Shown));
}

TEST_F(TaskSetup, ASeedIsTakenWhereItemsAreDrawnAlone) {
    TaskSpec drawn = pairs(3);
    EXPECT_EQ(take(prepared(drawn, std::nullopt)).spec.itemSeed, 1u) << "stored with the run";
    drawn.itemSeed = 7;
    EXPECT_EQ(take(prepared(drawn, std::nullopt)).spec.itemSeed, 7u);

    TaskSpec file = ownTask(folder / "own.jsonl", {bakery()});
    EXPECT_EQ(take(prepared(file, std::nullopt)).spec.itemSeed, std::nullopt);
    file.itemSeed = 1;
    const auto refused = prepared(file, std::nullopt);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_THAT(refused.error().message, HasSubstr("--item-seed 1: the items of jsonl are those of its file"));
}

TEST_F(TaskSetup, RunsThatWereStoredWithTheDefaultSeedGoOn) {
    TaskSpec file = ownTask(folder / "own.jsonl", {bakery()});
    file.itemSeed = 1;
    studies::forgetDefaultSeed(file);
    EXPECT_TRUE(prepared(file, std::nullopt));
    file.itemSeed = 2;
    studies::forgetDefaultSeed(file);
    EXPECT_EQ(file.itemSeed, 2u);
}

}  // namespace
}  // namespace lpes::test
