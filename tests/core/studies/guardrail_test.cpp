#include "core/studies/guardrail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/studies/continuations.h"
#include "core/studies/model_setup.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::Guardrail;
using testing::HasSubstr;

/// Counts what it is told of.
class Counting final : public studies::ChunkObserver {
  public:
    Result<void> chunkDone(std::int64_t computed, std::int64_t reused) override {
        prompts += computed + reused;
        return {};
    }
    std::int64_t prompts = 0;
};

class GuardrailTest : public testing::Test {
  protected:
    [[nodiscard]] Guardrail make(int items, int context = 2048) const {
        studies::GuardrailSettings settings;
        settings.items = items;
        return take(Guardrail::make(settings, *opened.tokenizer, context));
    }
    const StudyFolder folder{withContext(2048)};
    const studies::OpenedModel opened = take(studies::openModel(folder.model(), true));
    NullObserver observer;
    Counting counting;
};

TEST(Choices, TheNllOfTheRightOneIsThatOfItsShareOfAllChoices) {
    studies::TokenizedPrompt question;
    question.choices = {{1}, {2}, {3}};
    question.answer = {2};
    const auto scored = [](std::vector<double> logProbs) {
        std::vector<model::AnswerScore> scores;
        for (const double one : logProbs) scores.push_back({{one}, false, -one});
        return scores;
    };
    const double half = std::log(0.5), quarter = std::log(0.25);
    const auto judged = studies::judge(question, scored({quarter - 7.0, half - 7.0, quarter - 7.0}));
    EXPECT_NEAR(judged.choiceNll, std::log(2.0), 1e-12) << "however likely it is to answer by a choice at all";
    EXPECT_NEAR(judged.answerNll, std::log(2.0) + 7.0, 1e-12);
    EXPECT_TRUE(judged.chosen);
    EXPECT_NEAR(studies::judge(question, scored({-900.0, -1000.0, -900.0})).choiceNll, 100.0 + std::log(2.0), 1e-9);
    question.choices.clear();
    EXPECT_EQ(studies::judge(question, scored({-3.0})).choiceNll, 0.0);
}

TEST_F(GuardrailTest, WhatChangesNothingIsGreenAndTheSameEachTime) {
    const auto loaded = take(studies::loadModel({folder.model(), "float32", "cpu", true}, observer, {}));
    const auto session = loaded.lm->newSession(1);
    const Guardrail guardrail = make(30);
    const auto before = take(guardrail.measure(*session, {}, counting, {}));
    ASSERT_EQ(before.exams.size(), 1u);
    EXPECT_EQ(counting.prompts, 60) << "thirty texts and thirty questions";
    EXPECT_EQ(guardrail.prompts(), 60);
    EXPECT_GT(guardrail.tokens(), before.tokens());
    EXPECT_EQ(before.exams[0].right.size(), 30u);
    EXPECT_GT(before.tokens(), 30);
    EXPECT_GT(before.perplexity(), 1.0);
    const auto again = take(guardrail.measure(*session, {}, counting, {}));
    EXPECT_EQ(again.textNll, before.textNll);
    const json judged = guardrail.judge(before, again);
    EXPECT_EQ(judged["light"], "green");
    EXPECT_EQ(judged["perplexity"]["ratio"], 1.0);
    EXPECT_EQ(judged["perplexity"]["texts"], 30);
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = guardrail.measure(*session, {}, counting, stop.get_token());
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(model::wasStopped(stopped.error()));
}

TEST_F(GuardrailTest, AsksAllBundledQuestionsAndExamsOfTheUser) {
    EXPECT_FALSE(make(1'000'000).empty());
    EXPECT_TRUE(make(0).empty());
    studies::GuardrailSettings settings;
    settings.items = 4;
    settings.mmlu = LPES_TEST_DATA "/data/mmlu";
    const Guardrail both = take(Guardrail::make(settings, *opened.tokenizer, 2048));
    const auto loaded = take(studies::loadModel({folder.model(), "float32", "cpu", true}, observer, {}));
    const auto session = loaded.lm->newSession(1);
    const auto measured = take(both.measure(*session, {}, counting, {}));
    ASSERT_EQ(measured.exams.size(), 2u);
    EXPECT_EQ(measured.exams[1].name, "mmlu");
    EXPECT_EQ(measured.exams[1].right.size(), 4u);
    settings.mmlu = "nowhere";
    const auto missing = Guardrail::make(settings, *opened.tokenizer, 2048);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::BadInput);
    EXPECT_THAT(missing.error().message, HasSubstr("nowhere"));
}

TEST_F(GuardrailTest, AContextThatHoldsNoQuestionGivesNone) {
    EXPECT_TRUE(make(10, 20).empty());
    // A comparison on such a model says null, and everything else.
    const StudyFolder narrow(withContext(40));
    auto store = openStore(narrow / "lpes.db");
    studies::CompareSettings settings;
    settings.compute = smallSearch(narrow).compute;
    settings.task =
        ownTask(narrow / "own.jsonl", {{{"question", "a"}, {"answers", {"b"}}, {"template", "{question}"}},
                                       {{"question", "c"}, {"answers", {"d"}}, {"template", "{question}"}}});
    settings.score = "strict";
    settings.methods = {"baseline", "uniform:1.5"};
    settings.guardrail.items = 10;
    const json result = take(studies::runComparison(settings, *store, observer, {})).result;
    EXPECT_EQ(result["methods"][1]["guardrail"], nullptr);
    EXPECT_EQ(result["state"], "finished");
}

TEST_F(GuardrailTest, StandsInAComparisonBesideEveryMethodButTheFirst) {
    auto store = openStore(folder / "lpes.db");
    studies::CompareSettings settings;
    settings.compute = smallSearch(folder).compute;
    settings.task = smallSearch(folder).task;
    settings.task.limit = 2;
    settings.methods = {"baseline", "uniform:1", "uniform:4"};
    settings.guardrail.items = 30;
    const json methods = take(studies::runComparison(settings, *store, observer, {})).result["methods"];
    EXPECT_EQ(methods[0]["guardrail"], nullptr);
    EXPECT_EQ(methods[1]["guardrail"]["light"], "green");
    EXPECT_EQ(methods[1]["guardrail"]["perplexity"]["ratio"], 1.0);
    EXPECT_EQ(methods[1]["guardrail"]["left_out"], 0);
    EXPECT_NE(methods[2]["guardrail"]["perplexity"]["ratio"], 1.0);
    settings.guardrail.items = 5;
    const json few = take(studies::runComparison(settings, *store, observer, {})).result["methods"][1]["guardrail"];
    EXPECT_EQ(few["light"], "amber");
    EXPECT_THAT(few["reason"].get<std::string>(), HasSubstr("too few short texts to say, 5 where 10 are needed"));
    settings.guardrail.items = 0;
    EXPECT_EQ(take(studies::runComparison(settings, *store, observer, {})).result["methods"][1]["guardrail"], nullptr);
}

/// Keeps what was said last in each stage.
class StageKeeper final : public ProgressObserver {
  public:
    void progressed(const Progress& progress) override { last[progress.stage] = progress; }
    void warned(const std::string&) override {}
    std::map<std::string, Progress> last;
};

TEST_F(GuardrailTest, ItsPromptsAreAmongThoseThatProgressCounts) {
    auto store = openStore(folder / "lpes.db");
    studies::CompareSettings settings;
    settings.compute = smallSearch(folder).compute;
    settings.task = smallSearch(folder).task;
    settings.task.limit = 2;
    settings.methods = {"baseline", "uniform:4"};
    settings.guardrail.items = 5;
    StageKeeper keeper;
    ASSERT_TRUE(studies::runComparison(settings, *store, keeper, {}));
    const Progress begun = keeper.last.at("guardrail, short contexts: baseline");
    EXPECT_EQ(begun.total, 2 * (2 * 3 + 10)) << "two methods";
    EXPECT_GE(begun.done, 12);
    EXPECT_LT(begun.done, begun.total) << "there is something left to wait for";

    studies::SearchRunSettings searching = smallSearch(folder);
    searching.guardrail.items = 5;
    StageKeeper searched;
    ASSERT_TRUE(studies::runSearch(searching, *store, searched, {}));
    const Progress guard = searched.last.at("guardrail: short contexts");
    EXPECT_EQ(guard.total, searched.last.at("report").total);
    EXPECT_LE(guard.done, guard.total);
    EXPECT_LT(searched.last.at("attention and deviation").done + 2 * 10 - 1, guard.total);
}

}  // namespace
}  // namespace lpes::test
