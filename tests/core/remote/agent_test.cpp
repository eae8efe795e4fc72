#include "core/remote/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/base/descriptor.h"
#include "core/remote/data_files.h"
#include "core/remote/messages.h"
#include "core/store/store.h"
#include "tests/support/temp_folder.h"

namespace lpes::remote {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A job that says a line, waits for a word, says another and ends well; told to stop it ends with 130.
constexpr const char* kJob = R"(
pipe="$0"; folder="$1"
trap 'kill $!; printf "{\"exit_code\":130}" > "$folder/end"; exit 130' TERM
cat "$pipe" > /dev/null &
echo '{"type":"progress","stage":"one","done":1}' >&2
wait $!
echo '{"type":"progress","stage":"two","done":2}' >&2
echo '{"best":1}'
printf '{"exit_code":0}' > "$folder/end"
)";

/// An agent on a thread, as ssh starts one: any number of connections to one machine, one after the other.
class RemoteAgent : public testing::Test {
  protected:
    RemoteAgent() {
        if (::mkfifo(pipe().c_str(), 0600) != 0) throw std::runtime_error("no pipe");
        command = {"sh", "-c", kJob, pipe()};
        connect();
    }
    ~RemoteAgent() override { hangUp(); }

    [[nodiscard]] std::string pipe() const { return (folder.path() / "pipe").string(); }
    void letGo() const { std::ofstream(pipe()) << "go\n"; }

    void connect() {
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, m_ends) != 0) throw std::runtime_error("no sockets");
        m_agent = std::thread([this, end = m_ends[1]] {
            Agent({folder.path(), command}, end, end).serve();
            ::close(end);
        });
        m_channel = std::make_unique<Channel>(m_ends[0], m_ends[0]);
        EXPECT_EQ(m_channel->receive(-1).message["lpes_remote"], kProtocol);
    }
    void hangUp() {
        if (!m_agent.joinable()) return;
        ::shutdown(m_ends[0], SHUT_WR);
        m_agent.join();
        ::close(m_ends[0]);
    }

    json ask(const json& request) {
        EXPECT_TRUE(m_channel->send(request));
        return next();
    }
    json next() { return m_channel->receive(-1).message; }
    json start(const std::string& job = "a") {
        return ask({{"do", "start"}, {"job", job}, {"settings", json::object()}});
    }
    json follow(std::int64_t offset, const std::string& job = "a") {
        return ask({{"do", "follow"}, {"job", job}, {"offset", offset}});
    }
    [[nodiscard]] JobFolder job(const std::string& name = "a") const {
        return JobFolder::named(folder.path(), name).value();
    }

    test::TempFolder folder;
    std::vector<std::string> command;  ///< that works on a job

  private:
    int m_ends[2] = {-1, -1};
    std::thread m_agent;
    std::unique_ptr<Channel> m_channel;

  protected:
    [[nodiscard]] Channel& channel() { return *m_channel; }
    /// Bytes that are no message.
    void sendRaw(const std::string& bytes) const { ASSERT_EQ(writeAll(m_ends[0], bytes), 0); }
};

TEST_F(RemoteAgent, AJobIsStartedOnceFollowedAndForgotten) {
    EXPECT_EQ(start()["type"], "done");
    const pid_t pid = job().process()->pid;
    EXPECT_EQ(start()["type"], "done") << "an answer was lost and asked for again";
    EXPECT_EQ(job().process()->pid, pid);
    EXPECT_EQ(follow(0)["type"], "done");
    const json first = next();
    EXPECT_EQ(first["type"], "line");
    EXPECT_THAT(first["text"].get<std::string>(), HasSubstr("one"));
    EXPECT_EQ(ask({{"do", "forget"}, {"job", "a"}})["code"], "usage") << "it goes on";
    letGo();
    const json second = next();
    EXPECT_THAT(second["text"].get<std::string>(), HasSubstr("two"));
    EXPECT_GT(second["next"], first["next"]);
    const json ended = next();
    EXPECT_EQ(ended["type"], "ended");
    EXPECT_EQ(ended["exit_code"], 0);
    EXPECT_EQ(ended["out"], "{\"best\":1}\n");
    EXPECT_EQ(ask({{"do", "forget"}, {"job", "a"}})["type"], "done");
    EXPECT_FALSE(job().exists());
    EXPECT_EQ(follow(0)["code"], "usage");
}

TEST_F(RemoteAgent, ItGoesOnWithoutAConnectionAndIsFollowedFromWhereItWas) {
    start();
    follow(0);
    const json first = next();
    hangUp();
    EXPECT_TRUE(job().alive());
    letGo();
    connect();
    EXPECT_EQ(start()["type"], "done");
    EXPECT_EQ(follow(first["next"])["type"], "done");
    EXPECT_THAT(next()["text"].get<std::string>(), HasSubstr("two")) << "and nothing twice";
    EXPECT_EQ(next()["exit_code"], 0);
}

TEST_F(RemoteAgent, AStoppedOneIsResumedAndAFinishedOneIsNot) {
    start();
    follow(0);
    next();
    EXPECT_EQ(ask({{"do", "stop"}, {"job", "a"}})["type"], "done");
    EXPECT_EQ(next()["exit_code"], 130);
    const pid_t pid = job().process()->pid;
    EXPECT_EQ(ask({{"do", "resume"}, {"job", "a"}, {"workers", 2}})["type"], "done");
    EXPECT_NE(job().process()->pid, pid);
    EXPECT_EQ(job().readOrder()->workers, 2);
    const pid_t second = job().process()->pid;
    EXPECT_EQ(ask({{"do", "resume"}, {"job", "a"}, {"workers", nullptr}})["type"], "done");
    EXPECT_EQ(job().process()->pid, second) << "it goes on";
    letGo();
    follow(-1);
    json event = next();
    while (event["type"] == "line") event = next();
    EXPECT_EQ(event["exit_code"], 0);
    ask({{"do", "resume"}, {"job", "a"}, {"workers", nullptr}});
    EXPECT_EQ(job().process()->pid, second) << "it is finished";
    EXPECT_EQ(ask({{"do", "resume"}, {"job", "other"}})["code"], "usage");
}

TEST_F(RemoteAgent, AJobThatDiedHasNoExitCode) {
    start();
    ::kill(-job().process()->pid, SIGKILL);  // with all that it started
    follow(0);
    json event = next();
    while (event["type"] == "line") event = next();
    EXPECT_EQ(event["type"], "ended");
    EXPECT_TRUE(event["exit_code"].is_null());
}

TEST_F(RemoteAgent, RowsAreASnapshotOfTheRun) {
    start();
    EXPECT_EQ(ask({{"do", "rows"}, {"job", "a"}})["bytes"], 0) << "there is no data base yet";
    auto writer = store::StoreWriter::open(job().database(), {"lpes test"}).value();
    EXPECT_EQ(ask({{"do", "rows"}, {"job", "a"}})["bytes"], 0) << "there is no run yet";
    store::RunRow run;
    run.kind = "search";
    const std::int64_t id = writer->addRun(run).value();
    const json rows = ask({{"do", "rows"}, {"job", "a"}});  // somebody is writing
    EXPECT_EQ(rows["run"], id);
    const auto file = folder.path() / "rows.db";
    ASSERT_TRUE(channel().receiveFile(file, rows["bytes"].get<std::uint64_t>()));
    EXPECT_EQ(store::StoreReader::open(file).value()->runs().value().size(), 1u);
    EXPECT_EQ(ask({{"do", "stop"}, {"job", "a"}})["type"], "done") << "the connection is whole";
}

TEST_F(RemoteAgent, DataComeOnceAndAreFoundByTheirContent) {
    std::filesystem::create_directories(folder.path() / "home" / "set" / "dev");
    folder.write("home/set/a.csv", "a,b\n");
    folder.write("home/set/dev/b.csv", "");
    const DataFiles data = listData(folder.path() / "home" / "set").value();
    const json find{{"do", "find_data"}, {"key", data.key}, {"name", "set"}, {"path", "/nonexistent/set"}};
    EXPECT_TRUE(ask(find)["path"].is_null());
    for (const DataFiles::File& file : data.files) {
        ASSERT_TRUE(
            channel().send({{"do", "put"}, {"key", data.key}, {"file", "set/" + file.name}, {"bytes", file.bytes}}));
        ASSERT_TRUE(channel().sendFile(data.pathOf(file), file.bytes));
        EXPECT_EQ(next()["type"], "done");
    }
    const json kept = ask({{"do", "keep_data"}, {"key", data.key}, {"name", "set"}});
    ASSERT_EQ(kept["type"], "data") << kept;
    EXPECT_EQ(listData(kept["path"].get<std::string>()).value().key, data.key);
    EXPECT_EQ(ask(find)["path"], kept["path"]);
    folder.write("data/" + data.key + "/set/a.csv", "A,b\n");
    EXPECT_TRUE(ask(find)["path"].is_null()) << "somebody edited them";
    folder.write("data/" + data.key + "/set/a.csv", "a,b\n");
    const std::string other(64, 'a');
    EXPECT_TRUE(
        ask({{"do", "find_data"}, {"key", other}, {"name", "set"}, {"path", data.root.string()}})["path"].is_null())
        << "another content under that path";
    std::filesystem::remove_all(folder.path() / "data");
    json same = find;
    same["path"] = data.root.string();
    EXPECT_EQ(ask(same)["path"], data.root.string()) << "a disk that both machines see";
}

TEST_F(RemoteAgent, DataThatTwoSearchesBringAreLeftToTheFirst) {
    folder.write("items", "1\n");
    const DataFiles data = listData(folder.path() / "items").value();
    const auto bring = [&] {
        EXPECT_TRUE(channel().send({{"do", "put"}, {"key", data.key}, {"file", "items"}, {"bytes", 2}}));
        sendRaw("1\n");
        EXPECT_EQ(next()["type"], "done");
        return ask({{"do", "keep_data"}, {"key", data.key}, {"name", "items"}})["path"].get<std::string>();
    };
    const std::string kept = bring();
    const auto written = std::filesystem::last_write_time(kept);
    std::filesystem::last_write_time(kept, written - std::chrono::hours(1));
    EXPECT_EQ(bring(), kept);
    EXPECT_EQ(std::filesystem::last_write_time(kept), written - std::chrono::hours(1))
        << "it may be read at the moment";
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "data" / (data.key + ".part")));
}

TEST_F(RemoteAgent, OneThatCannotBeStartedLeavesNothing) {
    hangUp();
    command = {"lpes-no-such-program"};
    connect();
    EXPECT_EQ(start()["type"], "error");
    EXPECT_FALSE(job().exists());
}

TEST_F(RemoteAgent, WhatMakesNoSenseIsRefusedAndTheConnectionStaysWhole) {
    EXPECT_EQ(ask({{"do", "dance"}, {"job", "a"}})["code"], "unsupported");
    EXPECT_EQ(ask({{"do", "start"}, {"job", "../a"}, {"settings", json::object()}})["code"], "usage");
    EXPECT_EQ(ask({{"do", "start"}, {"job", "a"}})["code"], "usage");
    EXPECT_EQ(ask({{"do", "rows"}, {"job", "none"}})["code"], "usage");
    EXPECT_EQ(ask({{"do", "find_data"}, {"key", "short"}, {"name", "a"}, {"path", ""}})["code"], "usage");
    const std::string key(64, 'a');
    for (const char* name : {"../a", "/a", "", "a/../../b"}) {
        ASSERT_TRUE(channel().send({{"do", "put"}, {"key", key}, {"file", name}, {"bytes", 3}}));
        sendRaw("{}\n");
        EXPECT_EQ(next()["code"], "usage") << name;
    }
    EXPECT_EQ(ask({{"do", "exists"}, {"path", folder.path().string()}})["there"], true);
    EXPECT_EQ(ask({{"do", "exists"}, {"path", "/nonexistent"}})["there"], false);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "data"));
}

TEST(RemoteLog, ProgressThatIsOldIsPassedOverAndNothingElse) {
    const test::TempFolder folder;
    const std::string one = R"({"type":"progress","stage":"s","done":1})", two = R"({"type":"progress","done":2})",
                      warning = R"({"type":"warning","message":"slow"})";
    const auto log = folder.write("log", one + "\n" + two + "\n" + warning + "\n\n" + one + "\nhalf");
    const LogLines read = readLog(log, 0, false);
    ASSERT_EQ(read.lines.size(), 3u);
    EXPECT_EQ(read.lines[0].text, two);
    EXPECT_EQ(read.lines[0].next, one.size() + two.size() + 2);
    EXPECT_EQ(read.lines[1].text, warning);
    EXPECT_EQ(read.lines[2].text, one);
    EXPECT_EQ(read.firstEnd, one.size() + 1);
    EXPECT_TRUE(readLog(log, read.next, false).lines.empty());
    EXPECT_EQ(readLog(log, read.next, false).next, read.next);
    ASSERT_EQ(readLog(log, read.next, true).lines.size(), 1u);
    EXPECT_EQ(readLog(log, read.next, true).lines[0].text, "half");
    EXPECT_TRUE(readLog(folder.path() / "none", 0, true).lines.empty());
}

TEST(RemoteLog, ALineWithoutEndDoesNotHoldItUp) {
    const test::TempFolder folder;
    const auto log = folder.write("log", std::string(3u << 20, 'x'));
    LogLines read = readLog(log, 0, false);
    ASSERT_EQ(read.lines.size(), 1u);
    EXPECT_GT(read.next, 0u);
}

}  // namespace
}  // namespace lpes::remote
