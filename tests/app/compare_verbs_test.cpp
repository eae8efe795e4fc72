#include <algorithm>
#include <csignal>
#include <iterator>
#include <sstream>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMethods = "baseline;pi:1.1;ntk:1.1;yarn:2;uniform:1.05;ms-poe:min=1.0,max=1.1;attention-buckets";

class CompareVerbs : public RunVerbs {};

TEST_F(CompareVerbs, PrintsEveryMethodWithItsCostAndItsTest) {
    const Finished done = run(task("compare", {"--limit", "3", "--methods", kMethods}));
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    ASSERT_TRUE(result.is_object()) << done.out;
    ASSERT_EQ(result["methods"].size(), 7u);
    for (const json& method : result["methods"]) {
        for (const char* key : {"method", "positions", "mean_accuracy", "gap", "seconds", "tokens_per_second",
                                "peak_bytes", "passes", "p_value_vs_first"}) {
            EXPECT_TRUE(method.contains(key)) << key;
        }
    }
    EXPECT_EQ(result["methods"][3]["method"], "yarn:2");
    EXPECT_EQ(result["settings"]["methods"]["origin"], "flag");
}

TEST_F(CompareVerbs, TheTableHasARowPerMethodAndNoEscapes) {
    std::vector<std::string> arguments = task("compare", {"--limit", "2", "--methods", "baseline; pi:1.5"});
    std::erase(arguments, "--json");
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, AllOf(HasSubstr("baseline"), HasSubstr("pi:1.5"), HasSubstr("answer NLL"),
                                HasSubstr("peak memory"), Not(HasSubstr("\033"))));
    EXPECT_THAT(done.out,
                AllOf(HasSubstr("accuracy [95 %]"), HasSubstr("against the first"),
                      HasSubstr("–: no p value below 10 items"), HasSubstr("No interval of a time below 6 pairs")));
    EXPECT_THAT(done.err, HasSubstr(" methods=baseline;pi:1.5"));
}

TEST_F(CompareVerbs, TablesStayNarrowAndSayHowTheirTestsAreAdjusted) {
    std::vector<std::string> arguments =
        task("compare", {"--limit", "10", "--positions", "#0,#1,#2,#3,#4,#5,#6", "--methods", "baseline;pi:1.5;ntk:2"});
    *std::next(std::ranges::find(arguments, "--pairs")) = "7";
    std::erase(arguments, "--json");
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, AllOf(HasSubstr("McNemar p"), HasSubstr("Adjusted by Holm's method over 2 methods"),
                                HasSubstr(" by Holm over 2 tests")));
    std::istringstream lines(done.out);
    int blocks = 0;
    for (std::string line; std::getline(lines, line) && !line.starts_with("against the first");) {
        blocks += line.starts_with("accuracy [95 %]") ? 1 : 0;
        if (blocks == 0) continue;
        const auto columns = std::ranges::count_if(line, [](unsigned char c) { return (c & 0xC0u) != 0x80u; });
        EXPECT_LE(columns, 120) << line;
    }
    EXPECT_GE(blocks, 2) << "what is too wide goes on below";
}

TEST_F(CompareVerbs, SaysWhichBasesAreSearchedAndWhichWereFound) {
    std::vector<std::string> arguments =
        task("compare", {"--limit", "1", "--guardrail", "0", "--methods", "baseline;attention-buckets:bases=search/2"});
    std::erase(arguments, "--json");
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("bases=search tries 41 bases from 1 to 3 times the model's own in steps of 0.05"));
    EXPECT_THAT(done.out, HasSubstr("attention-buckets:bases=search/2: Bases: those that a greedy search for 2 found"));
}

TEST_F(CompareVerbs, SpellingsAreCheckedBeforeTheModelIsLoadedOrAnythingIsStored) {
    const auto code = [&](const char* methods) {
        const Finished done = run(task("compare", {"--methods", methods}));
        EXPECT_TRUE(done.out.empty());
        return done.code;
    };
    EXPECT_EQ(code("baseline"), 2);
    EXPECT_EQ(code("baseline;;pi:2"), 2);
    EXPECT_EQ(code("baseline;baseline"), 2);
    EXPECT_EQ(code("baseline;pie:2"), 2);
    EXPECT_EQ(code("baseline;moice:nowhere.safetensors"), 3);
    EXPECT_EQ(run(task("compare")).code, 2) << "--methods is missing";
}

TEST_F(CompareVerbs, AStoppedComparisonIsResumedByItsNumber) {
    Program program(
        {task("compare", {"--limit", "200", "--methods", "baseline;attention-buckets", "--progress", "json"}), {}, {}});
    ASSERT_TRUE(
        program.waitForError([](const std::string& seen) { return seen.find("comparing") != std::string::npos; }));
    program.send(SIGINT);
    const Finished stopped = program.finish();
    ASSERT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("lpes resume 1"));
    EXPECT_EQ(stopped.json()["items_planned"], 200);
    const Finished resumed = run({"resume", "1", "--db", database(), "--json"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.json()["state"], "finished");
    EXPECT_EQ(resumed.json()["methods"][1]["items"], 200);
    EXPECT_EQ(run({"resume", "1", "--db", database()}).code, 2) << "it is finished";
}

TEST_F(CompareVerbs, BenchPrintsARowPerMethodAndLength) {
    const Finished done =
        run({"bench", "--model", model(), "--dtype", "float32", "--threads-per-worker", "1", "--lengths", "16,32",
             "--new-tokens", "2", "--seconds", "0.01", "--methods", "baseline;uniform:1.3;ms-poe", "--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    ASSERT_EQ(result["rows"].size(), 6u);
    for (const json& row : result["rows"]) {
        for (const char* key : {"method", "length", "dtype", "prefill_seconds", "prefill_tokens_per_second",
                                "decode_tokens_per_second", "peak_bytes"}) {
            EXPECT_TRUE(row.contains(key)) << key;
        }
    }
    EXPECT_EQ(result["rows"][2]["published_ratio"], 1.45);
    EXPECT_EQ(result["rows"][1]["published_ratio"], nullptr);
    EXPECT_EQ(result["rows"][1]["ratio_to_lpes"]["ratio"], 1.0);
    EXPECT_GT(result["rows"][2]["ratio_to_lpes"]["ratio"], 0.0);
    EXPECT_EQ(result["threads"], 1);
    for (const char* unused : {"batch_size", "batch_tokens", "share_prefixes"})
        EXPECT_FALSE(result["settings"].contains(unused)) << unused;
    const Finished text = run({"bench", "--model", model(), "--dtype", "float32", "--threads-per-worker", "1",
                               "--lengths", "16", "--new-tokens", "2", "--seconds", "0.001", "--methods", "ms-poe"});
    EXPECT_THAT(text.out, AllOf(HasSubstr("both / LPES"), HasSubstr("published / LPES"), HasSubstr("1.45"),
                                HasSubstr("with lpes:FILE or uniform:S among the methods")));
    EXPECT_EQ(run({"bench", "--model", model(), "--lengths", "16,x"}).code, 2);
    EXPECT_EQ(run({"bench", "--model", model(), "--lengths", "5000"}).code, 3) << "beyond the context";
    EXPECT_EQ(run({"bench", "--model", model(), "--methods", "pi:0"}).code, 2);
    for (const char* option : {"--batch-size", "--batch-tokens", "--share-prefixes"})
        EXPECT_EQ(run({"bench", "--model", model(), option, "1"}).code, 2)
            << option << " is for passes of several prompts";
}

}  // namespace
}  // namespace lpes::test
