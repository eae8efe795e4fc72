#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/analysis/statistics.h"
#include "core/studies/method_bench.h"
#include "core/studies/method_timing.h"
#include "core/studies/plot_queries.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

studies::CompareSettings smallComparison(const StudyFolder& folder, std::vector<std::string> methods) {
    studies::CompareSettings settings;
    settings.compute = smallSearch(folder).compute;
    settings.task = smallSearch(folder).task;
    settings.task.limit = 4;
    settings.methods = std::move(methods);
    return settings;
}

json comparedMethods(const studies::CompareSettings& settings, store::StoreWriter& store) {
    NullObserver observer;
    return take(studies::runComparison(settings, store, observer, {})).result.at("methods");
}

/// What does not depend on time or memory.
json withoutTime(json methods) {
    for (json& method : methods) {
        for (const char* key : {"seconds", "tokens_per_second", "peak_bytes", "latency_vs_first"}) method.erase(key);
    }
    return methods;
}

TEST(Comparison, SaysOfEveryMethodWhatAnEvaluationSays) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    const auto settings = smallComparison(
        folder, {"baseline", "pi:1.5", "uniform:1.5", "yarn:2", "ms-poe", "attention-buckets:combine=probs"});
    const json methods = comparedMethods(settings, *store);
    ASSERT_EQ(methods.size(), 6u);
    NullObserver observer;
    for (const json& method : methods) {
        studies::EvalSettings eval;
        eval.compute = settings.compute;
        eval.task = settings.task;
        eval.method = method["method"];
        json alone = take(studies::runEvaluation(eval, *store, observer, {})).result;
        for (json& position : alone["positions"]) position.erase("fitness");  // of an evaluation alone
        EXPECT_EQ(method["positions"], alone["positions"]) << method["method"];
        EXPECT_EQ(method["mean_accuracy"], alone["mean_accuracy"]);
        EXPECT_EQ(method["mean_accuracy_interval"], alone["mean_accuracy_interval"]);
        for (const char* key : {"gap", "gap_interval", "mean_answer_nll", "mean_answer_nll_interval", "bias"})
            EXPECT_EQ(method[key], alone[key]) << key;
        EXPECT_EQ(method["lengths"], alone["lengths"]);
        EXPECT_GT(method["seconds"], 0.0);
        EXPECT_GT(method["tokens_per_second"], 0.0);
    }
    EXPECT_EQ(methods[0]["p_value_vs_first"], nullptr);
    EXPECT_EQ(methods[1]["nll_difference"], methods[2]["nll_difference"]) << "the same scales under two names";
    EXPECT_EQ(methods[0]["passes"], 1);
    EXPECT_EQ(methods[5]["passes"], 7);
    for (std::size_t i = 1; i < methods.size(); ++i) {
        EXPECT_EQ(methods[i]["mcnemar_vs_first"].size(), 3u);
        EXPECT_THAT(methods[i]["verdict"].get<std::string>(), HasSubstr("No verdict: too few items, 4 "));
        EXPECT_GT(methods[i]["latency_vs_first"]["ratio"], 0.0);
        // Four items are too few for any test, and four pairs of passes for an interval.
        for (const char* key : {"p_value_vs_first", "p_holm"}) EXPECT_EQ(methods[i][key], nullptr) << key;
        for (const char* key : {"p_value", "p_holm"}) EXPECT_EQ(methods[i]["score_difference"][key], nullptr) << key;
        for (const json& p : methods[i]["mcnemar_vs_first"]) EXPECT_EQ(p, nullptr);
        EXPECT_EQ(methods[i]["latency_vs_first"]["pairs"], 4);
        EXPECT_EQ(methods[i]["latency_vs_first"]["low"], nullptr);
    }
}

TEST(Comparison, AMethodThatChangesNothingDiffersInNothing) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    const json methods = comparedMethods(smallComparison(folder, {"baseline", "uniform:1"}), *store);
    EXPECT_EQ(methods[0]["positions"], methods[1]["positions"]);
    EXPECT_EQ(methods[1]["nll_difference"]["mean"], 0.0);
    EXPECT_EQ(methods[1]["nll_difference"]["low"], nullptr) << "equal differences say nothing of how far it may lie";
    EXPECT_EQ(methods[1]["score_difference"]["low"], nullptr) << "four items are too few for an interval";
    EXPECT_EQ(methods[1]["score_difference"]["high"], nullptr);
    EXPECT_FALSE(methods[1]["better_than_first"].get<bool>());
}

TEST(Comparison, TestsOfSeveralMethodsAreAdjustedTogether) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    auto settings = smallComparison(folder, {"baseline", "uniform:1.5", "pi:2", "ntk:2"});
    settings.task.limit = 12;
    const json methods = comparedMethods(settings, *store);
    for (const json& method : methods) {
        for (const char* figure : {"mean_accuracy", "gap", "mean_answer_nll"}) {
            const json interval = method[std::string(figure) + "_interval"];
            EXPECT_LE(interval["low"], method[figure]) << figure;
            EXPECT_GE(interval["high"], method[figure]) << figure;
        }
        for (const json& position : method["positions"]) {
            EXPECT_LT(position["answer_nll_ci_low"], position["answer_nll"]);
            EXPECT_GT(position["answer_nll_ci_high"], position["answer_nll"]);
        }
        EXPECT_TRUE(method["bias"]["u_shape_interval"]["low"].is_number());
    }
    std::vector<double> raw, score, mcnemar;
    for (std::size_t i = 1; i < methods.size(); ++i) {
        raw.push_back(methods[i]["p_value_vs_first"]);
        score.push_back(methods[i]["score_difference"]["p_value"]);
        for (const json& p : methods[i]["mcnemar_vs_first"]) mcnemar.push_back(p);
    }
    const auto holm = analysis::holmAdjusted(raw), scoreHolm = analysis::holmAdjusted(score),
               mcnemarHolm = analysis::holmAdjusted(mcnemar);
    for (std::size_t i = 1; i < methods.size(); ++i) {
        EXPECT_EQ(methods[i]["p_holm"], holm[i - 1]);
        EXPECT_EQ(methods[i]["score_difference"]["p_holm"], scoreHolm[i - 1]);
        for (std::size_t p = 0; p < 3; ++p)
            EXPECT_EQ(methods[i]["mcnemar_holm"][p], mcnemarHolm[3 * (i - 1) + p]) << i << " " << p;
        EXPECT_THAT(methods[i]["verdict"].get<std::string>(), HasSubstr(" by Holm over 3 tests"));
        EXPECT_EQ(methods[i]["latency_vs_first"]["pairs"], 12);
        EXPECT_LE(methods[i]["latency_vs_first"]["low"], methods[i]["latency_vs_first"]["high"]);
    }
    EXPECT_EQ(methods[0]["p_holm"], nullptr) << "the first is not compared with itself";
}

TEST(Comparison, AStoppedOneGoesOnToTheSameResult) {
    const StudyFolder folder;
    auto whole = openStore(folder / "whole.db");
    const auto settings = smallComparison(folder, {"baseline", "ntk:2", "ms-poe"});
    const json expected = withoutTime(comparedMethods(settings, *whole));

    auto store = openStore(folder / "stopped.db");
    StopAfter stopping(9);
    const auto stopped = take(studies::runComparison(settings, *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    EXPECT_EQ(stopped.result["state"], "stopped");
    NullObserver observer;
    const auto resumed = take(studies::resumeComparison(stopped.runId, *store, observer, {}));
    EXPECT_EQ(resumed.runId, stopped.runId);
    EXPECT_EQ(withoutTime(resumed.result["methods"]), expected);
    EXPECT_EQ(take(store->reader().variants(stopped.runId)).size(), 3u);

    const auto again = studies::resumeComparison(stopped.runId, *store, observer, {});
    ASSERT_FALSE(again.has_value());
    EXPECT_THAT(again.error().message, HasSubstr("finished"));
    const auto asSearch = studies::resumeSearch(stopped.runId, std::nullopt, *store, observer, {});
    ASSERT_FALSE(asSearch.has_value());
    EXPECT_EQ(asSearch.error().code, ErrorCode::Usage);
}

TEST(Comparison, OneStoppedBetweenMethodsSetsTheSameItemsBesideEachOther) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    // One item of both methods, and a second one of the method whose turn it was.
    StopAfter stopping(9);
    const json result =
        take(studies::runComparison(smallComparison(folder, {"baseline", "ntk:2"}), *store, stopping, stopping.token()))
            .result;
    EXPECT_EQ(result["state"], "stopped");
    EXPECT_EQ(result["items"], 1);
    EXPECT_EQ(result["items_planned"], 4);
    for (const json& method : result["methods"]) {
        EXPECT_EQ(method["items"], 1);
        for (const json& position : method["positions"]) EXPECT_EQ(position["n"], 1);
        EXPECT_TRUE(method["mean_answer_nll"].is_number());
    }
    EXPECT_NEAR(
        result["methods"][1]["nll_difference"]["mean"].get<double>(),
        result["methods"][1]["mean_answer_nll"].get<double>() - result["methods"][0]["mean_answer_nll"].get<double>(),
        1e-9);
}

TEST(Comparison, OneStoppedBeforeItsFirstItemHasNoFigures) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    StopAfter stopping(3);
    const auto stopped = take(
        studies::runComparison(smallComparison(folder, {"baseline", "ntk:2"}), *store, stopping, stopping.token()));
    EXPECT_EQ(stopped.result["items"], 0);
    for (const json& method : stopped.result["methods"]) {
        for (const char* key : {"mean_accuracy", "gap", "mean_answer_nll"}) EXPECT_EQ(method[key], nullptr) << key;
        for (const char* key : {"mean_accuracy_interval", "gap_interval", "mean_answer_nll_interval"})
            EXPECT_EQ(method[key]["low"], nullptr) << key;
        for (const json& position : method["positions"]) {
            EXPECT_EQ(position["n"], 0);
            for (const char* key : {"accuracy", "ci_low", "ci_high", "answer_nll", "answer_nll_ci_low"})
                EXPECT_EQ(position[key], nullptr) << key;
        }
    }
    for (const char* key : {"nll_difference", "score_difference"})
        EXPECT_EQ(stopped.result["methods"][1][key]["mean"], nullptr) << key;
    const auto run = take(store->reader().run(stopped.runId));
    for (const char* kind : {"methods", "accuracy"}) {
        const auto plot = studies::plotData(store->reader(), run, kind);
        EXPECT_FALSE(plot.has_value()) << kind;
    }
}

TEST(Comparison, OtherFilesBehindItsMethodsAreRefusedOnResuming) {
    const StudyFolder folder;
    const std::string profile = (folder / "profile.csv").string();
    writeBytes(profile, "0,1\n1,1.5\n");
    auto store = openStore(folder / "lpes.db");
    const auto settings = smallComparison(folder, {"baseline", "lpes:" + profile});
    StopAfter stopping(9);
    const auto stopped = take(studies::runComparison(settings, *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    const json hash = stopped.result["methods"][1]["method_hash"];
    EXPECT_EQ(hash.get<std::string>().size(), 64u);
    EXPECT_EQ(stopped.result["methods"][0]["method_hash"], nullptr) << "its spelling says all";
    EXPECT_EQ(stopped.result["settings"]["method_hashes"]["value"]["lpes:" + profile], hash);

    NullObserver observer;
    writeBytes(profile, "0,1\n1,1.25\n");
    const auto refused = studies::resumeComparison(stopped.runId, *store, observer, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
    EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("profile.csv"), HasSubstr("restore it")));
    EXPECT_EQ(take(store->reader().run(stopped.runId)).state, store::RunState::Stopped);

    writeBytes(profile, "0,1.0\n1,1.50\n");
    const auto resumed = take(studies::resumeComparison(stopped.runId, *store, observer, {}));
    EXPECT_EQ(resumed.result["state"], "finished") << "the same values in other words";
    EXPECT_EQ(resumed.result["methods"][1]["method_hash"], hash);
}

TEST(Comparison, OneOfAVersionWithoutHashesIsResumedAsItWas) {
    const StudyFolder folder;
    const std::string profile = (folder / "profile.csv").string();
    writeBytes(profile, "0,1\n1,1.5\n");
    auto settings = smallComparison(folder, {"baseline", "lpes:" + profile});
    const auto back = take(studies::compareSettingsFromJson(studies::toJson(settings)));
    EXPECT_TRUE(back.methodHashes.empty());
    settings.methodHashes["lpes:" + profile] = "another";
    const auto known = take(studies::compareSettingsFromJson(studies::toJson(settings)));
    EXPECT_EQ(known.methodHashes, settings.methodHashes);
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    EXPECT_TRUE(studies::runComparison(back, *store, observer, {}).has_value());
    EXPECT_FALSE(studies::runComparison(known, *store, observer, {}).has_value());
}

TEST(Comparison, TheShortestContextDecidesForAll) {
    TinyModelSpec spec;
    spec.contextLength = 120;
    const StudyFolder folder(spec);
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    // The items are longer than 120 tokens.
    const auto refused = studies::runComparison(smallComparison(folder, {"baseline", "yarn:8"}), *store, observer, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
    EXPECT_THAT(refused.error().message, HasSubstr("120"));
    const json methods = comparedMethods(smallComparison(folder, {"pi:8", "yarn:8"}), *store);
    EXPECT_EQ(methods[1]["items"], 4);
}

TEST(Comparison, RefusesBeforeARunBegins) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto code = [&](std::vector<std::string> methods, int workers = 1) {
        auto settings = smallComparison(folder, std::move(methods));
        settings.compute.workers = workers;
        if (workers > 1) settings.compute.threadsPerWorker = 1;
        const auto refused = studies::runComparison(settings, *store, observer, {});
        return refused ? ErrorCode::Failed : refused.error().code;
    };
    EXPECT_EQ(code({"baseline"}), ErrorCode::Usage);
    EXPECT_EQ(code({}), ErrorCode::Usage);
    EXPECT_EQ(code({"baseline", "baseline"}), ErrorCode::Usage);
    EXPECT_EQ(code({"baseline", "pie:2"}), ErrorCode::Usage);
    EXPECT_EQ(code({"baseline", "lpes:missing.json"}), ErrorCode::BadInput);
    EXPECT_EQ(code({"baseline", "pi:2"}, 2), ErrorCode::Usage);
    auto chat = smallComparison(folder, {"baseline", "pi:2"});
    chat.task.chat = "llama-3";
    const auto noToken = studies::runComparison(chat, *store, observer, {});
    ASSERT_FALSE(noToken.has_value());
    EXPECT_EQ(noToken.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(noToken.error().message, HasSubstr("<|start_header_id|>"));
    EXPECT_TRUE(take(store->reader().runs()).empty());
}

TEST(Comparison, SettingsComeBackFromTheDataBase) {
    const StudyFolder folder;
    auto settings = smallComparison(folder, {"baseline", "pi:2"});
    settings.seed = 7;
    settings.origins["seed"] = "flag";
    const auto back = take(studies::compareSettingsFromJson(studies::toJson(settings)));
    EXPECT_EQ(studies::toJson(back), studies::toJson(settings));
    json other = studies::toJson(settings);
    other["surprise"] = 1;
    EXPECT_FALSE(studies::compareSettingsFromJson(other).has_value());
}

studies::BenchSettings smallBench(const StudyFolder& folder, std::vector<std::string> methods) {
    studies::BenchSettings settings;
    settings.compute = smallSearch(folder).compute;
    settings.methods = std::move(methods);
    settings.lengths = {16, 40};
    settings.newTokens = 4;
    settings.seconds = 0.01;
    return settings;
}

TEST(MethodBench, TimesEveryMethodAtEveryLengthInTurns) {
    const StudyFolder folder;
    NullObserver observer;
    const json result =
        take(studies::runBench(smallBench(folder, {"baseline", "ms-poe", "attention-buckets"}), observer, {}));
    ASSERT_EQ(result["rows"].size(), 6u);
    for (const json& row : result["rows"]) {
        EXPECT_GE(row["rounds"], 3);
        EXPECT_GT(row["prefill_tokens_per_second"], 0.0);
        EXPECT_GT(row["decode_tokens_per_second"], 0.0);
        EXPECT_EQ(row["prefill_ratio"]["pairs"], row["rounds"]);
        EXPECT_EQ(row["ratio_to_lpes"], nullptr) << "no method is LPES";
        if (row["prefill_ratio"]["low"] == nullptr) continue;
        EXPECT_GE(row["rounds"], 6);
        EXPECT_LE(row["prefill_ratio"]["low"], row["prefill_ratio"]["ratio"]);
        EXPECT_GE(row["prefill_ratio"]["high"], row["prefill_ratio"]["ratio"]);
    }
    EXPECT_EQ(result["rows"][0]["prefill_ratio"]["low"], nullptr) << "of itself there is nothing to be unsure of";
    EXPECT_EQ(result["rows"][0]["prefill_ratio"]["ratio"], 1.0) << "the first against itself";
    EXPECT_EQ(result["rows"][2]["cache_bytes"], 7 * result["rows"][0]["cache_bytes"].get<std::int64_t>());
    EXPECT_GT(result["gemm_gflops"], 0.0);
    EXPECT_TRUE(result["skipped"].empty());
}

TEST(MethodBench, PutsItsRatiosToLpesBesideThePublishedOnes) {
    const StudyFolder folder;
    NullObserver observer;
    auto settings = smallBench(folder, {"baseline", "ms-poe", "uniform:1.3", "pi:1.3"});
    settings.lengths = {16};
    const json result = take(studies::runBench(settings, observer, {}));
    ASSERT_EQ(result["rows"].size(), 4u);
    EXPECT_EQ(result["rows"][2]["ratio_to_lpes"]["ratio"], 1.0) << "LPES is what the paper's ratios are to";
    EXPECT_EQ(result["rows"][1]["published_ratio"], 1.45);
    for (const int row : {0, 1, 3}) EXPECT_GT(result["rows"][row]["ratio_to_lpes"]["ratio"], 0.0) << row;
}

TEST(MethodBench, RatiosAreToTheSameLpesAtEveryLength) {
    TinyModelSpec spec;
    spec.contextLength = 30;
    const StudyFolder folder(spec);
    NullObserver observer;
    const json result = take(studies::runBench(smallBench(folder, {"yarn:4", "uniform:1.3"}), observer, {}));
    ASSERT_EQ(result["rows"].size(), 3u);
    EXPECT_TRUE(result["rows"][0]["ratio_to_lpes"].is_object());
    EXPECT_EQ(result["rows"][2]["length"], 40);
    EXPECT_EQ(result["rows"][2]["ratio_to_lpes"], nullptr);
    EXPECT_EQ(result["rows"][2]["prefill_ratio"]["ratio"], 1.0);
}

TEST(MethodBench, LeavesOutLengthsBeyondAMethodsContextAndSaysSo) {
    TinyModelSpec spec;
    spec.contextLength = 30;
    const StudyFolder folder(spec);
    NullObserver observer;
    const json result = take(studies::runBench(smallBench(folder, {"baseline", "yarn:4"}), observer, {}));
    EXPECT_EQ(result["rows"].size(), 3u);
    ASSERT_EQ(result["skipped"].size(), 1u);
    EXPECT_EQ(result["skipped"][0]["method"], "baseline");
    EXPECT_EQ(result["skipped"][0]["length"], 40);
    EXPECT_EQ(result["skipped"][0]["context"], 30);
    EXPECT_TRUE(result["rows"][1]["prefill_ratio"].is_object());
    for (const char* key : {"prefill_ratio", "decode_ratio"})
        EXPECT_EQ(result["rows"][2][key], nullptr) << "the first method was not timed at this length";
    auto long_ = smallBench(folder, {"baseline"});
    long_.lengths = {500};
    const auto refused = studies::runBench(long_, observer, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
}

TEST(MethodBench, RefusesSettingsOutOfRangeAndAnswersAStop) {
    const StudyFolder folder;
    NullObserver observer;
    const auto refused = [&](auto change) {
        auto settings = smallBench(folder, {"baseline"});
        change(settings);
        const auto done = studies::runBench(settings, observer, {});
        return !done && done.error().code == ErrorCode::Usage;
    };
    EXPECT_TRUE(refused([](auto& s) { s.methods.clear(); }));
    EXPECT_TRUE(refused([](auto& s) { s.lengths = {1}; }));
    EXPECT_TRUE(refused([](auto& s) { s.lengths.clear(); }));
    EXPECT_TRUE(refused([](auto& s) { s.newTokens = 0; }));
    EXPECT_TRUE(refused([](auto& s) { s.seconds = 0.0; }));
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = studies::runBench(smallBench(folder, {"baseline"}), observer, stop.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(model::wasStopped(stopped.error())) << stopped.error().text();
}

TEST(SecondsRatios, AreMediansOfPairsWithAnInterval) {
    const std::vector<double> slow{2.0, 4.0, 30.0}, fast{1.0, 2.0, 3.0};
    const auto ratio = studies::ratioOf(slow, fast, 1);
    ASSERT_TRUE(ratio.has_value());
    EXPECT_EQ(ratio->ratio, 2.0) << "one bad round does not move it";
    EXPECT_EQ(ratio->pairs, 3u);
    EXPECT_FALSE(ratio->interval) << "of three there is none";
    EXPECT_FALSE(studies::ratioOf({}, {}, 1).has_value());
    const std::vector<double> reused{0.0, 4.0};
    EXPECT_EQ(studies::ratioOf(reused, fast, 1)->ratio, 2.0) << "what was not computed does not count";
    EXPECT_EQ(studies::median(std::vector<double>{4.0, 1.0, 2.0, 3.0}), 2.5);
}

TEST(SecondsRatios, HaveAnIntervalFromSixPairsThatDiffer) {
    const std::vector<double> ones(6, 1.0), seconds{2.0, 2.0, 2.0, 2.0, 3.0, 9.0};
    const auto six = studies::ratioOf(seconds, ones, 1);
    ASSERT_TRUE(six && six->interval);
    EXPECT_EQ(six->interval->low, 2.0);
    EXPECT_GT(six->interval->high, 2.0);
    EXPECT_FALSE(studies::ratioOf(std::span(seconds).first(5), ones, 1)->interval);
    EXPECT_FALSE(studies::ratioOf(ones, ones, 1)->interval) << "a point is no interval";
    const json known = studies::ratioJson(six), none = studies::ratioJson(studies::ratioOf(ones, ones, 1));
    EXPECT_EQ(known["low"], 2.0);
    EXPECT_EQ(known["pairs"], 6);
    EXPECT_EQ(none["ratio"], 1.0);
    EXPECT_EQ(none["low"], nullptr);
    EXPECT_EQ(studies::ratioJson(std::nullopt), nullptr);
}

}  // namespace
}  // namespace lpes::test
