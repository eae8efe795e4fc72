#include <SQLiteCpp/Database.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(RunVerbs, EvalPrintsAccuracyByPositionWithIntervals) {
    const Finished done = run(task("eval", {"--limit", "3", "--positions", "0,50,100"}));
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    ASSERT_TRUE(result.is_object()) << done.out;
    for (const char* key : {"run_id", "model", "method", "task", "score", "items", "skipped_too_long", "positions",
                            "mean_accuracy", "gap", "fitness", "seconds", "prompts_per_second", "settings"}) {
        EXPECT_TRUE(result.contains(key)) << key;
    }
    ASSERT_EQ(result["positions"].size(), 3u);
    EXPECT_EQ(result["positions"][1]["position"], "50");
    EXPECT_EQ(result["positions"][0]["n"], 3);
    EXPECT_LT(result["positions"][0]["ci_low"], result["positions"][0]["ci_high"]);
    EXPECT_EQ(result["settings"]["limit"]["value"], 3);
    EXPECT_EQ(result["settings"]["limit"]["origin"], "flag");
    EXPECT_EQ(result["settings"]["batch_size"]["origin"], "default");
}

TEST_F(RunVerbs, SettingsAreSaidAsTheirOptionsAreWrittenAndOnlyThoseOfTheTask) {
    const Finished done = run(task("eval", {"--limit", "1", "--chat", "none"}));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, AllOf(HasSubstr("settings (default):"), HasSubstr(" data=none"),
                                HasSubstr(" positions=begin,middle,end"), HasSubstr(" share_prefixes=on"),
                                HasSubstr(" item_seed=auto")));
    EXPECT_THAT(done.err, AllOf(HasSubstr("settings (flag): chat=none "), HasSubstr(" pairs=4")));
    for (const char* foreign : {"docs=", "shots=", "subjects=", "haystack=", " length=", "needle_", "part_of"})
        EXPECT_THAT(done.err, Not(HasSubstr(foreign)));
    EXPECT_TRUE(done.json()["settings"]["chat"]["value"].is_null());
}

TEST_F(RunVerbs, EvalOfItemsThatAreAllTooLongIsRefusedAndCutsNothing) {
    const Finished done = run(
        {"eval", "--model", model(), "--task", "kv", "--pairs", "40", "--limit", "2", "--db", database(), "--json"});
    EXPECT_EQ(done.code, 3) << done.err;
    EXPECT_THAT(done.err, HasSubstr("512"));
}

TEST_F(RunVerbs, TasksWithoutTheirDataAndUnknownOnes) {
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "mdqa", "--db", database()}).code, 2);
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "kv", "--docs", "20", "--db", database()}).code, 2);
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "kv", "--chat", "chattml", "--db", database()}).code, 2);
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "kv", "--chat", "gemma", "--db", database()}).code, 4);
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "kvv", "--db", database()}).code, 2);
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "kv", "--positions", "front", "--db", database()}).code, 2);
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "kv", "--score", "f1", "--db", database()}).code, 2);
    EXPECT_EQ(run({"eval", "--model", model(), "--task", "kv", "--data", file("no.jsonl"), "--db", database()}).code,
              3);
}

TEST_F(RunVerbs, ProgressComesAsJsonLinesOnStandardError) {
    const Finished done = run(task("eval", {"--limit", "3", "--progress", "json"}));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(done.json().is_object());
    std::istringstream lines(done.err);
    std::string line;
    int progress = 0;
    while (std::getline(lines, line)) {
        const json object = json::parse(line, nullptr, false);
        ASSERT_TRUE(object.is_object()) << line;
        if (object["type"] == "progress") ++progress;
    }
    EXPECT_GE(progress, 1);
}

TEST_F(RunVerbs, NothingButTheResultIsOnStandardOutputAndNoEscapesAnywhere) {
    std::vector<std::string> arguments = task("eval", {"--limit", "2", "--score", "nll"});
    arguments.erase(std::find(arguments.begin(), arguments.end(), "--json"));
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("accuracy"));
    EXPECT_THAT(done.out, HasSubstr("\nFitness by nll -"));
    EXPECT_THAT(done.out, HasSubstr("(begin -"));
    EXPECT_THAT(done.out, HasSubstr("): what a search with this score maximises (equal weights, no gap penalty)\n"));
    EXPECT_EQ(done.out.find('\033'), std::string::npos);
    EXPECT_EQ(done.err.find('\033'), std::string::npos);
}

TEST_F(RunVerbs, SearchPrintsOneObjectAndWritesTheProfile) {
    const Finished done = run(search({"--out", file("best.json")}));
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    ASSERT_TRUE(result.is_object()) << done.out;
    for (const char* key : {"run_id", "state", "seed", "generations", "evaluations", "cache_hits", "failed", "prompts",
                            "best", "history", "heldout", "seconds", "profile", "layers_reused", "prefixes_shared"}) {
        EXPECT_TRUE(result.contains(key)) << key;
    }
    EXPECT_EQ(result["state"], "finished");
    EXPECT_EQ(result["history"].size(), 3u);
    EXPECT_EQ(result["heldout"]["best"]["positions"].size(), 3u);
    const json profile = json::parse(readBytes(file("best.json")));
    EXPECT_EQ(profile["scales"], result["best"]["scales"]);
    EXPECT_EQ(run({"profile", "check", file("best.json"), "--model", model()}).code, 0);
}

TEST_F(RunVerbs, SameSeedSameHistory) {
    const json first = run(search()).json();
    const json second = run(search()).json();
    ASSERT_TRUE(first.is_object());
    EXPECT_EQ(first["history"], second["history"]);
    EXPECT_EQ(first["best"], second["best"]);
    const json two = run(search({"--workers", "2"})).json();
    EXPECT_EQ(two["history"], first["history"]);
    EXPECT_EQ(two["best"], first["best"]);
}

TEST_F(RunVerbs, LayersThatAreNotReusedLeadToTheSameHistory) {
    const json with = run(search()).json();
    const json without = run(search({"--reuse-layers", "off"})).json();
    ASSERT_TRUE(with.is_object() && without.is_object());
    EXPECT_EQ(without["history"], with["history"]);
    EXPECT_EQ(without["best"], with["best"]);
    EXPECT_TRUE(without["layers_reused"].is_null());
    EXPECT_EQ(without["settings"]["reuse_layers"]["value"], false);
    EXPECT_EQ(with["settings"]["reuse_memory"]["value"], 1024);
    std::vector<std::string> arguments = search();
    std::erase(arguments, "--json");
    EXPECT_THAT(run(arguments).out, AllOf(HasSubstr("Layers reused"), HasSubstr("\nPrefixes shared ")));
    EXPECT_TRUE(with["memo"].contains("evaluations_spared"));
    const Finished wrong = run(search({"--reuse-layers", "maybe"}));
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("--reuse-layers 'maybe'"));
}

TEST_F(RunVerbs, ASearchEndsWhenItsTargetIsReached) {
    const json result = run(search({"--target", "-100"})).json();
    ASSERT_TRUE(result.is_object());
    EXPECT_EQ(result["end_reason"], "target");
    EXPECT_EQ(result["history"].size(), 1u);
    EXPECT_EQ(result["settings"]["target"]["value"], -100.0);
}

TEST_F(RunVerbs, UnwritableProfileIsToldBeforeTheSearch) {
    const Finished done = run(search({"--out", "/nonexistent/best.json"}));
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.err, HasSubstr("/nonexistent/best.json"));
    EXPECT_FALSE(std::filesystem::exists(database()));
}

TEST_F(RunVerbs, AProfileIsNotWrittenOverWhatTheSearchReads) {
    writeBytes(file("kv.jsonl"), "{}\n");
    for (const std::string& out : {database(), model() + "/model.safetensors", file("kv.jsonl")}) {
        const Finished refused = run(search({"--data", file("kv.jsonl"), "--out", out}));
        EXPECT_EQ(refused.code, 2) << out << ": " << refused.err;
        EXPECT_THAT(refused.err, testing::AnyOf(HasSubstr("would destroy"), HasSubstr("nothing is replaced"))) << out;
    }
    EXPECT_EQ(readBytes(file("kv.jsonl")), "{}\n");
    EXPECT_FALSE(std::filesystem::exists(database())) << "refused before anything is opened";
}

TEST_F(RunVerbs, DryRunWritesNothing) {
    const Finished done = run(search({"--dry-run"}));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_GT(done.json()["prompts"], 0);
    for (const char* key : {"candidates", "tokens", "seconds", "stages", "memory", "calibration", "paper", "settings"})
        EXPECT_TRUE(done.json().contains(key)) << key;
    EXPECT_FALSE(std::filesystem::exists(database()));
}

TEST_F(RunVerbs, SeveralWorkersNeedTheirThreads) {
    const Finished done = run({"search", "--model", model(), "--task", "kv", "--workers", "2", "--db", database()});
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err, HasSubstr("--threads-per-worker"));
}

TEST_F(RunVerbs, FinishedRunCannotBeResumed) {
    ASSERT_EQ(run(search()).code, 0);
    const Finished done = run({"resume", "last", "--db", database()});
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err, HasSubstr("finished"));
    EXPECT_EQ(run({"resume", "99", "--db", database()}).code, 2);
    EXPECT_EQ(run({"resume", "two", "--db", database()}).code, 2);
}

TEST_F(RunVerbs, ResumeNamesEveryKindWhereNothingCanBeResumed) {
    ASSERT_EQ(run(task("eval", {"--limit", "2"})).code, 0);
    const Finished done = run({"resume", "last", "--db", database()});
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err,
                HasSubstr("holds no run that can be resumed: no search, comparison, suite, study or training"));
}

TEST_F(RunVerbs, DbListsAndShowsRuns) {
    ASSERT_EQ(run(task("eval", {"--limit", "2"})).code, 0);
    const json listed = run({"db", "list", "--db", database(), "--json"}).json();
    ASSERT_EQ(listed["runs"].size(), 1u);
    EXPECT_EQ(listed["runs"][0]["kind"], "eval");
    EXPECT_EQ(listed["runs"][0]["state"], "finished");
    const Finished shown = run({"db", "show", "last", "--db", database(), "--json"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_TRUE(shown.json().is_object());
    EXPECT_EQ(run({"db", "show", "7", "--db", database()}).code, 2);
    EXPECT_THAT(run({"db", "list", "--db", database()}).out, HasSubstr("finished"));
}

TEST_F(RunVerbs, ARunIsCarriedFromOneDataBaseToAnother) {
    ASSERT_EQ(run(task("eval", {"--limit", "2"})).code, 0);
    const Finished extracted = run({"db", "extract", "last", "--out", file("one.db"), "--db", database(), "--json"});
    ASSERT_EQ(extracted.code, 0) << extracted.err;
    EXPECT_EQ(extracted.json()["run_id"], 1);
    const std::string home = file("home.db");
    const Finished merged = run({"db", "merge", file("one.db"), "--db", home, "--json"});
    ASSERT_EQ(merged.code, 0) << merged.err;
    EXPECT_EQ(merged.json()["runs"][0]["change"], "added");
    const json again = run({"db", "merge", file("one.db"), database(), "--db", home, "--json"}).json();
    EXPECT_EQ(again["runs"].size(), 2u);
    EXPECT_EQ(again["runs"][1]["change"], "unchanged");
    EXPECT_EQ(run({"db", "show", "1", "--db", home, "--json"}).json()["result"],
              run({"db", "show", "1", "--db", database(), "--json"}).json()["result"]);

    EXPECT_EQ(run({"db", "extract", "last", "--out", file("one.db"), "--db", database()}).code, 2);
    EXPECT_EQ(run({"db", "extract", "last", "--db", database()}).code, 2);
    const Finished missing = run({"db", "merge", file("none.db"), "--db", file("new.db")});
    EXPECT_EQ(missing.code, 3);
    EXPECT_THAT(missing.err, HasSubstr("none.db"));
    EXPECT_FALSE(std::filesystem::exists(file("new.db"))) << "a misspelt name must not make a data base";
}

TEST_F(RunVerbs, AnOlderDataBaseIsBroughtUpToDateByResumeOrOnRequest) {
    ASSERT_EQ(run(task("eval", {"--limit", "2"})).code, 0);
    const auto makeOlder = [&] {
        SQLite::Database older(database(), SQLite::OPEN_READWRITE);
        older.exec("ALTER TABLE outcomes DROP COLUMN unknown_tokens; PRAGMA user_version = 5");
    };
    makeOlder();
    const Finished refused = run({"db", "list", "--db", database()});
    EXPECT_EQ(refused.code, 6);
    EXPECT_THAT(refused.err, HasSubstr("'lpes db upgrade' brings it up to date"));
    const json upgraded = run({"db", "upgrade", "--db", database(), "--json"}).json();
    EXPECT_EQ(upgraded["from"], 5);
    EXPECT_TRUE(std::filesystem::exists(upgraded["backup"].get<std::string>()));
    EXPECT_EQ(run({"db", "list", "--db", database()}).code, 0);
    EXPECT_THAT(run({"db", "upgrade", "--db", database()}).out, HasSubstr("already"));
    EXPECT_EQ(run({"db", "upgrade", "--db", file("none.db")}).code, 6);

    makeOlder();
    const Finished resumed = run({"resume", "last", "--db", database()});
    EXPECT_EQ(resumed.code, 2) << "nothing here can be resumed: " << resumed.err;
    EXPECT_EQ(run({"db", "list", "--db", database()}).code, 0);
}

TEST_F(RunVerbs, FileThatIsNoDataBaseIsADatabaseError) {
    writeBytes(database(), "this is no data base at all, only a text of some length");
    EXPECT_EQ(run({"db", "list", "--db", database()}).code, 6);
    EXPECT_EQ(run(task("eval", {"--limit", "2"})).code, 6);
    EXPECT_THAT(readBytes(database()), HasSubstr("no data base at all"));
}

TEST_F(RunVerbs, DataBaseFromTheEnvironment) {
    Start start;
    start.arguments = {"db", "list"};
    start.environment = {{"LPES_DB", "/nonexistent/env.db"}};
    EXPECT_THAT(run(start).err, HasSubstr("/nonexistent/env.db"));
}

TEST_F(RunVerbs, AttentionAndDeviationPrintTheirObjects) {
    const Finished attention = run(task("attn", {"--limit", "2"}));
    ASSERT_EQ(attention.code, 0) << attention.err;
    for (const char* key : {"positions", "layers", "sink", "instruction_share", "question_share"}) {
        EXPECT_TRUE(attention.json().contains(key)) << key;
    }
    EXPECT_EQ(attention.json()["queries"], "last");
    ASSERT_EQ(run({"profile", "new", "--model", model(), "--points", "0:1.2,1:0.8", "--out", file("p.json")}).code, 0);
    const Finished deviation = run(task("deviation", {"--limit", "2", "--profile", file("p.json")}));
    ASSERT_EQ(deviation.code, 0) << deviation.err;
    EXPECT_EQ(deviation.json()["variants"].size(), 3u);
    EXPECT_EQ(deviation.json()["variants"][0]["layers"].size(), 3u);
    EXPECT_EQ(run(task("deviation", {"--limit", "2"})).code, 2);
}

TEST_F(RunVerbs, AttentionOfAllTokensIsAnotherMeasureAndSaysSo) {
    const Finished last = run(task("attn", {"--limit", "2"})),
                   all = run(task("attn", {"--limit", "2", "--queries", "all"}));
    ASSERT_EQ(last.code, 0) << last.err;
    ASSERT_EQ(all.code, 0) << all.err;
    const json ofLast = last.json(), ofAll = all.json();
    EXPECT_EQ(ofAll["queries"], "all");
    EXPECT_EQ(ofAll["settings"]["queries"], (json{{"value", "all"}, {"origin", "flag"}}));
    EXPECT_EQ(ofLast["settings"]["queries"], (json{{"value", "last"}, {"origin", "default"}}));
    EXPECT_EQ(ofAll["positions"].size(), ofLast["positions"].size());
    EXPECT_NE(ofAll["positions"][0]["spans"][0]["share"], ofLast["positions"][0]["spans"][0]["share"]);
    const Finished refused = run(task("attn", {"--limit", "2", "--queries", "first"}));
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("'first'"));
}

TEST_F(RunVerbs, ClosedStandardOutputDoesNotReachTheDataBase) {
    Start start;
    start.arguments = task("eval", {"--limit", "2"});
    start.closeStandardOutput = true;
    EXPECT_EQ(run(start).code, 1);
    const json listed = run({"db", "list", "--db", database(), "--json"}).json();
    ASSERT_TRUE(listed.is_object());
    EXPECT_EQ(listed["runs"][0]["state"], "finished");
}

TEST_F(RunVerbs, TheProfileOfAFinishedSearchComesOutOfTheDataBase) {
    const Finished searched = run(search({}));
    ASSERT_EQ(searched.code, 0) << searched.err;
    const Finished exported = run({"export", "run:last", "--to", "json", "--db", database()});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_EQ(exported.json()["scales"], searched.json()["best"]["scales"]);
    EXPECT_EQ(run({"export", "run:9", "--to", "json", "--db", database()}).code, 2);
}

// The fixture's processes have neither DISPLAY nor WAYLAND_DISPLAY.
TEST_F(RunVerbs, T31_SearchWithoutADisplay) {
    Start start;
    start.arguments = search({});
    start.environment["QT_QPA_PLATFORM"] = "";
    EXPECT_EQ(run(start).code, 0);
}

}  // namespace
}  // namespace lpes::test
