#include <signal.h>

#include <filesystem>

#include "tests/app/remote_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

using RemoteSearch = RemoteRuns;

std::function<bool(const std::string&)> says(const std::string& words) {
    return [words](const std::string& text) { return text.find(words) != std::string::npos; };
}

TEST_F(RemoteSearch, EndsAsHereAndLeavesItsRowsHereAlone) {
    std::vector<std::string> arguments = onHost(smallSearch(database()));
    arguments.insert(arguments.end(), {"--out", file("profile.json")});
    const Finished done = run(atHome(arguments));
    ASSERT_EQ(done.code, 0) << done.err;
    expectSameAsLocal(done, smallSearch(file("whole.db")), file("whole.db"));
    EXPECT_EQ(json::parse(readBytes(file("profile.json")))["scales"], done.json()["best"]["scales"]);
    EXPECT_THAT(done.err, HasSubstr("\"type\":\"progress\""));
    EXPECT_TRUE(jobs().empty()) << "the other machine keeps nothing of a finished search";
    EXPECT_TRUE(handles().empty());
    const json listed = run(atHome({"db", "list", "--db", database(), "--json"})).json();
    ASSERT_EQ(listed["runs"].size(), 1u);
    EXPECT_EQ(listed["runs"][0]["state"], "finished");
    EXPECT_TRUE(listed["runs"][0]["host"].is_null());
}

TEST_F(RemoteSearch, ALostConnectionLosesNothing) {
    Program program(atHome(onHost(longSearch(database()))));
    ASSERT_TRUE(program.waitForError(underWay));
    cutConnection();
    ASSERT_TRUE(program.waitForError(says("the connection to 'somewhere' was lost")));
    const Finished done = program.finish();
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("connected to 'somewhere' again"));
    EXPECT_GE(connections().size(), 2u);
    expectSameAsLocal(done, longSearch(file("whole.db")), file("whole.db"));
}

TEST_F(RemoteSearch, InterruptStopsItThereAndResumeGoesOnThere) {
    Program program(atHome(onHost(longSearch(database()))));
    ASSERT_TRUE(program.waitForError(underWay));
    program.send(SIGINT);
    const Finished stopped = program.finish();
    ASSERT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("resume with: lpes resume 1"));
    EXPECT_EQ(stopped.json()["state"], "stopped");
    const json listed = run(atHome({"db", "list", "--db", database(), "--json"})).json();
    EXPECT_EQ(listed["runs"][0]["state"], "stopped");
    EXPECT_EQ(listed["runs"][0]["host"], "somewhere");

    const Finished resumed = run(atHome({"resume", "last", "--db", database(), "--json"}));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("'somewhere'"));
    expectSameAsLocal(resumed, longSearch(file("whole.db")), file("whole.db"));
    EXPECT_TRUE(jobs().empty());
    EXPECT_TRUE(handles().empty());
}

TEST_F(RemoteSearch, OneWhoseStarterWasKilledGoesOnAndIsPickedUp) {
    {
        Program program(atHome(onHost(longSearch(database()))));
        ASSERT_TRUE(program.waitForError(underWay));
        program.send(SIGKILL);
        EXPECT_EQ(program.finish().code, -SIGKILL);
    }
    ASSERT_EQ(handles().size(), 1u);
    const Finished resumed = run(atHome({"resume", "last", "--db", database(), "--json"}));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    expectSameAsLocal(resumed, longSearch(file("whole.db")), file("whole.db"));
}

TEST_F(RemoteSearch, OneWhoseFolderIsRemovedThereGoesOnHere) {
    {
        Program program(atHome(onHost(longSearch(database()))));
        ASSERT_TRUE(program.waitForError(underWay));
        program.send(SIGINT);
        ASSERT_EQ(program.finish().code, 130);
    }
    std::filesystem::remove_all(there() + "/lpes/remote/jobs");
    const std::vector<std::string> resume{"resume", "1", "--db", database(), "--json"};
    const Finished gone = run(atHome(resume));
    EXPECT_EQ(gone.code, 2) << gone.err;
    EXPECT_THAT(gone.err, HasSubstr("--here"));
    std::vector<std::string> here = resume;
    here.emplace_back("--here");
    const Finished done = run(atHome(here));
    ASSERT_EQ(done.code, 0) << done.err;
    expectSameAsLocal(done, longSearch(file("whole.db")), file("whole.db"));
    const Finished finished = run(atHome(resume));
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(finished.json()["best"], done.json()["best"]);
    EXPECT_TRUE(handles().empty()) << "nothing is left to go back to";
}

TEST_F(RemoteSearch, ADetachedOneRunsUntilItIsStopped) {
    std::vector<std::string> arguments = onHost(withOptions(longSearch(database()), {{"--max-generations", "400"}}));
    arguments.emplace_back("--detach");
    const Finished left = run(atHome(arguments));
    ASSERT_EQ(left.code, 0) << left.err;
    EXPECT_EQ(left.json()["state"], "running");
    EXPECT_EQ(left.json()["run_id"], 1);
    EXPECT_EQ(run(atHome({"db", "show", "1", "--db", database()})).code, 0) << "its first rows are here";

    Program program(atHome({"resume", "1", "--db", database(), "--json", "--progress", "json"}));
    ASSERT_TRUE(program.waitForError(underWay)) << "it goes on";
    program.send(SIGTERM);
    const Finished stopped = program.finish();
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_EQ(run(atHome({"db", "list", "--db", database(), "--json"})).json()["runs"][0]["state"], "stopped");
}

TEST_F(RemoteSearch, DataOfThisMachineAreBroughtThereOnce) {
    // The other machine has the same files here, and equal data at the same place are not copied: a name that means
    // something else in a process of another folder.
    const std::string name = "four 'pairs' & $HOME.jsonl", data = "/proc/self/cwd/" + name;
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(std::filesystem::path(file(name)).parent_path());
    std::string lines;
    for (int item = 0; item < 10; ++item) {
        const std::string n = std::to_string(item);
        lines += R"({"ordered_kv_records": [["a)" + n + R"(", "x1"], ["b)" + n + R"(", "x2"], ["c)" + n +
                 R"(", "x3"], ["d)" + n + R"(", "x4"]], "key": "b)" + n + R"(", "value": "x2"})" + "\n";
    }
    writeBytes(data, lines);
    std::vector<std::string> arguments = smallSearch(database());
    const auto keys = std::find(arguments.begin(), arguments.end(), "--keys");
    arguments.erase(keys, keys + 2);
    arguments.insert(arguments.end(), {"--data", data});
    for (int time = 0; time < 2; ++time) {
        const Finished done = run(atHome(onHost(arguments)));
        EXPECT_EQ(done.code, 0) << done.err;
    }
    std::filesystem::current_path(before);
    const std::string kept = there() + "/lpes/remote/data";
    ASSERT_EQ(filesIn(kept).size(), 1u);
    EXPECT_EQ(filesIn(kept + "/" + filesIn(kept)[0]), std::vector<std::string>{name});

    arguments.back() = file("nowhere.jsonl");
    const Finished nowhere = run(atHome(onHost(arguments)));
    EXPECT_EQ(nowhere.code, 3);
    EXPECT_THAT(nowhere.err, HasSubstr("neither on this machine nor on 'somewhere'"));
    EXPECT_TRUE(handles().empty());
}

TEST_F(RemoteSearch, WhatItRefusesThereIsToldHere) {
    const std::vector<std::string> arguments = withOptions(smallSearch(database()), {{"--model", file("no-model")}});
    const Finished done = run(atHome(onHost(arguments)));
    EXPECT_EQ(done.code, 3) << done.err;
    EXPECT_THAT(done.err, AllOf(HasSubstr("on 'somewhere'"), HasSubstr("no-model")));
    EXPECT_TRUE(jobs().empty());
    EXPECT_TRUE(handles().empty());
}

TEST_F(RemoteSearch, MachinesThatCannotBeUsedAreRefusedInOneSentence) {
    struct Case {
        std::string ssh;
        int code;
        std::string words;
    };
    const std::vector<Case> cases{
        {"echo 'ssh: connect to host somewhere port 22: Connection refused' >&2; exit 255", 1, "cannot be reached"},
        {"echo 'ssh: Could not resolve hostname somewhere' >&2; exit 255", 1, "finds no machine 'somewhere'"},
        {"echo 'Host key verification failed.' >&2; exit 255", 1, "does not know the key"},
        {"echo 'me@somewhere: Permission denied (publickey).' >&2; exit 255", 1, "without asking for a password"},
        {"echo 'sh: 1: lpes: not found' >&2; exit 127", 4, "--remote-lpes"},
        {"echo \"lpes: unknown verb 'remote'; lpes --help lists the verbs\" >&2; exit 2", 4, "too old"},
        {"echo 'Welcome'; echo '{\"lpes_remote\":99,\"version\":\"9.9\"}'; cat", 4, "another protocol (99)"},
        {"echo '{\"lpes_remote\":1,\"version\":\"9.9\",\"schema\":99}'; cat", 4, "update LPES Studio on this machine"},
        {"echo 'no more logins today'; exit 1", 1, "no more logins today"}};
    for (const Case& one : cases) {
        setSsh(one.ssh);
        const Finished done = run(atHome(onHost(smallSearch(database()))));
        EXPECT_EQ(done.code, one.code) << one.ssh << ": " << done.err;
        EXPECT_THAT(done.err, HasSubstr(one.words)) << one.ssh;
        EXPECT_TRUE(handles().empty()) << "nothing was started";
    }
    Start none = atHome(onHost(smallSearch(database())));
    none.environment["LPES_SSH"] = file("no-ssh");
    const Finished done = run(none);
    EXPECT_EQ(done.code, 4) << done.err;
    EXPECT_THAT(done.err, HasSubstr("LPES_SSH"));
}

TEST_F(RemoteSearch, OptionsThatDoNotFitTogetherAreUsageErrors) {
    const auto refused = [&](std::vector<std::string> more, const std::string& words) {
        std::vector<std::string> arguments = smallSearch(database());
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Finished done = run(atHome(arguments));
        EXPECT_EQ(done.code, 2) << done.err;
        EXPECT_THAT(done.err, HasSubstr(words));
    };
    refused({"--detach"}, "--host");
    refused({"--remote-lpes", "lpes"}, "--host");
    refused({"--host", "somewhere", "--dry-run"}, "--dry-run");
    refused({"--host", "somewhere", "--detach", "--out", file("p.json")}, "lpes resume");
    refused({"--host=-oProxyCommand=date"}, "no name of a machine");
    refused({"--host", ""}, "--host is empty");
    EXPECT_TRUE(connections().empty()) << "nobody was asked";
}

}  // namespace
}  // namespace lpes::test
