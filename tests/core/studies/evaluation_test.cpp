#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/studies/item_evaluator.h"
#include "core/studies/model_setup.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using testing::HasSubstr;

studies::EvalSettings smallEval(const StudyFolder& folder) {
    studies::EvalSettings settings;
    settings.compute = smallSearch(folder).compute;
    settings.task = smallSearch(folder).task;
    settings.task.limit = 5;
    return settings;
}

TEST(Evaluation, ReportsEveryPositionWithIntervalAndStoresEachItem) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runEvaluation(smallEval(folder), *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    const auto& positions = outcome->result["positions"];
    ASSERT_EQ(positions.size(), 3u);
    EXPECT_EQ(positions[0]["position"], "begin");
    EXPECT_EQ(positions[1]["gold_index"], 2);
    EXPECT_EQ(positions[2]["gold_index"], 3);
    for (const auto& position : positions) {
        EXPECT_EQ(position["n"], 5);
        EXPECT_LE(position["ci_low"], position["accuracy"]);
        EXPECT_GE(position["ci_high"], position["accuracy"]);
        EXPECT_GT(position["answer_nll"].get<double>(), 0.0);
    }
    const auto& interval = outcome->result["mean_accuracy_interval"];
    EXPECT_LE(interval["low"], outcome->result["mean_accuracy"]);
    EXPECT_GE(interval["high"], outcome->result["mean_accuracy"]);
    EXPECT_LT(interval["low"], interval["high"]) << "no interval is a point";
    EXPECT_LT(positions[0]["mean_token_index"], positions[2]["mean_token_index"]);
    EXPECT_EQ(outcome->result["items"], 5);
    EXPECT_EQ(outcome->result["skipped_too_long"], 0);
    const auto variants = store->reader().variants(outcome->runId);
    ASSERT_EQ(variants->size(), 1u);
    EXPECT_EQ(store->reader().outcomes(variants->front().id, "eval")->size(), 15u);
}

TEST(Evaluation, OneStoppedBeforeItsFirstItemHasNoFigures) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    class StopAtFirst final : public ProgressObserver {
      public:
        void progressed(const Progress& progress) override {
            if (progress.stage.starts_with("evaluating")) source.request_stop();
        }
        void warned(const std::string&) override {}
        std::stop_source source;
    } stopping;
    const auto stopped =
        take(studies::runEvaluation(smallEval(folder), *store, stopping, stopping.source.get_token())).result;
    EXPECT_EQ(stopped["state"], "stopped");
    EXPECT_EQ(stopped["items"], 0);
    EXPECT_EQ(stopped["items_planned"], 5);
    for (const char* key : {"mean_accuracy", "gap", "fitness"}) EXPECT_EQ(stopped[key], nullptr) << key;
    EXPECT_EQ(stopped["mean_accuracy_interval"]["low"], nullptr);
    EXPECT_EQ(stopped["positions"][0]["accuracy"], nullptr);
}

TEST(Evaluation, SaysWhatASearchByItsScoreWouldMaximise) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto fitness = [&](const char* score) {
        auto settings = smallEval(folder);
        settings.score = score;
        const auto result = take(studies::runEvaluation(settings, *store, observer, {})).result;
        double sum = 0.0;
        for (const auto& position : result["positions"]) {
            const double accuracy = position["accuracy"], nll = position["answer_nll"];
            const std::string asked = score;
            const double expected = asked == "strict" ? accuracy : asked == "nll" ? -nll : accuracy - 0.5 * nll;
            EXPECT_DOUBLE_EQ(position["fitness"].get<double>(), expected) << score;
            sum += expected / 3.0;
        }
        EXPECT_NEAR(result["fitness"].get<double>(), sum, 1e-12) << score;
        return result["fitness"].get<double>();
    };
    EXPECT_GE(fitness("strict"), 0.0);
    EXPECT_LT(fitness("nll"), 0.0);
    EXPECT_LT(fitness("blend:0.5"), 0.0);
}

TEST(Evaluation, SaysWhichBasesItsMethodSearchedAndFound) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    auto settings = smallEval(folder);
    settings.task.limit = 1;
    settings.method = "attention-buckets:bases=search/2";
    const auto result = take(studies::runEvaluation(settings, *store, observer, {})).result;
    EXPECT_EQ(result["bases_search"]["found"].size(), 2u);
    EXPECT_EQ(result["bases_search"]["candidates"], 41);
    EXPECT_THAT(result["bases_search"]["words"].get<std::string>(), HasSubstr("10000 to 30000 in steps of 500"));
}

TEST(FieldReports, T21_ItemsLongerThanTheContextAreSkippedAndCounted) {
    TinyModelSpec spec;
    spec.contextLength = 210;
    const StudyFolder folder(spec);
    // Four short records and three long ones: only the long items exceed the context.
    std::string lines;
    for (int item = 0; item < 10; ++item) {
        const std::string value(item < 3 ? 120 : 4, 'v');
        const std::string n = std::to_string(item);
        lines += R"({"ordered_kv_records": [["k)" + n + R"(", ")" + value +
                 R"("], ["other", "x"], ["third", "y"]], "key": "k)" + n + R"(", "value": ")" + value + "\"}\n";
    }
    writeBytes(folder / "kv.jsonl", lines);
    studies::EvalSettings settings = smallEval(folder);
    settings.task = {};
    settings.task.task = "kv";
    settings.task.data = (folder / "kv.jsonl").string();
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->result["skipped_too_long"], 3);
    EXPECT_EQ(outcome->result["items"], 7);
    EXPECT_EQ(outcome->result["positions"][0]["n"], 7);
    std::int64_t skipped = 0;
    for (const auto& row :
         take(store->reader().outcomes(store->reader().variants(outcome->runId)->front().id, "eval"))) {
        skipped += row.skippedTooLong ? 1 : 0;
    }
    EXPECT_EQ(skipped, 9) << "three items at three positions";
}

TEST(Evaluation, AnItemThatExactlyFillsTheContextIsEvaluated) {
    const StudyFolder wide;
    studies::TaskSpec spec = smallSearch(wide).task;
    spec.limit = 3;
    const auto task = studies::prepareTask(spec, 3);
    ASSERT_TRUE(task) << task.error().text();
    const auto opened = studies::openModel(wide.model(), true);
    ASSERT_TRUE(opened) << opened.error().text();
    std::size_t longest = 0;
    const studies::PromptMaker maker(*task, *opened->tokenizer, TinyModelSpec{}.contextLength);
    for (int item = 0; item < 3; ++item) {
        for (int position = 0; position < 3; ++position)
            longest = std::max(longest, take(maker.tokens(item, position)).tokens());
    }
    TinyModelSpec exact;
    exact.contextLength = static_cast<int>(longest);
    const StudyFolder folder(exact);
    studies::EvalSettings settings = smallEval(folder);
    settings.task = spec;
    settings.method = "uniform:1.5";
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->result["items"], 3);
    EXPECT_EQ(outcome->result["skipped_too_long"], 0);
}

TEST(Evaluation, GenerationScoringKeepsTheRawAnswer) {
    const StudyFolder folder;
    studies::EvalSettings settings = smallEval(folder);
    settings.task.limit = 2;
    settings.score = "generate";
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    bool some = false;
    for (const auto& row :
         take(store->reader().outcomes(store->reader().variants(outcome->runId)->front().id, "eval"))) {
        some = some || !row.generated.empty();
    }
    EXPECT_TRUE(some);
}

TEST(Evaluation, BatchSizeMovesNoResultBeyondRounding) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    studies::EvalSettings settings = smallEval(folder);
    settings.compute.batchSize = 1;
    const auto single = studies::runEvaluation(settings, *store, observer, {});
    settings.compute.batchSize = 7;
    const auto packed = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_TRUE(single && packed);
    for (int p = 0; p < 3; ++p) {
        EXPECT_NEAR(single->result["positions"][p]["answer_nll"].get<double>(),
                    packed->result["positions"][p]["answer_nll"].get<double>(), 1e-5);
    }
}

TEST(Evaluation, UnknownThingsAreRefusedByName) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto refuse = [&](const auto& change, ErrorCode code, const char* part) {
        studies::EvalSettings settings = smallEval(folder);
        change(settings);
        const auto outcome = studies::runEvaluation(settings, *store, observer, {});
        ASSERT_FALSE(outcome) << part;
        EXPECT_EQ(outcome.error().code, code) << outcome.error().text();
        EXPECT_THAT(outcome.error().message, HasSubstr(part));
    };
    refuse(
        [](auto& s) {
            s.task = {};
            s.task.task = "mdqa";
        },
        ErrorCode::Usage, "mdqa");
    refuse([](auto& s) { s.task.shots = 5; }, ErrorCode::Usage, "--shots");
    refuse([](auto& s) { s.task.chat = "chattml"; }, ErrorCode::Usage, "chattml");
    refuse([](auto& s) { s.task.bos = "yes"; }, ErrorCode::Usage, "--bos");
    refuse([](auto& s) { s.task.truncation = "some"; }, ErrorCode::Usage, "--truncation");
    refuse([](auto& s) { s.score = "choice"; }, ErrorCode::Usage, "no choices");
    refuse([](auto& s) { s.task.task = "kvv"; }, ErrorCode::Usage, "kvv");
    refuse([](auto& s) { s.method = "yarn:four"; }, ErrorCode::Usage, "four");
    refuse([](auto& s) { s.method = "lpes:nowhere.json"; }, ErrorCode::BadInput, "nowhere.json");
    refuse([](auto& s) { s.compute.model = "nowhere"; }, ErrorCode::BadInput, "nowhere");
    refuse([](auto& s) { s.compute.device = "cuda:0"; }, ErrorCode::Unsupported, "cuda:0");
    refuse([](auto& s) { s.compute.dtype = "float16"; }, ErrorCode::Unsupported, "float16");
    refuse(
        [](auto& s) {
            s.task.data = "nowhere.jsonl";
            s.task.keys.reset();
        },
        ErrorCode::BadInput, "nowhere.jsonl");
    refuse([](auto& s) { s.task.pairs = 100; }, ErrorCode::BadInput, "context");
    EXPECT_TRUE(store->reader().runs()->empty());
}

}  // namespace
}  // namespace lpes::test
