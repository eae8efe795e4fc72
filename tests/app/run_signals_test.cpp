#include <signal.h>

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "tests/app/progress_lines.h"
#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Have so many prompts been evaluated?
std::function<bool(const std::string&)> promptsDone(int prompts) {
    return progressed(
        [prompts](const std::string& stage, int done) { return !stage.starts_with("loading") && done >= prompts; });
}

/// Has a stage begun? Every change of stage is told, however fast the prompts go by.
std::function<bool(const std::string&)> stageBegun(const std::string& name) {
    return progressed([name](const std::string& stage, int) { return stage == name; });
}

class RunSignals : public RunVerbs {
  protected:
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
    const std::vector<std::pair<std::string, std::function<bool(const std::string&)>>> moments{
        {"the first candidate", promptsDone(3)},
        {"the first generation", promptsDone(total / 8)},
        {"a later generation", promptsDone(total / 2)},
        {"selection", stageBegun("selection")},
        {"report", stageBegun("report")}};
    for (const auto& [moment, reached] : moments) {
        const std::string db = file("killed" + std::to_string(workers++) + ".db");
        Start start;
        start.arguments = longSearch(db);
        Program program(start);
        ASSERT_TRUE(program.waitForError(reached)) << moment;
        program.send(SIGKILL);
        ASSERT_EQ(program.finish().code, -SIGKILL);
        const std::string others = std::to_string(workers % 3 + 1);
        const Finished resumed = run({"resume", "last", "--db", db, "--workers", others, "--json"});
        ASSERT_EQ(resumed.code, 0) << resumed.err;
        for (const char* key : {"history", "best", "heldout", "evaluations", "cache_hits", "failed"}) {
            EXPECT_EQ(resumed.json()[key], whole[key]) << key << " after a kill in " << moment;
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
