#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <sstream>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Has a prompt been evaluated?
bool underWay(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        const json object = json::parse(line, nullptr, false);
        if (!object.is_object() || object.value("type", "") != "progress") continue;
        if (object.value("stage", "").rfind("generation", 0) == 0 && object.value("done", 0) > 0) return true;
    }
    return false;
}

/// Have so many prompts been evaluated?
std::function<bool(const std::string&)> promptsDone(int prompts) {
    return [prompts](const std::string& text) {
        std::istringstream lines(text);
        std::string line;
        while (std::getline(lines, line)) {
            const json object = json::parse(line, nullptr, false);
            if (!object.is_object() || object.value("type", "") != "progress") continue;
            if (!object.value("stage", "").starts_with("loading") && object.value("done", 0) >= prompts) return true;
        }
        return false;
    };
}

class RunSignals : public RunVerbs {
  protected:
    /// Long enough to be stopped on its way.
    [[nodiscard]] std::vector<std::string> longSearch(const std::string& db) const {
        std::vector<std::string> arguments = search({"--progress", "json"});
        const auto set = [&](const std::string& option, const std::string& value) {
            *(std::find(arguments.begin(), arguments.end(), option) + 1) = value;
        };
        set("--db", db);
        set("--population", "12");
        set("--max-generations", "4");
        set("--search-items", "8");
        return arguments;
    }

    void stopAndResume(int signal) const {
        Start start;
        start.arguments = longSearch(database());
        Program program(start);
        ASSERT_TRUE(program.waitForError(underWay));
        const auto asked = std::chrono::steady_clock::now();
        program.send(signal);
        const Finished stopped = program.finish();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
        ASSERT_EQ(stopped.code, 130) << stopped.err;
        // A second is the promise; the rest is for machines that are busy with other tests.
        EXPECT_LT(took.count(), 3.0);
        EXPECT_THAT(stopped.err, HasSubstr("lpes resume 1 --db"));
        EXPECT_EQ(stopped.json()["state"], "stopped");

        const json listed = run({"db", "list", "--db", database(), "--json"}).json();
        EXPECT_EQ(listed["runs"][0]["state"], "stopped");
        expectSameEndAsUninterrupted();
    }

    void expectSameEndAsUninterrupted() const {
        const Finished resumed =
            run({"resume", "last", "--db", database(), "--workers", "2", "--out", file("p.json"), "--json"});
        ASSERT_EQ(resumed.code, 0) << resumed.err;
        const json whole = run(longSearch(file("whole.db"))).json();
        EXPECT_EQ(resumed.json()["state"], "finished");
        EXPECT_EQ(resumed.json()["history"], whole["history"]);
        EXPECT_EQ(resumed.json()["best"], whole["best"]);
        EXPECT_EQ(resumed.json()["heldout"], whole["heldout"]);
        EXPECT_EQ(json::parse(readBytes(file("p.json")))["scales"], whole["best"]["scales"]);
    }
};

TEST_F(RunSignals, InterruptStopsWithACheckpointAndResumeFinishes) {
    stopAndResume(SIGINT);
}

TEST_F(RunSignals, TerminateDoesTheSame) {
    stopAndResume(SIGTERM);
}

TEST_F(RunSignals, KilledSearchIsInterruptedAndCanBeResumed) {
    Start start;
    start.arguments = longSearch(database());
    Program program(start);
    ASSERT_TRUE(program.waitForError(underWay));
    program.send(SIGKILL);
    EXPECT_EQ(program.finish().code, -SIGKILL);
    EXPECT_EQ(run({"db", "list", "--db", database(), "--json"}).json()["runs"][0]["state"], "interrupted");
    expectSameEndAsUninterrupted();
}

TEST_F(RunSignals, KilledAtFiveMomentsAndResumedEndsInTheSameHistory) {
    const json whole = run(longSearch(file("whole.db"))).json();
    const int total = whole["prompts"];
    int workers = 0;
    // In the first candidate, in the first generation, later, in the selection, in the report.
    for (const int moment : {3, total / 8, total / 2, total - 40, total - 20}) {
        const std::string db = file("killed" + std::to_string(moment) + ".db");
        Start start;
        start.arguments = longSearch(db);
        Program program(start);
        ASSERT_TRUE(program.waitForError(promptsDone(moment))) << moment << " of " << total;
        program.send(SIGKILL);
        ASSERT_EQ(program.finish().code, -SIGKILL);
        workers = workers % 3 + 1;
        const Finished resumed = run({"resume", "last", "--db", db, "--workers", std::to_string(workers), "--json"});
        ASSERT_EQ(resumed.code, 0) << resumed.err;
        for (const char* key : {"history", "best", "heldout", "evaluations", "cache_hits", "failed"}) {
            EXPECT_EQ(resumed.json()[key], whole[key]) << key << " after a kill at " << moment << " prompts";
        }
    }
}

TEST_F(RunSignals, SecondWriterIsToldWhoWrites) {
    Start start;
    start.arguments = longSearch(database());
    Program program(start);
    ASSERT_TRUE(program.waitForError(underWay));
    const Finished second = run(task("eval", {"--limit", "2"}));
    EXPECT_EQ(second.code, 6) << second.err;
    EXPECT_THAT(second.err, HasSubstr("lpes search"));
    EXPECT_EQ(run({"db", "list", "--db", database()}).code, 0);  // reading needs no lock
}

}  // namespace
}  // namespace lpes::test
