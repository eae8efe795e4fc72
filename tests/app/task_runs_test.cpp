// Evaluations and comparisons of tasks beyond key-value retrieval, as a user runs them.

#include <signal.h>

#include <chrono>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A model whose context holds an examination.
class TaskRuns : public RunVerbs {
  protected:
    static void SetUpTestSuite() {
        RunVerbs::SetUpTestSuite();
        TinyModelSpec spec;
        spec.contextLength = 2048;
        writeHuggingFaceFolder(makeTinyModel(spec), *s_models / "wide");
    }
    [[nodiscard]] std::vector<std::string> with(const std::string& verb, std::vector<std::string> more) const {
        std::vector<std::string> arguments{verb,      "--model", (*s_models / "wide").string(),
                                           "--dtype", "float32", "--threads-per-worker",
                                           "1",       "--db",    database()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    [[nodiscard]] std::vector<std::string> mmlu(const std::string& verb, std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = with(verb, {"--task", "mmlu", "--data", LPES_TEST_DATA "/data/mmlu"});
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
};

TEST_F(TaskRuns, EvalOfAnExaminationHasTheDocumentedKeys) {
    const Finished done = run(mmlu("eval", {"--shots", "1", "--json"}));
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    for (const char* key : {"run_id", "state", "data", "template_hash", "score", "bias", "groups", "lengths",
                            "agreement", "noise", "notes", "searched_on", "positions", "mean_accuracy"}) {
        EXPECT_TRUE(result.contains(key)) << key;
    }
    EXPECT_EQ(result["score"], "choice");
    EXPECT_EQ(result["positions"].size(), 1u);
    EXPECT_EQ(result["settings"]["shots"]["value"], 1);
    EXPECT_EQ(result["settings"]["shots"]["origin"], "flag");
    EXPECT_EQ(result["settings"]["positions"]["value"], nullptr);
    const Finished text = run(mmlu("eval", {"--shots", "1"}));
    EXPECT_THAT(text.out, AllOf(HasSubstr("as given"), HasSubstr("formal_logic"), Not(HasSubstr("\033"))));
}

TEST_F(TaskRuns, ComparisonsSayWhatTheBenchmarkLeftOutAsEvaluationsDo) {
    TinyModelSpec spec;
    spec.contextLength = 700;
    writeHuggingFaceFolder(makeTinyModel(spec), *s_models / "narrow");
    std::vector<std::string> arguments =
        mmlu("compare", {"--shots", "5", "--methods", "baseline;uniform:1.5", "--guardrail", "0"});
    arguments[2] = (*s_models / "narrow").string();
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, testing::ContainsRegex("[0-9]+ items: .*of 5"));
}

TEST_F(TaskRuns, ComparisonsPrintGroupsLengthsAndBothScoringsAsEvaluationsDo) {
    std::string lines;
    for (int item = 0; item < 4; ++item) {
        lines += json{{"group", item % 2 == 0 ? "ships" : "shops"},
                      {"documents", {"First " + std::string(item < 2 ? 10 : 650, 'x'), "second"}},
                      {"gold", 1},
                      {"question", "Which?"},
                      {"answers", {"this"}},
                      {"max_new_tokens", 2}}
                     .dump() +
                 "\n";
    }
    writeBytes(file("mine.jsonl"), lines);
    const auto compare = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"--task", "jsonl", "--data", file("mine.jsonl"), "--methods", "baseline;pi:1.5",
                                   "--positions", "begin,end", "--guardrail", "0"});
        const Finished done = run(with("compare", more));
        EXPECT_EQ(done.code, 0) << done.err;
        return done.out;
    };
    const std::string text = compare({"--score", "generate"});
    EXPECT_THAT(text,
                testing::ContainsRegex("accuracy \\[95 %\\] by group +n +baseline +pi:1.5\nships +4 .*\nshops +4 "));
    EXPECT_THAT(text, testing::ContainsRegex("by prompt tokens +n +baseline +pi:1.5\n0 – 511 +4 .*\n512 – 1023 +4 "));
    EXPECT_THAT(text, testing::ContainsRegex("both kinds of scoring .*kappa.*\nbaseline +8 .*\npi:1.5 +8 "));
    const std::string plain = compare({"--score", "strict", "--limit", "1"});
    EXPECT_THAT(plain, AllOf(Not(HasSubstr("by group")), Not(HasSubstr("by prompt tokens")),
                             Not(HasSubstr("both kinds of scoring"))));
}

TEST_F(TaskRuns, NothingIsStoredOfARefusedOne) {
    const auto refused = [&](const std::vector<std::string>& arguments, int code, const char* part) {
        const Finished done = run(arguments);
        EXPECT_EQ(done.code, code) << done.err;
        EXPECT_THAT(done.err, HasSubstr(part));
        EXPECT_EQ(done.out, "");
    };
    refused(mmlu("eval", {"--positions", "begin"}), 2, "--positions");
    refused(mmlu("eval", {"--pairs", "5"}), 2, "--pairs");
    refused(mmlu("eval", {"--docs", "5"}), 2, "--docs");
    refused(mmlu("eval", {"--score", "generate"}), 2, "--score choice");
    refused(mmlu("eval", {"--agreement", "3"}), 2, "--agreement");
    refused(mmlu("eval", {"--shots", "-1"}), 2, "--shots");
    refused(mmlu("eval", {"--shots", "2147483647"}), 2, "2147483647 shots");
    refused(mmlu("eval", {"--chat", "llama-3"}), 4, "start_header_id");
    refused(mmlu("eval", {"--repeats", "0"}), 2, "--repeats");
    refused(mmlu("compare", {"--methods", "baseline;pi:2", "--guardrail-ceval", file("none")}), 3, "none");
    refused(with("eval", {"--task", "kv", "--keys", "hex:4", "--score", "choice"}), 2, "choices");
    refused(with("eval", {"--task", "kv", "--shots", "3"}), 2, "--shots");
    refused(with("eval", {"--task", "leval:quality"}), 2, "--data");
    refused(with("eval", {"--task", "leval:nothing", "--data", file("x")}), 2, "leval:nothing");
    refused(with("eval", {"--task", "niah", "--length", "63"}), 2, "--length");
    refused(with("eval", {"--task", "niah", "--haystack", "essay"}), 2, "--data");
    const json listed = run({"db", "list", "--db", database(), "--json"}).json();
    EXPECT_TRUE(!listed.is_object() || listed["runs"].empty());
}

TEST_F(TaskRuns, NeedlesAreMadeForTheModelsTokenizer) {
    const Finished done = run(with("eval", {"--task", "niah", "--length", "900", "--limit", "2", "--positions",
                                            "begin,end", "--score", "strict", "--json"}));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.json()["items"], 2);
}

TEST_F(TaskRuns, AStopIsAnsweredWithinASecondAndTheRestIsStored) {
    std::string lines;
    for (int item = 0; item < 300; ++item) {
        lines += json{{"documents", {"First " + std::to_string(item), "second", "third"}},
                      {"gold", 1},
                      {"question", "Which?"},
                      {"answers", {"this"}},
                      {"max_new_tokens", 64}}
                     .dump() +
                 "\n";
    }
    writeBytes(file("many.jsonl"), lines);
    Program program(
        {with("eval", {"--task", "jsonl", "--data", file("many.jsonl"), "--progress", "json", "--json"}), {}, {}});
    ASSERT_TRUE(program.waitForError(
        [](const std::string& seen) { return seen.find("\"stage\":\"evaluating") != std::string::npos; }));
    const auto asked = std::chrono::steady_clock::now();
    program.send(SIGTERM);
    const Finished done = program.finish();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
    EXPECT_EQ(done.code, 130) << done.err;
    // A second is the promise; the rest is for machines that are busy with other tests.
    EXPECT_LT(took.count(), 3.0);
    EXPECT_EQ(done.json()["state"], "stopped");
    EXPECT_LT(done.json()["items"], 300);
}

}  // namespace
}  // namespace lpes::test
