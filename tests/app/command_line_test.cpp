#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/version.h"
#include "tests/app/program.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kVerbs{"inspect", "tokenize", "score",     "generate", "eval",   "search",
                                      "resume",  "attn",     "deviation", "profile",  "export", "import",
                                      "plot",    "report",   "db",        "task",     "suite"};

TEST(CommandLine, VersionNamesProgramAndLibTorch) {
    const Finished done = run({"--version"});
    EXPECT_EQ(done.code, 0);
    EXPECT_THAT(done.out, HasSubstr(std::string("lpes ") + kVersion));
    EXPECT_THAT(done.out, HasSubstr("LibTorch "));
    EXPECT_EQ(done.err, "");
}

TEST(CommandLine, HelpListsEveryVerb) {
    const Finished done = run({"--help"});
    EXPECT_EQ(done.code, 0);
    for (const std::string& verb : kVerbs) EXPECT_THAT(done.out, HasSubstr("\n  " + verb));
    EXPECT_EQ(done.err, "");
}

TEST(CommandLine, EveryVerbHasHelpOnStandardOutput) {
    for (const std::string& verb : kVerbs) {
        const Finished done = run({verb, "--help"});
        EXPECT_EQ(done.code, 0) << verb;
        EXPECT_THAT(done.out, HasSubstr("--help")) << verb;
        EXPECT_EQ(done.err, "") << verb;
    }
}

TEST(CommandLine, SearchHelpShowsOptionsWithTheirDefaults) {
    const Finished done = run({"search", "--help"});
    for (const char* option : {"--model",
                               "--task",
                               "--data",
                               "--seed",
                               "--population",
                               "--max-generations",
                               "--max-evals",
                               "--time-limit",
                               "--patience",
                               "--target",
                               "--min-delta",
                               "--curve",
                               "--points",
                               "--optimizer",
                               "--search-items",
                               "--select-items",
                               "--report-items",
                               "--weights",
                               "--gap-penalty",
                               "--scale-min",
                               "--scale-max",
                               "--grid-step",
                               "--mutation-rate",
                               "--max-dx",
                               "--max-dy",
                               "--score",
                               "--workers",
                               "--threads-per-worker",
                               "--device",
                               "--batch-size",
                               "--out",
                               "--dry-run",
                               "--db",
                               "--json",
                               "--progress"}) {
        EXPECT_THAT(done.out, HasSubstr(option));
    }
    EXPECT_THAT(done.out, HasSubstr("[0.3]"));
    EXPECT_THAT(done.out, HasSubstr("none: no rounding"));
}

TEST(CommandLine, WithoutVerbIsAUsageError) {
    const Finished done = run(std::vector<std::string>{});
    EXPECT_EQ(done.code, 2);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr("inspect"));
}

TEST(CommandLine, UnknownVerbAndOptionAreUsageErrorsByName) {
    const Finished verb = run({"serach"});
    EXPECT_EQ(verb.code, 2);
    EXPECT_THAT(verb.err, HasSubstr("serach"));
    const Finished option = run({"search", "--populatoin", "3"});
    EXPECT_EQ(option.code, 2);
    EXPECT_THAT(option.err, HasSubstr("--populatoin"));
    EXPECT_EQ(option.out, "");
    const Finished prefix = run({"search", "--popul", "3"});
    EXPECT_EQ(prefix.code, 2);
}

TEST(CommandLine, VerbsThatThisVersionLacksAreRefusedByName) {
    for (const char* verb : {"lens", "rope", "transfer", "doctor"}) {
        const Finished done = run({verb, "--model", "demo"});
        EXPECT_EQ(done.code, 4) << verb;
        EXPECT_THAT(done.err, HasSubstr(std::string("'") + verb + "' is not available in this version"));
    }
    for (const char* part : {"check", "backup", "export", "vacuum"}) {
        const Finished done = run({"db", part, "--out", "x"});
        EXPECT_EQ(done.code, 4) << part;
        EXPECT_THAT(done.err, HasSubstr(std::string("'db ") + part + "' is not available in this version"));
    }
}

TEST(CommandLine, ArgumentThatIsNoUtf8IsAUsageError) {
    const Finished done = run({"inspect", "model\xff"});
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err, HasSubstr("UTF-8"));
}

TEST(CommandLine, OptionGivenTwiceIsAUsageError) {
    EXPECT_EQ(run({"search", "--model", "a", "--model", "b"}).code, 2);
}

TEST(CommandLine, NumbersAreReadWholeAndCheckedForRange) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"--population", "12abc"},  {"--population", ""},
        {"--population", " 12"},    {"--population", "3"},
        {"--population", "1e2"},    {"--population", "99999999999999999999"},
        {"--seed", "-1"},           {"--seed", "18446744073709551616"},
        {"--min-delta", "nan"},     {"--min-delta", "inf"},
        {"--min-delta", "1e999"},   {"--min-delta", "0,5"},
        {"--mutation-rate", "1.5"}, {"--time-limit", "-3"},
        {"--batch-size", "0"},      {"--grid-step", "0"},
        {"--grid-step", "fine"},    {"--weights", "1,,2"},
        {"--workers", "two"},       {"--threads-per-worker", "0"},
        {"--patience", "0.5"},      {"--limit", "0"},
        {"--target", "high"}};
    for (const auto& [option, value] : wrong) {
        const Finished done = run({"search", "--model", "/nonexistent/model", "--task", "kv", option, value});
        EXPECT_EQ(done.code, 2) << option << " '" << value << "': " << done.err;
        EXPECT_THAT(done.err, HasSubstr(option)) << value;
        EXPECT_EQ(done.out, "");
    }
}

TEST(CommandLine, AutoMeansUnset) {
    for (const char* option :
         {"--max-evals", "--time-limit", "--target", "--patience", "--batch-size", "--threads-per-worker", "--pairs",
          "--limit", "--report-items", "--grid-step", "--weights"}) {
        const Finished done =
            run({"search", "--model", "/nonexistent/model", "--task", "kv", option, "auto", "--dry-run"});
        EXPECT_EQ(done.code, 3) << option << ": " << done.err;  // the option is fine, the model is not
    }
}

TEST(CommandLine, WhatIsNotSupportedIsRefusedByName) {
    const std::vector<std::vector<std::string>> refused{
        {"export", "p.json", "--to", "transformers"},
        {"export", "p.json", "--to", "vllm"},
        {"export", "p.json", "--to", "llama.cpp"},
        {"report", "1", "--out", "a.pdf"},
    };
    for (const auto& arguments : refused) {
        const Finished done = run(arguments);
        EXPECT_EQ(done.code, 4) << arguments[0] << " " << done.err;
        EXPECT_THAT(done.err, HasSubstr("not available in this version"));
    }
    EXPECT_EQ(run({"export", "p.json", "--to", "onnx"}).code, 2);
}

TEST(CommandLine, MissingTaskIsAUsageErrorThatNamesIt) {
    for (const char* verb : {"search", "eval", "attn"}) {
        const Finished done = run({verb, "--model", "some-model"});
        EXPECT_EQ(done.code, 2) << verb;
        EXPECT_THAT(done.err, HasSubstr("--task")) << verb;
    }
}

TEST(CommandLine, MissingModelIsAUsageErrorAndMissingFileABadInput) {
    const Finished none = run({"inspect"});
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("MODEL"));
    const Finished absent = run({"inspect", "/nonexistent/model"});
    EXPECT_EQ(absent.code, 3);
    EXPECT_THAT(absent.err, HasSubstr("/nonexistent/model"));
    const Finished demo = run({"inspect", "demo"});  // HOME of the tests is empty
    EXPECT_EQ(demo.code, 3);
    EXPECT_THAT(demo.err, HasSubstr("packaging/setup.sh"));
}

TEST(CommandLine, EnvironmentStandsInForTheModel) {
    Start start;
    start.arguments = {"inspect"};
    start.environment = {{"LPES_MODEL", "/nonexistent/from-environment"}};
    const Finished done = run(start);
    EXPECT_EQ(done.code, 3);
    EXPECT_THAT(done.err, HasSubstr("/nonexistent/from-environment"));
}

TEST(CommandLine, EffectiveSettingsNameTheirOrigin) {
    Start start;
    start.arguments = {"search", "--task", "kv", "--population", "6", "--dry-run"};
    start.environment = {{"LPES_MODEL", "/nonexistent/model"}, {"LPES_DTYPE", "float32"}};
    const Finished done = run(start);
    EXPECT_EQ(done.code, 3);
    EXPECT_THAT(done.err,
                testing::ContainsRegex("settings \\(environment\\):.* dtype=float32.* model=/nonexistent/model"));
    EXPECT_THAT(done.err, testing::ContainsRegex("settings \\(flag\\):.* population=6.* task=kv"));
    EXPECT_THAT(done.err, testing::ContainsRegex("settings \\(default\\):.* max_generations=12"));
}

TEST(CommandLine, DemoStudyIsTheBaseOfASearchWithoutTaskAndFlagsOverrideIt) {
    const Finished done = run({"search", "--model", "demo", "--population", "8", "--dry-run"});
    EXPECT_EQ(done.code, 3);  // no demo model in the tests' home
    EXPECT_THAT(done.err, testing::ContainsRegex("settings \\(demo study\\):.* keys=words.* max_generations=6"));
    EXPECT_THAT(done.err, testing::ContainsRegex("settings \\(flag\\):.* population=8"));
    EXPECT_THAT(done.err, Not(HasSubstr("population=12")));
}

TEST(CommandLine, WhatSharesNoWorkIsRefusedAsOneOfSeveralProcesses) {
    const TemporaryFolder folder;
    const std::string database = (folder / "runs.db").string();
    Start start;
    start.environment = {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}};
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"eval", "--task", "kv", "--db", database},
          {"compare", "--task", "kv", "--methods", "baseline;pi:2", "--db", database},
          {"bench"},
          {"suite", "/nonexistent/suite.json", "--db", database},
          {"study", "seeds", "--task", "kv", "--db", database},
          {"attn", "--task", "kv", "--db", database},
          {"deviation", "--task", "kv", "--profile", "p.json", "--db", database},
          {"train", "moice", "--text", "/nonexistent/text", "--out", (folder / "router").string()}}) {
        start.arguments = arguments;
        start.arguments.insert(start.arguments.end(), {"--model", "/nonexistent/model"});
        const Finished refused = run(start);
        EXPECT_EQ(refused.code, 4) << refused.err;
        EXPECT_THAT(refused.err, HasSubstr("mpirun started 2 processes, and each would do the whole of lpes " +
                                           arguments[0] + "; start it once, without mpirun"));
    }
    EXPECT_FALSE(std::filesystem::exists(database));
    start.arguments = {"eval", "--task", "kv", "--db", database, "--model", "/nonexistent/model"};
    start.environment = {{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}};
    EXPECT_EQ(run(start).code, 3) << "one process is alone, whoever started it";
    start.environment = {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}};
    EXPECT_THAT(run(start).err, HasSubstr("srun started 4 processes"));
    start.arguments = {"inspect", "/nonexistent/model"};
    EXPECT_EQ(run(start).code, 3) << "what takes a moment and writes nothing may be asked by all";
}

TEST(CommandLine, MissingDataBaseIsADatabaseError) {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"db", "list"},
                                                      {"db", "show", "1"},
                                                      {"resume", "last"},
                                                      {"plot", "1", "--kind", "curve", "--out", "/tmp/lpes-no.csv"}}) {
        std::vector<std::string> all = arguments;
        all.insert(all.end(), {"--db", "/nonexistent/lpes.db"});
        const Finished done = run(all);
        EXPECT_EQ(done.code, 6) << arguments[0] << ": " << done.err;
        EXPECT_THAT(done.err, HasSubstr("/nonexistent/lpes.db"));
    }
}

TEST(FieldReports, T31_VersionAndHelpNeedNoDisplay) {
    for (const char* option : {"--version", "--help"}) {
        Start start;
        start.arguments = {option};
        start.environment = {{"QT_QPA_PLATFORM", ""}};  // DISPLAY and WAYLAND_DISPLAY are unset in all of these tests
        EXPECT_EQ(run(start).code, 0);
    }
}

TEST(CommandLine, ClosedStandardOutputIsAnErrorAndNoCrash) {
    Start start;
    start.arguments = {"--help"};
    start.closeStandardOutput = true;
    const Finished done = run(start);
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.err, HasSubstr("standard output"));
}

}  // namespace
}  // namespace lpes::test
