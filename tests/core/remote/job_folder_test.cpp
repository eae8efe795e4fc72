#include "core/remote/job_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/base/child_process.h"
#include "tests/support/temp_folder.h"

namespace lpes::remote {
namespace {

class RemoteJobFolder : public testing::Test {
  protected:
    JobFolder made() {
        JobFolder job = JobFolder::named(folder.path(), "1-ab").value();
        EXPECT_TRUE(job.make().value());
        return job;
    }
    /// A program that goes on until somebody writes into the pipe that is returned.
    std::vector<std::string> waiting() {
        const std::string pipe = (folder.path() / "pipe").string();
        EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
        return {"sh", "-c", "read line < '" + pipe + "'; echo $1; echo said >&2", "job"};
    }
    void letGo() { std::ofstream(folder.path() / "pipe") << "go\n"; }

    test::TempFolder folder;
};

TEST_F(RemoteJobFolder, NamesStayInsideTheFolder) {
    for (const std::string& name :
         {std::string(), std::string(".."), std::string("a/b"), std::string("A b"), std::string(65, 'a')}) {
        EXPECT_EQ(JobFolder::named(folder.path(), name).error().code, ErrorCode::Usage) << name;
    }
}

TEST_F(RemoteJobFolder, IsMadeOnce) {
    JobFolder job = made();
    EXPECT_FALSE(job.make().value());
    EXPECT_TRUE(job.exists());
    EXPECT_FALSE(job.process());
    EXPECT_FALSE(job.alive());
    EXPECT_FALSE(job.readEnd());
    EXPECT_FALSE(job.readOrder());
    ASSERT_TRUE(job.writeOrder({nlohmann::json::parse(R"({"seed":{"value":7}})"), 3}));
    EXPECT_EQ(job.readOrder()->settings["seed"]["value"], 7);
    EXPECT_EQ(job.readOrder()->workers, 3);
    job.remove();
    EXPECT_FALSE(job.exists());
}

TEST_F(RemoteJobFolder, ItsProcessIsStartedOnceAndGoesOnByItself) {
    const JobFolder job = made();
    const auto command = waiting();
    ASSERT_TRUE(job.start(command));
    const auto process = job.process();
    ASSERT_TRUE(process);
    EXPECT_TRUE(job.alive());
    EXPECT_FALSE(process->elsewhere());
    EXPECT_EQ(::getsid(process->pid), process->pid) << "a session of its own";
    ASSERT_TRUE(job.start(command));
    EXPECT_EQ(job.process()->pid, process->pid) << "asked twice, started once";
    letGo();
    EXPECT_EQ(waitForChild(process->pid), 0);
    EXPECT_FALSE(job.alive());
    std::ifstream out(job.output()), log(job.log());
    std::string folderName, said;
    std::getline(out, folderName);
    std::getline(log, said);
    EXPECT_EQ(folderName, job.path().string());
    EXPECT_EQ(said, "said");
}

TEST_F(RemoteJobFolder, AProcessThatHasEndedIsDeadBeforeAnybodyWaitsForIt) {
    const JobFolder job = made();
    ASSERT_TRUE(job.start(waiting()));
    const pid_t pid = job.process()->pid;
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(job.alive());
    static_cast<void>(waitForChild(pid));
}

TEST_F(RemoteJobFolder, ALaterProcessOfTheSameNumberIsAnother) {
    auto self = JobProcess::of(::getpid());
    ASSERT_TRUE(self);
    EXPECT_TRUE(self->alive());
    EXPECT_TRUE(JobProcess::fromJson(self->toJson())->alive());
    JobProcess other = *self;
    ++other.startTicks;
    EXPECT_FALSE(other.alive());
    other = *self;
    other.boot += "x";
    EXPECT_FALSE(other.alive());
    other = *self;
    other.machine += "x";
    EXPECT_TRUE(other.elsewhere());
    EXPECT_FALSE(other.alive());
    EXPECT_FALSE(JobProcess::fromJson(nlohmann::json::object()));
}

TEST_F(RemoteJobFolder, OneThatCannotBeNotedDoesNotGoOn) {
    const JobFolder job = made();
    std::filesystem::create_directories(job.path() / "process.json" / "in the way");
    const std::string pipe = (folder.path() / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    // Held open for reading here, so that the pipe ends when nobody writes to it any more.
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    const int writer = ::open(pipe.c_str(), O_WRONLY);
    ASSERT_GE(writer, 0);
    EXPECT_FALSE(job.start({"sleep", "600"}));  // it has the writing end
    ::close(writer);
    char byte = 0;
    EXPECT_EQ(::read(reader, &byte, 1), 0) << "it is gone";
    ::close(reader);
}

TEST_F(RemoteJobFolder, AStopReachesItOnce) {
    const JobFolder job = made();
    const std::string pipe = (folder.path() / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo((pipe + ".ready").c_str(), 0600), 0);
    // The first stop is caught, as lpes does, and ends the trap: a second one would end the program.
    ASSERT_TRUE(job.start({"sh", "-c",
                           "trap 'trap - TERM; echo caught > \"$0\"' TERM; cat \"$0\" > /dev/null & "
                           "echo ready > \"$0.ready\"; wait $!; wait $!; exit 5",
                           pipe}));
    std::string word;
    std::ifstream(pipe + ".ready") >> word;
    ASSERT_EQ(word, "ready");
    const pid_t pid = job.process()->pid;
    ASSERT_TRUE(job.askToStop());
    EXPECT_TRUE(std::filesystem::exists(job.path() / "stop.json"));
    ASSERT_TRUE(job.askToStop());
    EXPECT_EQ(waitForChild(pid), 5);
    EXPECT_TRUE(job.askToStop()) << "nobody is there";
}

TEST_F(RemoteJobFolder, TheEndIsReadOnceItIsWhole) {
    const JobFolder job = made();
    ASSERT_TRUE(job.start({"true"}));
    static_cast<void>(waitForChild(job.process()->pid));
    EXPECT_FALSE(job.readEnd()) << "its room is taken, and nothing stands in it";
    const auto room = std::filesystem::file_size(job.path() / "end");
    ASSERT_TRUE(job.writeEnd({6, Error{ErrorCode::Database, "the disk is full", "", ""}}));
    EXPECT_EQ(std::filesystem::file_size(job.path() / "end"), room) << "no room is needed at the end";
    const auto end = job.readEnd();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->exitCode, 6);
    EXPECT_EQ(end->error->code, ErrorCode::Database);
    EXPECT_EQ(end->error->message, "the disk is full");
    ASSERT_TRUE(job.start({"true"}));
    static_cast<void>(waitForChild(job.process()->pid));
    EXPECT_FALSE(job.readEnd()) << "a new sitting has not ended as the one before";
}

}  // namespace
}  // namespace lpes::remote
