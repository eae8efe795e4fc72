// The job file for Slurm, run by bash with what Slurm sets: srun and scontrol are stand-ins, the search is real.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class SlurmJob : public RunVerbs {
  protected:
    void SetUp() override {
        // One task, so that srun is its program.
        program("srun",
                "while [ \"${1#--}\" != \"$1\" ]; do shift; done\necho $$ >'" + file("step") + "'\nexec \"$@\"\n");
        program("scontrol", "echo \"$*\" >>'" + file("scontrol.calls") + "'\n");
    }

    /// The job as Slurm starts it, started again so many times before.
    [[nodiscard]] Start job(int restarts, const std::vector<std::string>& arguments) const {
        Start start;
        start.program = "bash";
        start.arguments = {(fs::path(LPES_TEST_DATA).parent_path() / "packaging/slurm/search.sbatch").string()};
        start.arguments.insert(start.arguments.end(), arguments.begin(), arguments.end());
        start.environment = {{"PATH", m_folder.path().string() + ":" + std::getenv("PATH")},
                             {"LPES", programPath()},
                             {"SLURM_JOB_ID", "7"},
                             {"SLURM_SUBMIT_DIR", m_folder.path().string()},
                             {"SLURM_CPUS_PER_TASK", "1"}};
        if (restarts > 0) start.environment["SLURM_RESTART_COUNT"] = std::to_string(restarts);
        return start;
    }

    /// What the job file sets itself is no option of its search.
    [[nodiscard]] std::vector<std::string> options() const {
        std::vector<std::string> all = longSearch(jobDatabase());
        for (const char* own : {"--db", "--threads-per-worker"}) {
            const auto at = std::find(all.begin(), all.end(), own);
            all.erase(at, at + 2);
        }
        return {all.begin() + 1, all.end()};
    }

    [[nodiscard]] std::string jobDatabase() const { return file("lpes-7.db"); }
    [[nodiscard]] pid_t step() const { return static_cast<pid_t>(std::stol(readBytes(file("step")))); }
    [[nodiscard]] std::string calls() const {
        return fs::exists(file("scontrol.calls")) ? readBytes(file("scontrol.calls")) : "";
    }
    [[nodiscard]] std::string state() const {
        return run({"db", "list", "--db", jobDatabase(), "--json"}).json()["runs"][0]["state"];
    }

    /// The next start of the job goes on with the run as it was left and finishes it as if it had never been.
    void expectRestartFinishes(const std::string& left) const {
        const Finished again = run(job(1, options()));
        EXPECT_EQ(again.code, 0) << again.err;
        EXPECT_THAT(again.out, AllOf(HasSubstr("start 2] going on with the " + left + " run in " + jobDatabase()),
                                     HasSubstr("finished: " + file("lpes-7.json"))));
        EXPECT_EQ(state(), "finished");
        const json whole = run(longSearch(file("whole.db"))).json();
        const json result = run({"db", "show", "1", "--db", jobDatabase(), "--json"}).json()["result"];
        for (const char* key : {"history", "best", "heldout", "evaluations", "cache_hits", "failed"})
            EXPECT_EQ(result[key], whole[key]) << key;
        EXPECT_EQ(json::parse(readBytes(file("lpes-7.json")))["scales"], whole["best"]["scales"]);
        const Finished done = run(job(2, options()));
        EXPECT_EQ(done.code, 0) << done.err;
        EXPECT_THAT(done.out, HasSubstr("start 3] the search is finished already"));
    }

  private:
    void program(const std::string& name, const std::string& lines) const {
        writeBytes(m_folder / name, "#!/bin/sh\n" + lines);
        fs::permissions(m_folder / name, fs::perms::owner_all);
    }
};

TEST_F(SlurmJob, AKilledJobIsQueuedAgainBySlurmAndFinishesWithTheSameHistory) {
    Program killed(job(0, options()));
    ASSERT_TRUE(killed.waitForError(underWay));
    // A lost node takes the script with it.
    killed.send(SIGKILL);
    ASSERT_EQ(::kill(step(), SIGKILL), 0);
    const Finished gone = killed.finish();
    EXPECT_EQ(gone.code, -SIGKILL);
    EXPECT_THAT(gone.out, HasSubstr("start 1] searching on 1 tasks with 1 cores each"));
    EXPECT_EQ(state(), "interrupted");
    expectRestartFinishes("interrupted");
    EXPECT_EQ(calls(), "");
}

TEST_F(SlurmJob, BeforeItsTimeLimitItQueuesItselfAgainAndFinishesWithTheSameHistory) {
    Program stopped(job(0, options()));
    ASSERT_TRUE(stopped.waitForError(underWay));
    ASSERT_EQ(::kill(step(), SIGTERM), 0);
    const Finished left = stopped.finish();
    EXPECT_EQ(left.code, 130) << left.err;
    EXPECT_THAT(left.out, HasSubstr("stopped with everything stored; queueing again"));
    EXPECT_EQ(calls(), "requeue 7\n");
    expectRestartFinishes("stopped");
    EXPECT_EQ(calls(), "requeue 7\n") << "a finished job is not queued again";
}

TEST_F(SlurmJob, OneThatIsCancelledIsNotQueuedAgain) {
    Program cancelled(job(0, options()));
    ASSERT_TRUE(cancelled.waitForError(underWay));
    cancelled.send(SIGTERM);
    ASSERT_EQ(::kill(step(), SIGTERM), 0);
    const Finished ended = cancelled.finish();
    EXPECT_EQ(ended.code, 130) << ended.err;
    EXPECT_THAT(ended.out, AllOf(HasSubstr("asked to stop"), HasSubstr("resume last --db " + jobDatabase())));
    EXPECT_EQ(state(), "stopped");
    EXPECT_EQ(calls(), "");
}

TEST_F(SlurmJob, WhatIsRefusedEndsTheJobWithItsCode) {
    const Finished refused = run(job(0, {"--model", model(), "--task", "kv", "--population", "3"}));
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_THAT(refused.out,
                AllOf(HasSubstr("failed with code 2 before the search began"), Not(HasSubstr("queueing again"))));
    EXPECT_EQ(calls(), "");
}

}  // namespace
}  // namespace lpes::test
