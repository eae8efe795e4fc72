#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "core/base/files.h"
#include "core/studies/report.h"
#include "core/studies/suite_parts.h"
#include "core/studies/suite_study.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Keeps the warnings.
class Listener final : public ProgressObserver {
  public:
    void progressed(const Progress& progress) override {
        const std::lock_guard lock(m_mutex);
        stages.push_back(progress.stage);
    }
    void warned(const std::string& message) override {
        const std::lock_guard lock(m_mutex);
        warnings.push_back(message);
    }
    std::vector<std::string> stages, warnings;

  private:
    std::mutex m_mutex;
};

/// A tiny model whose context holds short examinations, and a suite of three kinds of benchmarks.
class SuiteTest : public testing::Test {
  protected:
    SuiteTest() {
        writeBytes(folder / "own.jsonl", jsonLines({bakery(), bakery("x"), bakery("y")}));
        writeBytes(folder / "exam.jsonl",
                   jsonLines({{{"question", "One?"}, {"choices", {"yes", "no"}}, {"answer", 0}},
                              {{"question", "Two?"}, {"choices", {"left", "right", "up"}}, {"answer", 2}}}));
    }
    [[nodiscard]] json plain() const {
        return {{"format", "lpes-suite"},
                {"version", 1},
                {"name", "small"},
                {"model", folder.model()},
                {"dtype", "float32"},
                {"threads_per_worker", 1},
                {"methods", {"baseline", "uniform:1.5"}},
                {"positions", "begin,end"},
                {"limit", 3},
                {"guardrail", 0},
                {"benchmarks",
                 {{{"label", "KV"}, {"task", "kv"}, {"keys", "hex:4"}, {"pairs", 4}},
                  {{"label", "own"}, {"task", "jsonl"}, {"data", "own.jsonl"}, {"score", "strict"}},
                  {{"label", "exam"}, {"task", "jsonl"}, {"data", "exam.jsonl"}}}}};
    }
    [[nodiscard]] Result<studies::SuiteSettings> read(const json& suite) const { return read(suite.dump()); }
    [[nodiscard]] Result<studies::SuiteSettings> read(const std::string& text) const {
        writeBytes(folder / "suite.json", text);
        return studies::readSuite(folder / "suite.json");
    }
    void refused(const json& suite, const std::vector<std::string>& parts) const {
        const auto settings = read(suite);
        ASSERT_FALSE(settings) << suite.dump();
        EXPECT_EQ(settings.error().code, ErrorCode::BadInput);
        for (const std::string& part : parts) EXPECT_THAT(settings.error().text(), HasSubstr(part));
    }

    const StudyFolder folder{withContext(1024)};
    std::unique_ptr<store::StoreWriter> store = openStore(folder / "lpes.db");
    Listener observer;
};

/// What does not depend on time, memory or numbers of runs.
json lasting(json result) {
    for (const char* key : {"seconds", "settings", "run_id"}) result.erase(key);
    for (json& part : result["benchmarks"]) {
        for (const char* key : {"seconds", "run_id"}) part.erase(key);
        for (json& method : part["methods"]) {
            for (const char* key : {"seconds", "tokens_per_second", "peak_bytes", "latency_vs_first"})
                method.erase(key);
        }
    }
    return result;
}

std::vector<store::RunRow> comparisons(store::StoreReader& reader) {
    auto runs = take(reader.runs());
    std::erase_if(runs, [](const store::RunRow& run) { return run.kind != "compare"; });
    std::ranges::reverse(runs);
    return runs;
}

TEST_F(SuiteTest, IsReadWithWhatBenchmarksShare) {
    const auto settings = take(read(plain()));
    EXPECT_EQ(settings.name, "small");
    EXPECT_EQ(settings.methods, (std::vector<std::string>{"baseline", "uniform:1.5"}));
    ASSERT_EQ(settings.benchmarks.size(), 3u);
    EXPECT_EQ(settings.benchmarks[0].task.limit, 3);
    EXPECT_EQ(settings.benchmarks[0].sharedPositions, "begin,end");
    EXPECT_FALSE(settings.benchmarks[0].task.positions.has_value());
    EXPECT_EQ(settings.benchmarks[1].score, "strict");
    EXPECT_EQ(settings.origins.at("methods"), "file");
    json own = plain();
    own.erase("name");
    own["benchmarks"][0].erase("label");
    own["benchmarks"][0]["positions"] = "middle";
    own["benchmarks"][0]["limit"] = 7;
    const auto other = take(read(own));
    EXPECT_EQ(other.name, "suite") << "the file's";
    EXPECT_EQ(other.benchmarks[0].label, "kv");
    EXPECT_EQ(other.benchmarks[0].task.positions, "middle");
    EXPECT_FALSE(other.benchmarks[0].sharedPositions.has_value());
    EXPECT_EQ(other.benchmarks[0].task.limit, 7);
    const json stored = studies::toJson(settings);
    EXPECT_EQ(studies::toJson(take(studies::suiteFromJson(stored))), stored);
}

TEST_F(SuiteTest, PathsAreRelativeToItsFolder) {
    json suite = plain();
    suite["model"] = "./model";
    suite["methods"] = {"baseline", "lpes:sub/p.json", "yarn:4+lpes:p.json", "moice:r.safetensors,top_k=3"};
    suite["guardrail_mmlu"] = "mmlu.tar.gz";
    const auto settings = take(read(suite));
    EXPECT_EQ(settings.compute.model, folder.model());
    EXPECT_EQ(settings.methods[1], "lpes:" + (folder / "sub/p.json").string());
    EXPECT_EQ(settings.methods[2], "yarn:4+lpes:" + (folder / "p.json").string());
    EXPECT_EQ(settings.methods[3], "moice:" + (folder / "r.safetensors,top_k=3").string());
    EXPECT_EQ(settings.guardrail.mmlu, (folder / "mmlu.tar.gz").string());
    EXPECT_EQ(settings.benchmarks[1].task.data, (folder / "own.jsonl").string());
    suite["model"] = "demo";
    suite["benchmarks"][1]["data"] = "/elsewhere/own.jsonl";
    const auto absolute = take(read(suite));
    EXPECT_EQ(absolute.compute.model, "demo");
    EXPECT_EQ(absolute.benchmarks[1].task.data, "/elsewhere/own.jsonl");
}

TEST_F(SuiteTest, WhatIsNotUnderstoodIsRefusedWithFileAndKey) {
    const auto with = [&](const auto& change) {
        json suite = plain();
        change(suite);
        return suite;
    };
    refused(with([](json& s) { s["surprise"] = 1; }), {"suite.json", "'surprise'"});
    refused(with([](json& s) { s["benchmarks"][1]["paris"] = 5; }), {"suite.json", "benchmark 2", "'paris'"});
    refused(with([](json& s) { s["benchmarks"][2].erase("task"); }), {"benchmark 3", "'task'"});
    refused(with([](json& s) { s["benchmarks"][0]["pairs"] = "four"; }), {"benchmark 1", "'pairs'", "four"});
    refused(with([](json& s) { s["benchmarks"][2] = 7; }), {"benchmark 3", "object"});
    refused(with([](json& s) { s["benchmarks"][2]["label"] = "KV"; }), {"benchmark 3", "'KV'"});
    refused(with([](json& s) { s["benchmarks"] = json::array(); }), {"\"benchmarks\""});
    refused(with([](json& s) { s.erase("benchmarks"); }), {"\"benchmarks\""});
    refused(with([](json& s) { s["benchmarks"] = json::object(); }), {"\"benchmarks\""});
    refused(with([](json& s) { s["methods"] = json::array(); }), {"\"methods\""});
    refused(with([](json& s) { s["methods"] = "baseline"; }), {"'methods'"});
    refused(with([](json& s) { s["format"] = "lpes-profile"; }), {"\"format\"", "lpes-profile"});
    refused(with([](json& s) { s["version"] = 2; }), {"\"version\"", "2"});
    refused(json::array({1, 2}), {"suite.json", "object"});
    // Values that are wrong whatever the model and the data are.
    refused(with([](json& s) { s["limit"] = 0; }), {"suite.json: \"limit\": --limit 0"});
    refused(with([](json& s) { s["benchmarks"][1]["limit"] = -1; }), {"suite.json: benchmark 2: \"limit\""});
    refused(with([](json& s) { s["benchmarks"][2]["score"] = "f1"; }), {"suite.json: benchmark 3: \"score\"", "f1"});
    refused(with([](json& s) { s["positions"] = "front"; }), {"suite.json: \"positions\"", "front"});
    refused(with([](json& s) { s["benchmarks"][0]["positions"] = "1,1"; }), {"benchmark 1: \"positions\"", "twice"});
    refused(with([](json& s) { s["chat"] = "chatmm"; }), {"suite.json: \"chat\"", "chatmm"});
    refused(with([](json& s) { s["benchmarks"][0]["bos"] = "both"; }), {"benchmark 1: \"bos\"", "both"});
    refused(with([](json& s) { s["benchmarks"][0]["truncation"] = "official"; }), {"benchmark 1: \"truncation\""});
    refused(with([](json& s) { s["guardrail"] = -5; }), {"suite.json: \"guardrail\"", "-5"});
    // Numbers that do not fit are not cut to ones that do.
    refused(with([](json& s) { s["limit"] = 2.5; }), {"suite.json", "'limit'", "2.5"});
    refused(with([](json& s) { s["seed"] = -1; }), {"suite.json", "'seed'", "-1"});
    refused(with([](json& s) { s["batch_size"] = 5'000'000'000; }), {"'batch_size'", "5000000000"});
    refused(with([](json& s) { s["limit"] = true; }), {"'limit'", "true"});
    for (const char* text : {"", "{", "not JSON", "{\"format\": \"lpes-suite\",}"}) {
        const auto settings = read(std::string(text));
        ASSERT_FALSE(settings) << text;
        EXPECT_THAT(settings.error().message, AllOf(HasSubstr("suite.json"), HasSubstr("JSON")));
    }
    std::string twice = plain().dump();
    twice.insert(1, "\"methods\": [\"pi:2\"], ");
    const auto settings = read(twice);
    ASSERT_FALSE(settings) << "which of them is meant?";
    EXPECT_THAT(settings.error().message, AllOf(HasSubstr("suite.json"), HasSubstr("'methods' is given twice")));
    EXPECT_FALSE(studies::readSuite(folder / "nowhere.json"));
}

TEST(SuiteTable, KnowsWhatIsNotHeldOutWhateverTheOtherFilesOfAMethodDoNotSay) {
    const json seen = {{"mean_accuracy", 0.5}, {"searched_on", {{"searched_items", 1}}}, {"provenance", "unknown"}};
    const json unknown = {{"mean_accuracy", 0.5}, {"searched_on", nullptr}, {"provenance", "unknown"}};
    const auto part = [](const char* label, const json& method) {
        return json{{"label", label}, {"state", "finished"}, {"methods", json::array({method})}};
    };
    const std::vector<std::string> methods{"longrope:factors.csv+lpes:best.json"};
    const json row = studies::suiteTableJson(methods, {part("a", seen), part("b", unknown)}, {})["rows"][0];
    EXPECT_EQ(row["held_out"], (json{false, nullptr}));
    EXPECT_EQ(row["average_held_out"], false);
}

TEST_F(SuiteTest, AsksEveryBenchmarkAndGivesThePapersTable) {
    const auto settings = take(read(plain()));
    const auto outcome = take(studies::runSuite(settings, *store, observer, {}));
    EXPECT_FALSE(outcome.stoppedEarly);
    const json& result = outcome.result;
    EXPECT_EQ(result["state"], "finished");
    EXPECT_EQ(result["failed"], 0);
    EXPECT_EQ(result["table"]["benchmarks"], (json{"KV", "own", "exam"}));
    ASSERT_EQ(result["table"]["rows"].size(), 2u);
    for (std::size_t method = 0; method < 2; ++method) {
        const json& row = result["table"]["rows"][method];
        EXPECT_EQ(row["method"], settings.methods[method]);
        double sum = 0.0;
        for (std::size_t part = 0; part < 3; ++part) {
            EXPECT_EQ(row["mean_accuracy"][part], result["benchmarks"][part]["methods"][method]["mean_accuracy"]);
            sum += row["mean_accuracy"][part].get<double>();
        }
        EXPECT_NEAR(row["average"].get<double>(), sum / 3, 1e-12);
        for (std::size_t part = 0; part < 3; ++part) {
            EXPECT_EQ(row["intervals"][part], result["benchmarks"][part]["methods"][method]["mean_accuracy_interval"]);
            EXPECT_LT(row["intervals"][part]["low"], row["intervals"][part]["high"]) << "no interval is a point";
        }
        EXPECT_LT(row["average_interval"]["low"], row["average_interval"]["high"]);
    }
    EXPECT_EQ(result["table"]["shared_items"], json::array());
    EXPECT_EQ(studies::averageNote(result["table"]), "");
    // Shared positions hold where evidence can be moved.
    EXPECT_EQ(result["benchmarks"][0]["methods"][0]["positions"].size(), 2u);
    EXPECT_EQ(result["benchmarks"][1]["methods"][0]["positions"].size(), 2u);
    EXPECT_EQ(result["benchmarks"][2]["methods"][0]["positions"][0]["position"], "as given");
    // Each is a comparison of its own, which says whose part it is.
    const auto parts = comparisons(store->reader());
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(json::parse(parts[1].settingsJson)["part_of"]["value"], std::to_string(outcome.runId) + "/own");
    const auto run = take(store->reader().run(outcome.runId));
    EXPECT_EQ(run.kind, "suite");
    EXPECT_EQ(run.state, store::RunState::Finished);
    EXPECT_TRUE(std::ranges::any_of(observer.stages,
                                    [](const std::string& stage) { return stage.starts_with("own (2 of 3)"); }));
}

TEST_F(SuiteTest, AnAverageOverBenchmarksThatShareItemsHasNoInterval) {
    json suite = plain();
    suite["benchmarks"] = json::array({suite["benchmarks"][1], suite["benchmarks"][2]});
    json again = suite["benchmarks"][0];
    again["label"] = "again";
    again["positions"] = "begin";
    again["limit"] = 2;
    suite["benchmarks"].push_back(again);
    const auto outcome = take(studies::runSuite(take(read(suite)), *store, observer, {}));
    const json& table = outcome.result["table"];
    EXPECT_EQ(table["shared_items"], json::array({json::array({"own", "again"})}));
    for (const json& row : table["rows"]) {
        EXPECT_TRUE(row["average"].is_number());
        EXPECT_EQ(row["average_interval"], nullptr);
        for (const json& interval : row["intervals"]) EXPECT_TRUE(interval["low"].is_number());
    }
    const std::string note = studies::averageNote(table);
    EXPECT_THAT(note, AllOf(HasSubstr("The average has no interval"), HasSubstr("'own' and 'again' ask some of")));
    // A finished suite that is shown again, and a report, have it of the stored settings.
    const json settings = json::parse(take(store->reader().run(outcome.runId)).settingsJson);
    EXPECT_EQ(take(studies::suiteFromJson(settings)).sharedItems.size(), 1u);
    const std::string page = take(studies::reportHtml(store->reader(), take(store->reader().run(outcome.runId)), {}));
    EXPECT_THAT(page, AllOf(HasSubstr("The average has no interval"), Not(HasSubstr("its interval out of theirs"))));
}

TEST_F(SuiteTest, ItsTableMarksWhatIsNotHeldOut) {
    auto search = smallSearch(folder);
    const json profile = take(studies::runSearch(search, *store, observer, {})).result["profile"];
    writeBytes(folder / "best.json", profile.dump());
    writeBytes(folder / "hand.csv", "0,1\n1,1.5\n");
    json suite = plain();
    suite["methods"] = {"baseline", "lpes:best.json", "lpes:hand.csv"};
    suite["benchmarks"][0]["limit"] = 12;  // of the search's items, which are generated
    const auto outcome = take(studies::runSuite(take(read(suite)), *store, observer, {}));
    const json& table = outcome.result["table"];
    ASSERT_TRUE(outcome.result["benchmarks"][0]["methods"][1]["searched_on"].is_object());
    EXPECT_EQ(table["rows"][0]["held_out"], (json{true, true, true}));
    EXPECT_EQ(table["rows"][0]["average_held_out"], true);
    EXPECT_EQ(table["rows"][1]["held_out"], (json{false, true, true}));
    EXPECT_EQ(table["rows"][1]["average_held_out"], false);
    EXPECT_EQ(table["rows"][2]["held_out"], (json{nullptr, nullptr, nullptr})) << "nobody knows";
    EXPECT_EQ(table["rows"][2]["average_held_out"], nullptr);
    EXPECT_THAT(studies::heldOutNote(table), HasSubstr("* NOT HELD OUT"));
    const std::string page = take(studies::reportHtml(store->reader(), take(store->reader().run(outcome.runId)), {}));
    EXPECT_THAT(page, AllOf(HasSubstr("<p class=\"warning\">* NOT HELD OUT"), HasSubstr("<span class=\"searched\">")));
    suite["methods"] = {"baseline"};
    const auto clean = take(studies::runSuite(take(read(suite)), *store, observer, {}));
    EXPECT_EQ(studies::heldOutNote(clean.result["table"]), "");
    EXPECT_THAT(take(studies::reportHtml(store->reader(), take(store->reader().run(clean.runId)), {})),
                Not(HasSubstr("class=\"searched\"")));
}

TEST_F(SuiteTest, ASingleMethodIsEnough) {
    json suite = plain();
    suite["methods"] = {"baseline"};
    const auto outcome = take(studies::runSuite(take(read(suite)), *store, observer, {}));
    EXPECT_EQ(outcome.result["table"]["rows"].size(), 1u);
    EXPECT_EQ(outcome.result["failed"], 0);
}

TEST_F(SuiteTest, EverythingIsCheckedBeforeTheFirstBenchmarkStarts) {
    const auto check = [&](const auto& change, const char* part) {
        json suite = plain();
        change(suite);
        const auto outcome = studies::runSuite(take(read(suite)), *store, observer, {});
        ASSERT_FALSE(outcome) << part;
        EXPECT_THAT(outcome.error().text(), AllOf(HasSubstr("suite.json"), HasSubstr(part)));
        EXPECT_EQ(outcome.error().code, ErrorCode::BadInput) << part;
        EXPECT_TRUE(take(store->reader().runs()).empty()) << part;
    };
    check([](json& s) { s["benchmarks"][2]["data"] = "nowhere.jsonl"; }, "nowhere.jsonl");
    check([](json& s) { s["benchmarks"][2]["score"] = "generate"; }, "exam");
    check([](json& s) { s["benchmarks"][2]["positions"] = "begin"; }, "--positions");
    check([](json& s) { s["benchmarks"][2]["shots"] = 5; }, "--shots");
    check([](json& s) { s["benchmarks"][1]["task"] = "mdqq"; }, "mdqq");
    check([](json& s) { s["positions"] = "#3"; }, "own");
    check([](json& s) { s["benchmarks"][1]["item_seed"] = 1; }, "benchmark 2 ('own'): --item-seed");
    check([](json& s) { s["positions"] = "0,10"; }, "one place");
    check([](json& s) { s["batch_size"] = 0; }, "\"batch_size\"");
    check([](json& s) { s["threads_per_worker"] = 0; }, "\"threads_per_worker\"");
    check([](json& s) { s["dtype"] = "float8"; }, "\"dtype\"");
    check([](json& s) { s["device"] = "gpu"; }, "\"device\"");
    check([](json& s) { s["methods"] = {"baseline", "pie:2"}; }, "pie:2");
    check([](json& s) { s["methods"] = {"baseline", "baseline"}; }, "baseline");
    check([](json& s) { s["methods"] = {"baseline", "lpes:missing.json"}; }, "missing.json");
    check([](json& s) { s["model"] = "./nowhere"; }, "nowhere");
    check(
        [](json& s) {
            s["guardrail"] = 5;
            s["guardrail_mmlu"] = "missing-mmlu";
        },
        "missing-mmlu");
}

TEST_F(SuiteTest, SharedPositionsStandInPlaceOfDefaultOnesThatWouldBeOnePlace) {
    json suite = plain();
    suite["methods"] = {"baseline"};
    suite["benchmarks"] = json::array({suite["benchmarks"][0]});
    suite["benchmarks"][0]["pairs"] = 2;
    suite["limit"] = 1;
    const auto outcome = take(studies::runSuite(take(read(suite)), *store, observer, {}));
    EXPECT_EQ(outcome.result["failed"], 0);
    EXPECT_EQ(outcome.result["benchmarks"][0]["methods"][0]["positions"].size(), 2u);
    suite.erase("positions");
    const auto refused = studies::runSuite(take(read(suite)), *store, observer, {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("'middle' and 'end' are one place"));
}

TEST_F(SuiteTest, ABenchmarkThatFailsIsRecordedAndTheOthersGoOn) {
    json suite = plain();
    suite["limit"] = 3;
    suite["benchmarks"][0]["pairs"] = 60;  // longer than the context
    const auto outcome = take(studies::runSuite(take(read(suite)), *store, observer, {}));
    EXPECT_EQ(outcome.result["state"], "stopped") << "resuming tries it again";
    EXPECT_EQ(outcome.result["end_reason"], "failed benchmarks");
    EXPECT_EQ(outcome.result["failed"], 1);
    EXPECT_EQ(studies::stateText(outcome.result), "unfinished: 1 of 3 benchmarks failed");
    EXPECT_EQ(take(store->reader().run(outcome.runId)).state, store::RunState::Stopped);
    EXPECT_EQ(studies::stateText({{"state", "stopped"}, {"end_reason", "stopped"}, {"failed", 1}}), "stopped");
    EXPECT_EQ(studies::stateText({{"state", "finished"}, {"end_reason", "complete"}, {"failed", 0}}), "finished");
    EXPECT_EQ(outcome.result["benchmarks"][0]["state"], "failed");
    EXPECT_THAT(outcome.result["benchmarks"][0]["error"], HasSubstr("1024"));
    EXPECT_EQ(outcome.result["table"]["rows"][0]["mean_accuracy"][0], nullptr);
    EXPECT_EQ(outcome.result["table"]["rows"][0]["intervals"][0], nullptr);
    const json& row = outcome.result["table"]["rows"][0];
    EXPECT_NEAR(row["average"].get<double>(),
                (row["mean_accuracy"][1].get<double>() + row["mean_accuracy"][2].get<double>()) / 2, 1e-12);
    EXPECT_TRUE(
        std::ranges::any_of(observer.warnings, [](const std::string& text) { return text.starts_with("KV: "); }));
    suite["benchmarks"] = json::array({suite["benchmarks"][0]});
    const auto all = studies::runSuite(take(read(suite)), *store, observer, {});
    ASSERT_FALSE(all) << "nothing is left";
    EXPECT_EQ(take(store->reader().runs()).front().state, store::RunState::Failed);
}

TEST_F(SuiteTest, TheGuardrailIsMeasuredInTheFirstBenchmarkThatSucceeds) {
    json suite = plain();
    suite["guardrail"] = 4;
    const auto lights = [](const json& result) {
        std::string out;
        for (const json& part : result["benchmarks"]) {
            const bool failed = part["state"] == "failed";
            out += failed ? 'f' : part["methods"][1]["guardrail"].is_object() ? 'g' : '-';
        }
        return out;
    };
    EXPECT_EQ(lights(take(studies::runSuite(take(read(suite)), *store, observer, {})).result), "g--");
    suite["benchmarks"][0]["pairs"] = 60;  // longer than the context
    const auto outcome = take(studies::runSuite(take(read(suite)), *store, observer, {}));
    EXPECT_EQ(lights(outcome.result), "fg-");
    EXPECT_EQ(lights(take(studies::resumeSuite(outcome.runId, *store, observer, {})).result), "fg-");
}

TEST_F(SuiteTest, AChatTokenThatTheVocabularyLacksShowsBeforeTheWeightsAreRead) {
    json suite = plain();
    suite["benchmarks"][1]["chat"] = "llama-3";
    const auto outcome = studies::runSuite(take(read(suite)), *store, observer, {});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(outcome.error().text(),
                AllOf(HasSubstr("suite.json: benchmark 2 ('own')"), HasSubstr("<|start_header_id|>")));
    EXPECT_TRUE(observer.stages.empty());
}

TEST_F(SuiteTest, ABenchmarkDoesWithoutTheSharedChatPresetWhereItSaysNone) {
    json suite = plain();
    suite["chat"] = "chatml";
    suite["benchmarks"][1]["chat"] = "none";
    const auto settings = take(read(suite));
    EXPECT_EQ(settings.benchmarks[0].task.chat, "chatml");
    EXPECT_EQ(settings.benchmarks[1].task.chat, std::nullopt);
    suite["chat"] = "none";
    EXPECT_EQ(take(read(suite)).benchmarks[0].task.chat, std::nullopt);
}

TEST_F(SuiteTest, WhatTheCommandLineSaysIsNoFaultOfTheFile) {
    auto settings = take(read(plain()));
    settings.compute.dtype = "float8";
    settings.origins["dtype"] = "flag";
    const auto outcome = studies::runSuite(settings, *store, observer, {});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::Usage);
    EXPECT_EQ(outcome.error().context, "");
}

TEST_F(SuiteTest, AStoppedOneGoesOnWithoutComputingAnythingAgain) {
    const auto settings = take(read(plain()));
    auto whole = openStore(folder / "whole.db");
    const json expected = lasting(take(studies::runSuite(settings, *whole, observer, {})).result);
    for (const std::int64_t moment : {0, 3, 9, 14}) {
        auto part = openStore(folder / ("part" + std::to_string(moment) + ".db"));
        StopAfter stopping(moment);
        // Progress counts within a benchmark: the first one has twelve prompts, the second another twelve.
        const auto stopped = take(studies::runSuite(settings, *part, stopping, stopping.token()));
        if (moment == 14) {
            EXPECT_FALSE(stopped.stoppedEarly) << "no benchmark has so many prompts";
            continue;
        }
        ASSERT_TRUE(stopped.stoppedEarly) << moment;
        EXPECT_EQ(take(part->reader().run(stopped.runId)).state, store::RunState::Stopped);
        std::size_t before = 0;
        for (const store::RunRow& run : comparisons(part->reader())) {
            for (const auto& variant : take(part->reader().variants(run.id)))
                before += take(part->reader().outcomes(variant.id, "eval")).size();
        }
        Listener again;
        const auto resumed = take(studies::resumeSuite(stopped.runId, *part, again, {}));
        EXPECT_EQ(resumed.runId, stopped.runId);
        EXPECT_EQ(lasting(resumed.result), expected) << moment;
        EXPECT_EQ(comparisons(part->reader()).size(), 3u) << "no benchmark was begun twice";
        const auto twice = studies::resumeSuite(stopped.runId, *part, again, {});
        ASSERT_FALSE(twice);
        EXPECT_EQ(twice.error().code, ErrorCode::Usage);
    }
}

TEST_F(SuiteTest, FinishedBenchmarksAreTakenAsTheyAreOnResuming) {
    const auto settings = take(read(plain()));
    // Stops in the second benchmark, whose prompts are counted anew.
    class StopInSecond final : public ProgressObserver {
      public:
        void progressed(const Progress& progress) override {
            if (progress.stage.find("2 of 3") != std::string::npos && progress.done >= 2) source.request_stop();
        }
        void warned(const std::string&) override {}
        std::stop_source source;
    } stopping;
    const auto stopped = take(studies::runSuite(settings, *store, stopping, stopping.source.get_token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    const auto before = comparisons(store->reader());
    ASSERT_EQ(before.size(), 2u);
    EXPECT_EQ(before[0].state, store::RunState::Finished);
    EXPECT_EQ(before[1].state, store::RunState::Stopped);
    EXPECT_EQ(stopped.result["table"]["rows"][0]["mean_accuracy"].size(), stopped.result["benchmarks"].size());
    const auto resumed = take(studies::resumeSuite(stopped.runId, *store, observer, {}));
    const auto after = comparisons(store->reader());
    ASSERT_EQ(after.size(), 3u);
    EXPECT_EQ(after[0].endedMs, before[0].endedMs) << "left alone";
    EXPECT_EQ(after[0].resultJson, before[0].resultJson);
    EXPECT_EQ(resumed.result["benchmarks"].size(), 3u);
    EXPECT_TRUE(std::ranges::none_of(
        observer.stages, [](const std::string& stage) { return stage.find("1 of 3") != std::string::npos; }));
}

TEST_F(SuiteTest, OtherFilesBehindItsMethodsAreRefusedOnResuming) {
    json suite = plain();
    suite["methods"] = {"baseline", "lpes:own.csv"};
    writeBytes(folder / "own.csv", "0,1\n1,1.5\n");
    const auto settings = take(read(suite));
    EXPECT_TRUE(settings.methodHashes.empty());
    StopAfter stopping(3);
    const auto stopped = take(studies::runSuite(settings, *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    EXPECT_EQ(take(studies::suiteFromJson(stopped.result["settings"])).methodHashes.size(), 1u);
    writeBytes(folder / "own.csv", "0,1\n1,1.25\n");
    const auto changed = studies::resumeSuite(stopped.runId, *store, observer, {});
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, ErrorCode::BadInput);
    EXPECT_THAT(changed.error().message, HasSubstr("own.csv"));
    EXPECT_EQ(take(store->reader().run(stopped.runId)).state, store::RunState::Stopped);
    writeBytes(folder / "own.csv", "0,1\n1,1.5\n");
    const auto resumed = take(studies::resumeSuite(stopped.runId, *store, observer, {}));
    EXPECT_EQ(resumed.result["state"], "finished");
    EXPECT_TRUE(resumed.result["benchmarks"][2]["methods"][1]["method_hash"].is_string());
    suite["shared_items"] = json::array();
    refused(suite, {"suite.json", "'shared_items'"});
    suite.erase("shared_items");
    suite["method_hashes"] = json::object();
    refused(suite, {"suite.json", "'method_hashes'"});
}

TEST_F(SuiteTest, OtherDataAreRefusedOnResumingAlsoOfBenchmarksThatHaveNotBegun) {
    json suite = plain();
    StopAfter stopping(3);
    const auto stopped = take(studies::runSuite(take(read(suite)), *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    const std::string before = take(readTextFile(folder / "own.jsonl"));
    writeBytes(folder / "own.jsonl", jsonLines({bakery(), bakery("x"), bakery("z")}));
    const auto changed = studies::resumeSuite(stopped.runId, *store, observer, {});
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, ErrorCode::BadInput);
    EXPECT_THAT(changed.error().message, HasSubstr("benchmark 2 ('own')"));
    EXPECT_EQ(take(store->reader().run(stopped.runId)).state, store::RunState::Stopped);
    writeBytes(folder / "own.jsonl", before);
    EXPECT_EQ(take(studies::resumeSuite(stopped.runId, *store, observer, {})).result["state"], "finished");
    suite["data_hashes"] = json::array();
    refused(suite, {"suite.json", "'data_hashes'"});
}

TEST_F(SuiteTest, OtherExamsOfTheGuardrailAreRefusedOnResuming) {
    std::filesystem::copy(*mmluTask(1).data, folder / "exams", std::filesystem::copy_options::recursive);
    json suite = plain();
    suite["guardrail"] = 2;
    suite["guardrail_mmlu"] = "exams";
    StopAfter stopping(3);
    const auto stopped = take(studies::runSuite(take(read(suite)), *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    EXPECT_EQ(take(studies::suiteFromJson(stopped.result["settings"])).guardrailHashes.size(), 1u);
    // A character of the questions.
    std::map<std::filesystem::path, std::string> before;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "exams")) {
        if (!entry.is_regular_file() || entry.path().extension() != ".csv") continue;
        const std::string text = before[entry.path()] = take(readTextFile(entry.path()));
        std::string other = text;
        const auto behindHeading = static_cast<std::ptrdiff_t>(other.find('\n'));
        std::replace(other.begin() + behindHeading, other.end(), 'e', 'i');
        writeBytes(entry.path(), other);
    }
    ASSERT_FALSE(before.empty());
    const auto changed = studies::resumeSuite(stopped.runId, *store, observer, {});
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, ErrorCode::BadInput);
    EXPECT_THAT(changed.error().message, AllOf(HasSubstr("'guardrail_mmlu'"), HasSubstr("have changed")));
    EXPECT_EQ(take(store->reader().run(stopped.runId)).state, store::RunState::Stopped);
    for (const auto& [path, text] : before) writeBytes(path, text);
    EXPECT_EQ(take(studies::resumeSuite(stopped.runId, *store, observer, {})).result["state"], "finished");
    suite["guardrail_hashes"] = json::object();
    refused(suite, {"suite.json", "'guardrail_hashes'"});
}

TEST_F(SuiteTest, AnotherModelIsRefusedOnResuming) {
    const auto settings = take(read(plain()));
    StopAfter stopping(3);
    const auto stopped = take(studies::runSuite(settings, *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    TinyModelSpec other = withContext(1024);
    other.seed = 2;
    writeHuggingFaceFolder(makeTinyModel(other), folder.model());
    const auto resumed = studies::resumeSuite(stopped.runId, *store, observer, {});
    ASSERT_FALSE(resumed);
    EXPECT_EQ(resumed.error().code, ErrorCode::BadInput);
    EXPECT_THAT(resumed.error().message, HasSubstr("weights"));
}

}  // namespace
}  // namespace lpes::test
