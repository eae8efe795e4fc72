#include <filesystem>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class FrontVerbs : public RunVerbs {
  protected:
    [[nodiscard]] Finished pick(const std::string& what, const std::string& number) const {
        return run(
            {"export", what, "--pick", number, "--to", "json", "--out", file("picked.json"), "--db", database()});
    }
};

TEST_F(FrontVerbs, ASearchWithObjectivesPrintsItsFrontAndExportPicksFromIt) {
    std::vector<std::string> arguments = search({"--objectives", "ends,middle"});
    std::erase(arguments, "--json");
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, AllOf(HasSubstr("Pareto front"), HasSubstr("hypervolume"), HasSubstr("held out: middle"),
                                HasSubstr("picked"), HasSubstr("--pick N")));
    const json result = run({"db", "show", "last", "--db", database(), "--json"}).json()["result"];
    const json& front = result["front"];
    ASSERT_FALSE(front.empty());
    EXPECT_EQ(result["settings"]["objectives"]["value"], "middle,ends");
    for (const json& member : front) {
        const Finished picked = pick("run:last", member["number"].dump());
        ASSERT_EQ(picked.code, 0) << picked.err;
        EXPECT_EQ(json::parse(readBytes(file("picked.json")))["scales"], member["scales"]);
    }
    const Finished beyond = pick("run:last", std::to_string(front.size() + 1));
    EXPECT_EQ(beyond.code, 2);
    EXPECT_THAT(beyond.err, HasSubstr("is no member of the front"));
    std::filesystem::copy_file(file("picked.json"), file("copy.json"));
    const Finished ofFile = pick(file("copy.json"), "1");
    EXPECT_EQ(ofFile.code, 2);
    EXPECT_THAT(ofFile.err, HasSubstr("name run:N"));
}

TEST_F(FrontVerbs, WhatDoesNotGoWithObjectivesIsRefusedByName) {
    const Finished racing = run(search({"--objectives", "middle,ends", "--racing", "0.05"}));
    EXPECT_EQ(racing.code, 2);
    EXPECT_THAT(racing.err, AllOf(HasSubstr("--racing"), HasSubstr("--objectives")));
    const Finished target = run(search({"--objectives", "middle,ends", "--target", "-1"}));
    EXPECT_EQ(target.code, 2);
    EXPECT_THAT(target.err, AllOf(HasSubstr("--target"), HasSubstr("--objectives")));
    const Finished one = run(search({"--objectives", "middle"}));
    EXPECT_EQ(one.code, 2);
    EXPECT_THAT(one.err, HasSubstr("fewer than two"));
    const Finished none = run(search({"--guardrail", "0", "--guardrail-limit", "5"}));
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("--guardrail-limit"));
}

TEST_F(FrontVerbs, AnOptionThatTheOptimizerDoesNotLookAtIsRefusedByName) {
    const auto refused = [](std::vector<std::string> arguments) {
        for (const char* word : {"--model", "/nonexistent/model", "--task", "kv", "--dry-run"})
            arguments.push_back(word);
        const Finished done = run(arguments);
        return done.code == 2 ? done.err : std::to_string(done.code);
    };
    EXPECT_THAT(
        refused({"search", "--optimizer", "gradient", "--refine", "2"}),
        HasSubstr("--refine has no effect with --optimizer gradient; leave it out, or give --optimizer genetic"));
    EXPECT_THAT(refused({"search", "--gradient-steps", "3"}), HasSubstr("--gradient-steps has no effect"));
    EXPECT_THAT(refused({"search", "--optimizer", "cma-es", "--max-dx", "0.1"}), HasSubstr("--max-dx has no effect"));
    EXPECT_EQ(refused({"search", "--refine", "2", "--gradient-steps", "3"}), "3") << "the model is what is missing";
    EXPECT_THAT(
        refused({"search", "--optimizer", "gradient", "--population", "12"}),
        HasSubstr("--population has no effect with --optimizer gradient; leave it out, or give --gradient-starts"));
    EXPECT_EQ(refused({"search", "--optimizer", "gradient", "--population", "12", "--racing", "0.05"}), "3");
    for (const char* delta : {"0.01", "noise"}) {
        EXPECT_THAT(refused({"search", "--min-delta", delta}),
                    HasSubstr("--min-delta has no effect without --patience; leave it out, or give --patience"));
        EXPECT_EQ(refused({"search", "--min-delta", delta, "--patience", "2"}), "3");
    }
    EXPECT_EQ(refused({"study", "convergence", "--values", "genetic,gradient", "--population", "12"}), "3");
    EXPECT_THAT(refused({"study", "curves", "--gradient-rate", "0.2"}), HasSubstr("--gradient-rate has no effect"));
    EXPECT_EQ(refused({"study", "convergence", "--values", "genetic,gradient", "--gradient-rate", "0.2"}), "3")
        << "one of them descends";
}

TEST_F(FrontVerbs, WhatTestsItemsDoesNotGoWithAPenaltyOnTheGap) {
    for (const auto& [option, value] : {std::pair("--racing", "0.05"), std::pair("--min-delta", "noise")}) {
        const Finished done = run({"search", "--model", "/nonexistent/model", "--task", "kv", option, value,
                                   "--patience", "2", "--gap-penalty", "0.5", "--dry-run"});
        EXPECT_EQ(done.code, 2) << done.err;
        EXPECT_THAT(done.err, AllOf(HasSubstr(option), HasSubstr("--gap-penalty")));
    }
}

}  // namespace
}  // namespace lpes::test
