#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

namespace fs = std::filesystem;

bool isInPath(const std::string& program) {
    std::istringstream folders(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
    std::string folder;
    while (std::getline(folders, folder, ':')) {
        if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
    }
    return false;
}

/// The process that mpirun started as this rank; 0 when there is none.
pid_t rankOf(pid_t mpirun, int rank) {
    const std::string parent = "PPid:\t" + std::to_string(mpirun) + "\n";
    const std::string variable = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0';
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        if (!fs::exists(entry.path() / "environ", error)) continue;
        const auto text = [&](const char* file) {
            std::ifstream stream(entry.path() / file, std::ios::binary);
            return std::string(std::istreambuf_iterator<char>(stream), {});
        };
        if (text("status").find(parent) != std::string::npos && text("environ").find(variable) != std::string::npos)
            return static_cast<pid_t>(std::stol(name));
    }
    return 0;
}

class MpiRuns : public RunVerbs {
  protected:
    void SetUp() override {
        if (!fs::exists(fs::path(programPath()).parent_path() / "liblpes_mpi.so"))
            GTEST_SKIP() << "this build has no MPI";
        if (!isInPath("mpirun")) GTEST_SKIP() << "mpirun is not installed";
    }

    /// The command line as so many ranks of this machine.
    [[nodiscard]] static Start mpirun(int ranks, const std::vector<std::string>& arguments) {
        Start start;
        start.program = "mpirun";
        // As many as there are cores or not; as root in a container or not. A little more time to stop than the second
        // that is the default; mpirun waits it out, twice, whenever a rank ends with another exit code than 0.
        start.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                             {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                             {"OMPI_MCA_odls_base_sigkill_timeout", "3"}};
        start.arguments = {"--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks), programPath()};
        start.arguments.insert(start.arguments.end(), arguments.begin(), arguments.end());
        return start;
    }

    /// Seconds rather than a moment, so that a signal finds it under way.
    [[nodiscard]] std::vector<std::string> slowSearch(const std::string& db) const {
        return withOptions(longSearch(db),
                           {{"--population", "24"}, {"--max-generations", "12"}, {"--search-items", "12"}});
    }
    void expectWhole(const json& result) const {
        const json whole = run(slowSearch(file("whole.db"))).json();
        for (const char* key : {"history", "best", "heldout", "evaluations", "cache_hits", "failed"})
            EXPECT_EQ(result[key], whole[key]) << key;
    }
    [[nodiscard]] json runRow() const { return run({"db", "list", "--db", database(), "--json"}).json()["runs"][0]; }
};

TEST_F(MpiRuns, AnyNumberOfRanksEndsInTheSameHistory) {
    for (const int ranks : {2, 3}) {
        std::vector<std::string> arguments = slowSearch(file("ranks" + std::to_string(ranks) + ".db"));
        const Finished searched = run(mpirun(ranks, arguments));
        ASSERT_EQ(searched.code, 0) << searched.err;
        expectWhole(searched.json());
    }
}

TEST_F(MpiRuns, AKilledRankInterruptsTheRunByNameAndItResumesAlone) {
    Program program(mpirun(2, slowSearch(database())));
    ASSERT_TRUE(program.waitForError(underWay));
    const pid_t rank = rankOf(program.pid(), 1);
    ASSERT_GT(rank, 0);
    ASSERT_EQ(::kill(rank, SIGKILL), 0);
    const Finished lost = program.finish();
    EXPECT_NE(lost.code, 0);
    EXPECT_THAT(lost.err, testing::AllOf(HasSubstr("rank 1 on '"), HasSubstr("lpes resume 1")));
    EXPECT_EQ(runRow()["state"], "interrupted");
    const Finished resumed = run({"resume", "last", "--db", database(), "--json"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    expectWhole(resumed.json());
}

TEST_F(MpiRuns, AStoppedRunResumesWithAnotherNumberOfRanks) {
    Program program(mpirun(2, slowSearch(database())));
    ASSERT_TRUE(program.waitForError(underWay));
    program.send(SIGTERM);
    const Finished stopped = program.finish();
    EXPECT_NE(stopped.code, 0);
    EXPECT_THAT(stopped.err, HasSubstr("lpes resume 1"));
    EXPECT_EQ(runRow()["state"], "stopped");
    const Finished resumed = run(mpirun(3, {"resume", "last", "--db", database(), "--json"}));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    expectWhole(resumed.json());
}

TEST_F(MpiRuns, WhatRankZeroRefusesEndsAllAndIsSaidOnce) {
    std::vector<std::string> arguments = longSearch(database());
    const auto threads = std::find(arguments.begin(), arguments.end(), "--threads-per-worker");
    arguments.erase(threads, threads + 2);
    const Finished refused = run(mpirun(2, arguments));
    EXPECT_EQ(refused.code, 2) << refused.err;
    const std::size_t said = refused.err.find("a search on 2 ranks needs --threads-per-worker");
    ASSERT_NE(said, std::string::npos) << refused.err;
    EXPECT_EQ(refused.err.find("a search on 2 ranks", said + 1), std::string::npos);
}

TEST_F(MpiRuns, ADryRunIsAnsweredOnce) {
    const Finished planned = run(mpirun(2, search({"--dry-run"})));
    ASSERT_EQ(planned.code, 0) << planned.err;
    EXPECT_TRUE(planned.json().is_object()) << planned.out;
}

}  // namespace
}  // namespace lpes::test
