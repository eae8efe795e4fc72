#include "core/remote/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace lpes::remote {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RemoteHost, NamesThatSshWouldTakeForSomethingElseAreRefused) {
    EXPECT_TRUE(checkHost({"me@machine.example"}));
    EXPECT_TRUE(checkHost({"ssh://me@machine:2222"}));
    for (const char* name : {"", "-oProxyCommand=date", "two words", "a\nb"}) {
        const auto refused = checkHost({name});
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    }
    EXPECT_FALSE(checkHost({"machine", ""}));
    EXPECT_FALSE(checkHost({"machine", "-oProxyCommand=date"}));
}

TEST(RemoteHost, TheProgramIsOneWordForTheShellThere) {
    EXPECT_EQ(remoteCommand({"m"}), "lpes remote serve");
    EXPECT_EQ(remoteCommand({"m", "/opt/my lpes/$(date)"}), "'/opt/my lpes/$(date)' remote serve");
    EXPECT_EQ(remoteCommand({"m", "~/bin/lpes"}), "~/bin/lpes remote serve");
    EXPECT_EQ(remoteCommand({"m", "~/my bin/lpes"}), "~/'my bin/lpes' remote serve");
}

TEST(RemoteHost, SshAsksForNothingAndTakesNothingOfOursForAnOption) {
    ::unsetenv("LPES_SSH");
    const auto command = sshCommand({"machine"});
    EXPECT_EQ(command.front(), "ssh");
    EXPECT_THAT(command, testing::Contains("BatchMode=yes"));
    ASSERT_GE(command.size(), 3u);
    EXPECT_EQ(command[command.size() - 3], "--");
    EXPECT_EQ(command[command.size() - 2], "machine");
    ::setenv("LPES_SSH", "/opt/ssh", 1);
    EXPECT_EQ(sshCommand({"machine"}).front(), "/opt/ssh");
    ::unsetenv("LPES_SSH");
}

TEST(RemoteHost, WhyAConnectionFailedIsOneSentence) {
    const Host host{"machine", "lpes"};
    const auto expect = [&](int code, const std::string& said, ErrorCode kind, const std::string& words) {
        const Error error = connectionError(host, code, said);
        EXPECT_EQ(error.code, kind) << said;
        EXPECT_THAT(error.message, AllOf(HasSubstr("machine"), HasSubstr(words)));
    };
    expect(255, "Host key verification failed.\r\n", ErrorCode::Failed, "run 'ssh machine' once");
    expect(255, "machine: Permission denied (publickey).\r\n", ErrorCode::Failed, "ssh-copy-id");
    expect(255, "ssh: Could not resolve hostname machine: Name or service not known\n", ErrorCode::Failed,
           "no machine");
    expect(255, "ssh: connect to host machine port 22: Connection timed out\n", ErrorCode::Failed, "cannot be reached");
    expect(255, "", ErrorCode::Failed, "cannot be reached");
    expect(127, "bash: lpes: command not found\n", ErrorCode::Unsupported, "--remote-lpes");
    expect(2, "lpes: unknown verb 'remote'; lpes --help lists the verbs\n", ErrorCode::Unsupported, "too old");
    expect(1, "", ErrorCode::Failed, "exit code 1");
    EXPECT_EQ(connectionError(host, 255, "Banner\nlast words\n\n").detail, "last words");
}

}  // namespace
}  // namespace lpes::remote
