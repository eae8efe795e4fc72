#include <signal.h>

#include <chrono>
#include <filesystem>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SuiteVerb : public RunVerbs {
  protected:
    [[nodiscard]] json small() const {
        return {{"format", "lpes-suite"},
                {"version", 1},
                {"name", "small"},
                {"model", model()},
                {"dtype", "float32"},
                {"threads_per_worker", 1},
                {"methods", {"baseline", "uniform:1.5"}},
                {"limit", 3},
                {"guardrail", 0},
                {"benchmarks",
                 {{{"label", "four"}, {"task", "kv"}, {"keys", "hex:4"}, {"pairs", 4}},
                  {{"label", "five"}, {"task", "kv"}, {"keys", "hex:4"}, {"pairs", 5}, {"positions", "begin,end"}}}}};
    }
    [[nodiscard]] std::string written(const json& suite) const {
        writeBytes(file("suite.json"), suite.dump());
        return file("suite.json");
    }
    [[nodiscard]] Finished suite(const json& content, std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments{"suite", written(content), "--db", database()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    }
};

json withoutTime(json result) {
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

TEST_F(SuiteVerb, PrintsOneObjectWithThePapersTable) {
    const Finished done = suite(small(), {"--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    ASSERT_TRUE(result.is_object()) << done.out;
    for (const char* key :
         {"run_id", "state", "suite", "model", "failed", "table", "benchmarks", "seconds", "settings"}) {
        EXPECT_TRUE(result.contains(key)) << key;
    }
    EXPECT_EQ(result["table"]["benchmarks"], (json{"four", "five"}));
    EXPECT_EQ(result["table"]["rows"].size(), 2u);
    EXPECT_EQ(result["settings"]["methods"]["origin"], "file");
    EXPECT_EQ(result["settings"]["seed"]["origin"], "default");
    const json listed = run({"db", "list", "--db", database(), "--json"}).json();
    EXPECT_EQ(listed["runs"].size(), 3u) << "the suite and its benchmarks";
}

TEST_F(SuiteVerb, PrintsTablesInPercent) {
    const Finished done = suite(small());
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, AllOf(HasSubstr("mean accuracy, % [95 %]"), HasSubstr("average"), HasSubstr("== four =="),
                                HasSubstr("== five =="), Not(HasSubstr("\033"))));
    EXPECT_THAT(done.err, HasSubstr("settings (file)"));
}

TEST_F(SuiteVerb, WritesItsReportWhereItIsToldTo) {
    const Finished done = suite(small(), {"--out", file("suite.html")});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("Report: " + file("suite.html")));
    const std::string page = readBytes(file("suite.html"));
    EXPECT_THAT(page, AllOf(HasSubstr("<html"), HasSubstr("uniform:1.5"), HasSubstr("four"), HasSubstr("five")));
    const Finished refused = suite(small(), {"--out", file("suite.txt")});
    EXPECT_EQ(refused.code, 2) << "before anything is run";
    EXPECT_THAT(refused.err, HasSubstr(".html"));
}

TEST_F(SuiteVerb, OptionsWinOverTheFile) {
    json content = small();
    content["dtype"] = "bfloat16";
    const Finished done = suite(content, {"--dtype", "float32", "--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.json()["settings"]["dtype"]["value"], "float32");
    EXPECT_EQ(done.json()["settings"]["dtype"]["origin"], "flag");
}

TEST_F(SuiteVerb, FaultsAreRefusedWithFileAndKeyAndNothingIsStored) {
    const auto refused = [&](const auto& change, int code, const char* part) {
        json content = small();
        change(content);
        const Finished done = suite(content);
        EXPECT_EQ(done.code, code) << done.err;
        EXPECT_THAT(done.err, HasSubstr(part));
        EXPECT_EQ(done.out, "");
    };
    refused([](json& s) { s["benchmarks"] = json::array(); }, 3, "\"benchmarks\"");
    refused([](json& s) { s.erase("methods"); }, 3, "\"methods\"");
    refused([](json& s) { s["bencmarks"] = 1; }, 3, "bencmarks");
    refused([](json& s) { s["benchmarks"][1]["pair"] = 1; }, 3, "benchmark 2");
    refused([](json& s) { s["benchmarks"][1]["task"] = "kvv"; }, 3, "suite.json: benchmark 2");
    refused(
        [](json& s) {
            s["benchmarks"][1]["data"] = "none.jsonl";
            s["benchmarks"][1].erase("keys");
        },
        3, "none.jsonl");
    refused([](json& s) { s["methods"] = {"pie"}; }, 3, "suite.json: \"methods\"");
    refused([](json& s) { s.erase("model"); }, 2, "--model");
    EXPECT_EQ(run({"suite", file("nowhere.json"), "--db", database()}).code, 3);
    EXPECT_EQ(run({"suite", m_folder.path().string(), "--db", database()}).code, 3);
    EXPECT_EQ(run({"suite"}).code, 2);
    writeBytes(file("empty.json"), "");
    EXPECT_EQ(run({"suite", file("empty.json"), "--db", database()}).code, 3);
    const json listed = run({"db", "list", "--db", database(), "--json"}).json();
    EXPECT_TRUE(!listed.is_object() || listed["runs"].empty());
}

/// Long enough to be stopped on its way.
json longer(json content) {
    content["limit"] = 60;
    content["methods"] = {"baseline", "uniform:1.5", "yarn:2"};
    return content;
}

TEST_F(SuiteVerb, AStopIsAnsweredWithinASecondAndResumedToTheSameResult) {
    const std::string name = written(longer(small()));
    const auto inSecond = [](const std::string& seen) {
        return seen.find("five (2 of 2): comparing") != std::string::npos;
    };
    for (const int signal : {SIGINT, SIGKILL}) {
        const std::string db = file("stopped" + std::to_string(signal) + ".db");
        Program program({{"suite", name, "--db", db, "--progress", "json", "--json"}, {}, {}});
        ASSERT_TRUE(program.waitForError(inSecond));
        const auto asked = std::chrono::steady_clock::now();
        program.send(signal);
        const Finished stopped = program.finish();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
        EXPECT_LT(took.count(), 3.0) << "a second, and time for a busy machine";
        EXPECT_EQ(stopped.code, signal == SIGKILL ? -SIGKILL : 130) << stopped.err;
        if (signal == SIGINT) {
            EXPECT_EQ(stopped.json()["state"], "stopped");
            EXPECT_THAT(stopped.err, HasSubstr("lpes resume 1 --db"));
        }
        const json listed = run({"db", "list", "--db", db, "--json"}).json();
        std::string state;
        for (const json& one : listed["runs"]) {
            if (one["run_id"] == 1) state = one["state"];
        }
        EXPECT_EQ(state, signal == SIGKILL ? "interrupted" : "stopped");
        const Finished resumed = run({"resume", "1", "--db", db, "--json"});
        ASSERT_EQ(resumed.code, 0) << resumed.err;
        const Finished whole = run({"suite", name, "--db", file("whole" + std::to_string(signal) + ".db"), "--json"});
        EXPECT_EQ(withoutTime(resumed.json()), withoutTime(whole.json()));
        EXPECT_EQ(run({"resume", "1", "--db", db}).code, 2) << "it is finished";
        EXPECT_EQ(run({"resume", "1", "--db", db, "--workers", "2"}).code, 2);
    }
}

}  // namespace
}  // namespace lpes::test
