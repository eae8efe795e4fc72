// Evaluations beyond key-value retrieval: choices, graded texts, both scores, repeats, and what is said beside them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "core/base/files.h"
#include "core/studies/evaluation_summary.h"
#include "core/studies/item_evaluator.h"
#include "core/studies/model_setup.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A tiny model with a context of 4096 tokens, and a data base.
class EvaluationKinds : public testing::Test {
  protected:
    [[nodiscard]] studies::EvalSettings eval(const studies::TaskSpec& task) const {
        studies::EvalSettings settings;
        settings.compute = smallSearch(folder).compute;
        settings.task = task;
        return settings;
    }
    [[nodiscard]] json evaluated(const studies::EvalSettings& settings) {
        const auto outcome = take(studies::runEvaluation(settings, *store, observer, {}));
        lastRun = outcome.runId;
        return outcome.result;
    }
    /// Rows of the last run's method.
    [[nodiscard]] std::vector<store::OutcomeRow> rows() {
        return take(store->reader().outcomes(take(store->reader().variants(lastRun)).front().id, "eval"));
    }

    const StudyFolder folder{withContext(4096)};
    std::unique_ptr<store::StoreWriter> store = openStore(folder / "lpes.db");
    NullObserver observer;
    std::int64_t lastRun = 0;
};

double logLikelihood(const model::AnswerScore& score) {
    return std::accumulate(score.logProbs.begin(), score.logProbs.end(), 0.0);
}

/// Fails where weights are read.
class NoWeights final : public ProgressObserver {
  public:
    void progressed(const Progress& progress) override { EXPECT_FALSE(progress.stage.starts_with("loading")); }
    void warned(const std::string&) override {}
};

TEST_F(EvaluationKinds, AChatTokenThatTheVocabularyLacksShowsBeforeTheWeightsAreRead) {
    auto settings = eval(smallSearch(folder).task);
    settings.task.chat = "llama-3";
    NoWeights noWeights;
    const auto refused = studies::runEvaluation(settings, *store, noWeights, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("<|start_header_id|>"));
}

TEST_F(EvaluationKinds, ChoicesAreScoredAsFourSeparateContinuations) {
    const json result = evaluated(eval(mmluTask(1)));
    EXPECT_EQ(result["score"], "choice");
    EXPECT_EQ(result["positions"][0]["position"], "as given");
    EXPECT_EQ(result["bias"], nullptr);
    const auto loaded = take(studies::loadModel({folder.model(), "float32", "cpu", true}, observer, {}));
    const studies::PromptMaker maker(take(studies::prepareTask(mmluTask(1), 10)), loaded.tokenizer(), 4096);
    const auto session = loaded.lm->newSession(1);
    const auto stored = rows();
    ASSERT_EQ(static_cast<std::int64_t>(stored.size()), maker.task().benchmark->size());
    double right = 0.0;
    for (const store::OutcomeRow& row : stored) {
        const auto tokens = take(maker.tokens(maker.task().find(row.itemId).value(), 0));
        ASSERT_EQ(tokens.choices.size(), 4u);
        std::vector<double> likelihoods;
        double nll = 0.0;
        for (const auto& choice : tokens.choices) {
            const model::ScoredPrompt alone{tokens.prompt, choice};
            const auto score = take(session->scoreAnswers(std::span(&alone, 1), {}, {}));
            likelihoods.push_back(logLikelihood(score.front()));
            if (choice == tokens.answer) nll = score.front().meanNll;
        }
        const auto best = std::ranges::max_element(likelihoods) - likelihoods.begin();
        EXPECT_EQ(row.correct, tokens.choices[static_cast<std::size_t>(best)] == tokens.answer) << row.itemId;
        EXPECT_EQ(row.score, row.correct ? 1.0 : 0.0);
        EXPECT_NEAR(row.nll, nll, 1e-5);
        EXPECT_TRUE(row.generated.empty());
        right += row.score;
    }
    EXPECT_DOUBLE_EQ(result["mean_accuracy"], right / static_cast<double>(stored.size()));
}

TEST_F(EvaluationKinds, SharedPrefixesMoveChoicesByRoundingAlone) {
    auto settings = eval(mmluTask(2));
    const json shared = evaluated(settings);
    settings.compute.sharePrefixes = false;
    settings.compute.batchSize = 1;
    const json apart = evaluated(settings);
    EXPECT_NEAR(shared["positions"][0]["answer_nll"].get<double>(), apart["positions"][0]["answer_nll"].get<double>(),
                1e-5);
    EXPECT_EQ(shared["mean_accuracy"], apart["mean_accuracy"]);
    EXPECT_EQ(shared["settings"]["share_prefixes"]["value"], true);
    EXPECT_EQ(apart["settings"]["share_prefixes"]["value"], false);
}

/// A character of an answer, for a reference that it surely holds; empty where there is none.
std::string letterOf(const std::string& answer) {
    const auto it = std::ranges::find_if(answer, [](unsigned char c) { return c < 128 && std::isgraph(c); });
    return it == answer.end() ? std::string() : std::string(1, *it);
}

TEST_F(EvaluationKinds, GradedScoresAreMeansWithABootstrapIntervalAndOnlyFullOnesAreCorrect) {
    std::vector<json> records;
    for (int item = 0; item < 8; ++item) {
        json record = bakery();
        record["question"] = "What about number " + std::to_string(item * 17) + "?";
        record["scoring"] = "contains_all";
        record["max_new_tokens"] = 12;
        records.push_back(record);
    }
    auto settings = eval(ownTask(folder / "own.jsonl", records));
    settings.task.positions = "begin";
    EXPECT_EQ(evaluated(settings)["score"], "generate");
    // What the model says is known now: whole, half and empty marks in turn.
    std::vector<double> marks;
    const auto said = rows();
    for (std::size_t item = 0; item < records.size(); ++item) {
        const std::string letter = letterOf(said[item].generated);
        const std::vector<std::vector<std::string>> kinds{{letter}, {letter, "qqzzqq"}, {"qqzzqq"}};
        const std::size_t kind = letter.empty() ? 2 : item % 3;
        records[item]["answers"] = kinds[kind];
        marks.push_back(kind == 0 ? 1.0 : kind == 1 ? 0.5 : 0.0);
    }
    ASSERT_TRUE(std::ranges::count(marks, 0.5) > 0) << "what the tiny model says is not ASCII";
    settings.task = ownTask(folder / "own.jsonl", records);
    settings.task.positions = "begin";
    const json result = evaluated(settings);
    const auto stored = rows();
    ASSERT_EQ(stored.size(), marks.size());
    for (std::size_t item = 0; item < marks.size(); ++item) {
        EXPECT_EQ(stored[item].score, marks[item]) << item;
        EXPECT_EQ(stored[item].generatedScore, marks[item]);
        EXPECT_EQ(stored[item].correct, marks[item] == 1.0);
        EXPECT_EQ(stored[item].generated, said[item].generated);
        EXPECT_TRUE(stored[item].strict.has_value()) << "the likelihood is measured beside it";
    }
    const json& position = result["positions"][0];
    EXPECT_DOUBLE_EQ(position["accuracy"], analysis::mean(marks));
    const auto interval = analysis::boundedMeanInterval(marks, 1);
    EXPECT_DOUBLE_EQ(position["ci_low"], interval.low);
    EXPECT_DOUBLE_EQ(position["ci_high"], interval.high);
    const auto positions = take(store->reader().positions(lastRun));
    EXPECT_EQ(positions.front().correct, std::ranges::count(marks, 1.0));
}

TEST_F(EvaluationKinds, AnswersOfSeveralItemsAreDecodedTogether) {
    const auto promptsPerPass = [&](studies::EvalSettings settings) {
        settings.task.limit = 2;
        return evaluated(settings)["settings"]["batch_size"]["value"].get<int>();
    };
    auto settings = eval(smallSearch(folder).task);
    settings.score = "strict";
    EXPECT_EQ(promptsPerPass(settings), 3) << "likelihoods are measured item by item, as ever";
    settings.score = "generate";
    EXPECT_EQ(promptsPerPass(settings), 6) << "whole items, eight prompts at most";
    settings.task.positions = "begin,end";
    EXPECT_EQ(promptsPerPass(settings), 8);
    settings.compute.batchSize = 3;
    EXPECT_EQ(promptsPerPass(settings), 3) << "what is asked for, as a resumed run asks for what it began with";
    settings.compute.batchSize.reset();
    settings.task.positions = "every:25";
    settings.task.pairs = 5;
    EXPECT_EQ(promptsPerPass(settings), 5) << "one item at least";
    settings.task.positions = "begin,end";
    settings.task.pairs = 150;
    const studies::OpenedModel opened = take(studies::openModel(folder.model(), true));
    const studies::PromptMaker maker(take(studies::prepareTask(settings.task, 2)), *opened.tokenizer, 4096);
    const auto tokens = take(maker.tokens(0, 0)).scored();
    ASSERT_GT(4 * tokens, 8192u / 2) << "few of these fit into a pass";
    EXPECT_EQ(promptsPerPass(settings), 2 * std::max<int>(1, static_cast<int>(8192 / (2 * tokens))));
}

TEST_F(EvaluationKinds, TokensThatTheVocabularyLacksAreLeftOutOfAnswersAndCounted) {
    json record = bakery();
    record["max_new_tokens"] = 12;
    auto settings = eval(ownTask(folder / "own.jsonl", {record}));
    EXPECT_EQ(evaluated(settings)["answers_with_unknown_tokens"], 0);
    // A table with more rows than the tokenizer has tokens, as of models whose rows are padded.
    TinyModelSpec wide = withContext(4096);
    wide.vocabSize = 900;
    const StudyFolder padded(wide);
    std::filesystem::copy_file(folder / "model/tokenizer.json", padded / "model/tokenizer.json",
                               std::filesystem::copy_options::overwrite_existing);
    settings.compute.model = padded.model();
    const json result = evaluated(settings);
    int answers = 0;
    for (const store::OutcomeRow& row : rows()) {
        answers += row.unknownTokens > 0 ? 1 : 0;
        EXPECT_LE(row.unknownTokens, 12);
    }
    EXPECT_GT(answers, 0);
    EXPECT_EQ(result["answers_with_unknown_tokens"], answers);
    EXPECT_THAT(studies::unknownTokensText(result), HasSubstr("vocabulary lacks"));
}

TEST_F(EvaluationKinds, AgreementGeneratesForTheFirstItemsAlone) {
    auto settings = eval(ownTask(folder / "own.jsonl", {bakery(), bakery("zero"), bakery("x"), bakery()}));
    settings.score = "strict";
    settings.agreementItems = 2;
    const json result = evaluated(settings);
    EXPECT_EQ(result["agreement"]["n"], 6) << "two items at three positions";
    for (const store::OutcomeRow& row : rows()) {
        const bool sampled = row.itemId == "own/0" || row.itemId == "own/1";
        EXPECT_EQ(row.generatedScore.has_value(), sampled) << row.itemId;
        EXPECT_EQ(row.score, row.strict.value() ? 1.0 : 0.0) << "the score stays the strict one";
    }
    settings.agreementItems = 0;
    EXPECT_EQ(evaluated(settings)["agreement"], nullptr);
    settings.agreementItems = 1;
    settings.task = mmluTask(0);
    settings.score.reset();
    const auto refused = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_THAT(refused.error().message, HasSubstr("--agreement"));
}

analysis::ItemOutcome judged(const std::string& id, bool strict, double generated, int tokens = 100) {
    analysis::ItemOutcome outcome;
    outcome.itemId = id;
    outcome.promptTokens = tokens;
    outcome.strict = strict;
    outcome.generatedScore = generated;
    outcome.score = generated;
    return outcome;
}

TEST(EvaluationSummary, KappaIsAgreementBeyondChance) {
    // 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: Cohen's kappa is 0.4.
    std::vector<analysis::ItemOutcome> outcomes;
    const auto add = [&](int count, bool strict, double generated) {
        for (int i = 0; i < count; ++i)
            outcomes.push_back(judged("i" + std::to_string(outcomes.size()), strict, generated));
    };
    add(20, true, 1.0);
    add(5, true, 0.0);
    add(10, false, 1.0);
    add(15, false, 0.0);
    const json agreement = studies::agreementJson(outcomes);
    EXPECT_EQ(agreement["n"], 50);
    EXPECT_DOUBLE_EQ(agreement["equal"], 0.7);
    EXPECT_NEAR(agreement["kappa"].get<double>(), 0.4, 1e-12);
    EXPECT_DOUBLE_EQ(agreement["teacher_forced"], 0.5);
    EXPECT_DOUBLE_EQ(agreement["generated"], 0.6);
    EXPECT_EQ(agreement["empty_answers"], 50);
    for (const char* figure : {"equal", "kappa"}) {
        const json interval = agreement[std::string(figure) + "_interval"];
        EXPECT_LT(interval["low"], agreement[figure]) << figure;
        EXPECT_GT(interval["high"], agreement[figure]) << figure;
    }
    outcomes.front().generatedScore = 0.5;
    EXPECT_EQ(studies::agreementJson(outcomes)["kappa"], nullptr) << "graded: neither right nor wrong";
    for (const char* key : {"equal", "equal_interval", "kappa_interval"})
        EXPECT_EQ(studies::agreementJson(outcomes)[key], nullptr) << key;
    std::vector<analysis::ItemOutcome> same{judged("a", true, 1.0), judged("b", true, 1.0)};
    EXPECT_EQ(studies::agreementJson(same)["kappa"], nullptr) << "nothing differs: not defined";
    same[0].generatedScore.reset();
    same[1].skippedTooLong = true;
    EXPECT_EQ(studies::agreementJson(same), nullptr);
}

TEST(EvaluationSummary, IntervalsFollowTheRuleAndNotTheValues) {
    // Answers of a graded rule that happen to be right or wrong are no proportion.
    std::vector<analysis::ItemOutcome> outcomes;
    std::vector<double> scores;
    for (int i = 0; i < 12; ++i) {
        scores.push_back(i % 3 == 0 ? 1.0 : 0.0);
        outcomes.push_back(judged("i" + std::to_string(i), true, scores.back()));
    }
    const auto bootstrap = analysis::boundedMeanInterval(scores, 1);
    const json graded = studies::lengthsJson(outcomes, true)[0];
    EXPECT_DOUBLE_EQ(graded["ci_low"], bootstrap.low);
    EXPECT_DOUBLE_EQ(graded["ci_high"], bootstrap.high);
    const auto wilson = analysis::wilsonInterval(4, 12);
    const json binary = studies::lengthsJson(outcomes, false)[0];
    EXPECT_DOUBLE_EQ(binary["ci_low"], wilson.low);
    EXPECT_DOUBLE_EQ(binary["ci_high"], wilson.high);
    EXPECT_NE(graded["ci_low"], binary["ci_low"]);
}

TEST_F(EvaluationKinds, GroupsAndLengthsOfAGradedRuleHaveItsKindOfInterval) {
    json bread = bakery();
    bread["scoring"] = "f1";
    bread["max_new_tokens"] = 4;
    bread["group"] = "bread";
    auto settings = eval(ownTask(folder / "own.jsonl", {bread, bread}));
    settings.score = "generate";
    const json result = evaluated(settings);
    ASSERT_EQ(result["groups"].size(), 1u);
    std::map<std::string, double> means;  // of items: one item's answers at three positions are no independent draws
    for (const store::OutcomeRow& row : rows()) means[row.itemId] += row.score / 3.0;
    std::vector<double> scores;
    for (const auto& [id, mean] : means) scores.push_back(mean);
    ASSERT_EQ(scores.size(), 2u);
    const auto interval = analysis::boundedMeanInterval(scores, 1);
    for (const json& row : {result["groups"][0], result["lengths"][0]}) {
        EXPECT_EQ(row["n"], 6);
        EXPECT_DOUBLE_EQ(row["ci_low"], interval.low);
        EXPECT_DOUBLE_EQ(row["ci_high"], interval.high);
    }
}

TEST(EvaluationSummary, AnItemAtSeveralPositionsIsDrawnAsAWhole) {
    std::vector<analysis::ItemOutcome> outcomes;
    std::vector<double> means;
    for (int i = 0; i < 12; ++i) {
        for (int position = 0; position < 3; ++position) {
            outcomes.push_back(judged("i" + std::to_string(10 + i), true, i % 2 == 0 ? 1.0 : 0.0));
            outcomes.back().position = position;
        }
        means.push_back(i % 2 == 0 ? 1.0 : 0.0);
    }
    const json row = studies::lengthsJson(outcomes, false)[0];
    EXPECT_EQ(row["n"], 36);
    const auto interval = analysis::boundedMeanInterval(means, 1);
    EXPECT_DOUBLE_EQ(row["ci_low"], interval.low);
    EXPECT_DOUBLE_EQ(row["ci_high"], interval.high);
    EXPECT_GT(interval.high - interval.low,
              analysis::wilsonInterval(18, 36).high - analysis::wilsonInterval(18, 36).low);
}

TEST(EvaluationSummary, LengthsFallIntoPowersOfTwo) {
    std::vector<analysis::ItemOutcome> outcomes;
    for (const int tokens : {1, 511, 512, 1023, 1024, 5000}) {
        outcomes.push_back(judged("i", true, 1.0, tokens));
        outcomes.back().position = static_cast<int>(outcomes.size());
    }
    outcomes.push_back(judged("long", false, 0.0, 9000));
    outcomes.back().skippedTooLong = true;
    const json lengths = studies::lengthsJson(outcomes, false);
    ASSERT_EQ(lengths.size(), 4u);
    const std::vector<std::array<int, 3>> expected{{0, 512, 2}, {512, 1024, 2}, {1024, 2048, 1}, {4096, 8192, 1}};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(lengths[i]["from"], expected[i][0]);
        EXPECT_EQ(lengths[i]["to"], expected[i][1]);
        EXPECT_EQ(lengths[i]["n"], expected[i][2]);
    }
}

TEST_F(EvaluationKinds, RepeatsMeasureTheRoundingOfOtherBatchCompositions) {
    auto settings = eval(smallSearch(folder).task);
    settings.task.limit = 4;
    settings.repeats = 3;
    const json result = evaluated(settings);
    const json& noise = result["noise"];
    EXPECT_EQ(noise["repeats"], 3);
    EXPECT_EQ(noise["accuracy_sd"].size(), 3u);
    EXPECT_EQ(noise["answer_nll_sd"].size(), 3u);
    EXPECT_GE(noise["largest_nll_difference"], 0.0);
    EXPECT_LT(noise["largest_nll_difference"], 1e-3) << "float32: rounding alone";
    const auto variants = take(store->reader().variants(lastRun));
    ASSERT_EQ(variants.size(), 3u);
    for (const auto& variant : variants) EXPECT_EQ(take(store->reader().outcomes(variant.id, "eval")).size(), 12u);
    settings.repeats = 1;
    const json once = evaluated(settings);
    EXPECT_EQ(once["noise"], nullptr);
    EXPECT_EQ(once["positions"], result["positions"]) << "the first evaluation is the result";
    EXPECT_EQ(once["bias"], result["bias"]);
}

TEST_F(EvaluationKinds, GroupsAndNotesAreSaidOfExams) {
    const json result = evaluated(eval(mmluTask(3)));
    const json& groups = result["groups"];
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[0]["group"], "anatomy");
    EXPECT_EQ(groups[1]["group"], "formal_logic");
    EXPECT_EQ(groups[0]["n"].get<int>() + groups[1]["n"].get<int>(), result["items"].get<int>());
    const double micro = (groups[0]["n"].get<double>() * groups[0]["accuracy"].get<double>() +
                          groups[1]["n"].get<double>() * groups[1]["accuracy"].get<double>()) /
                         result["items"].get<double>();
    EXPECT_NEAR(result["mean_accuracy"].get<double>(), micro, 1e-12);
    EXPECT_TRUE(result["notes"].empty());
    std::int64_t prompts = 0;
    for (const json& bucket : result["lengths"]) prompts += bucket["n"].get<std::int64_t>();
    EXPECT_EQ(prompts, result["items"]);

    const StudyFolder narrow(withContext(700));
    auto settings = eval(mmluTask(5));
    settings.compute.model = narrow.model();
    const json cut = evaluated(settings);
    ASSERT_FALSE(cut["notes"].empty());
    std::int64_t items = 0;
    for (const json& note : cut["notes"]) {
        EXPECT_THAT(note["note"], HasSubstr("of 5"));
        items += note["items"].get<std::int64_t>();
    }
    EXPECT_LE(items, cut["items"]);
}

TEST_F(EvaluationKinds, AProfileThatWasSearchedOnTheseItemsIsToldOf) {
    const auto searched = take(studies::runSearch(smallSearch(folder), *store, observer, {}));
    const std::string profile = (folder / "best.json").string();
    writeBytes(profile, searched.result["profile"].dump());
    auto settings = eval(smallSearch(folder).task);
    settings.method = "lpes:" + profile;
    settings.task.limit = 12;
    const json all = evaluated(settings)["searched_on"];
    ASSERT_TRUE(all.is_object());
    EXPECT_EQ(all["searched_items"], 6) << "three to search on and three to select on";
    EXPECT_EQ(all["items"], 12);
    EXPECT_EQ(all["profile"], profile);
    EXPECT_EQ(all["matched_by"], "content");
    const json& provenance = searched.result["profile"]["provenance"];
    for (const char* split : {"search", "select"})
        EXPECT_EQ(provenance["item_hashes"][split].size(), provenance["items"][split].size());
    settings.task.limit = 10;
    EXPECT_TRUE(evaluated(settings)["searched_on"].is_object()) << "a part of the data is no other data";
    settings.task.itemSeed = 2;
    EXPECT_EQ(evaluated(settings)["searched_on"], nullptr) << "other items";
    settings.task.itemSeed = 1;
    settings.method = "baseline";
    EXPECT_EQ(evaluated(settings)["searched_on"], nullptr);

    studies::CompareSettings comparing;
    comparing.compute = settings.compute;
    comparing.task = settings.task;
    comparing.methods = {"baseline", "lpes:" + profile};
    comparing.guardrail.items = 0;
    const json methods = take(studies::runComparison(comparing, *store, observer, {})).result["methods"];
    EXPECT_EQ(methods[0]["searched_on"], nullptr);
    EXPECT_TRUE(methods[1]["searched_on"].is_object());
}

TEST_F(EvaluationKinds, T21_LongDocumentsAreSkippedAndCountedInsteadOfCut) {
    std::vector<json> records(10, bakery());
    for (std::size_t item = 0; item < 3; ++item) records[item]["documents"][2] = std::string(5000, 'x');
    auto settings = eval(ownTask(folder / "own.jsonl", records));
    settings.score = "strict";
    const json result = evaluated(settings);
    EXPECT_EQ(result["items"], 7);
    EXPECT_EQ(result["skipped_too_long"], 3);
    for (const json& position : result["positions"]) EXPECT_EQ(position["n"], 7);
    std::int64_t skipped = 0;
    for (const store::OutcomeRow& row : rows()) skipped += row.skippedTooLong ? 1 : 0;
    EXPECT_EQ(skipped, 9);
    for (const json& record : records) EXPECT_TRUE(record.is_object());
}

TEST_F(EvaluationKinds, PositionsAreOfTasksWhoseEvidenceMoves) {
    auto settings = eval(mmluTask(0));
    settings.task.positions = "begin,end";
    const auto refused = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_THAT(refused.error().message, HasSubstr("--positions"));
    auto moving = eval(ownTask(folder / "own.jsonl", {bakery(), bakery()}));
    moving.score = "strict";
    moving.task.positions = "#0,#3";
    const auto beyond = studies::runEvaluation(moving, *store, observer, {});
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().code, ErrorCode::Usage);
    moving.task.positions = "#0,#2";
    const json result = evaluated(moving);
    EXPECT_EQ(result["positions"][1]["gold_index"], 2);
    EXPECT_EQ(result["settings"]["positions"]["value"], "#0,#2");
    moving.task.positions.reset();
    EXPECT_EQ(evaluated(moving)["settings"]["positions"]["value"], "begin,middle,end") << "resolved";
}

}  // namespace
}  // namespace lpes::test
