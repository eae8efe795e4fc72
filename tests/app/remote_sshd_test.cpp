#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/child_process.h"
#include "tests/app/remote_fixture.h"

namespace lpes::test {
namespace {

using testing::HasSubstr;

/// A port of this machine that nobody listens to at the moment.
int freePort() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool bound = ::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(listener);
    return bound ? ntohs(address.sin_port) : 0;
}

bool makeKey(const std::string& path) {
    const auto child = startChild({{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path}});
    return child && waitForChild(*child) == 0;
}

/// An sshd of the user who runs the tests, on the loopback address, with keys and a configuration of its own. Ended
/// with the object; what it started lives on, as it does on a real machine.
class Sshd {
  public:
    explicit Sshd(const std::string& config) {
        // As root it drops its rights into a folder that a package's start script makes.
        if (::geteuid() == 0) ::mkdir("/run/sshd", 0755);
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return;
        const auto child = startChild({{"/usr/sbin/sshd", "-D", "-e", "-f", config}, -1, -1, ends[1]});
        ::close(ends[1]);
        if (child) m_child = *child;
        char buffer[4096];
        while (m_said.find("Server listening") == std::string::npos) {
            const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
            if (got <= 0) break;
            m_said.append(buffer, static_cast<std::size_t>(got));
        }
        m_errors = ends[0];
    }
    ~Sshd() {
        if (m_child > 0) {
            ::kill(m_child, SIGTERM);
            static_cast<void>(waitForChild(m_child));
        }
        if (m_errors >= 0) ::close(m_errors);
    }
    Sshd(const Sshd&) = delete;
    Sshd& operator=(const Sshd&) = delete;

    [[nodiscard]] bool listens() const { return m_said.find("Server listening") != std::string::npos; }
    [[nodiscard]] const std::string& said() const { return m_said; }

  private:
    pid_t m_child = -1;
    int m_errors = -1;
    std::string m_said;
};

class RemoteSearchOverSsh : public RemoteRuns {
  protected:
    void SetUp() override {
        RemoteRuns::SetUp();
        if (!std::filesystem::exists("/usr/sbin/sshd")) GTEST_SKIP() << "sshd is missing (package openssh-server)";
        if (!makeKey(file("host_key")) || !makeKey(file("user_key"))) {
            GTEST_SKIP() << "ssh-keygen makes no keys (package openssh-client)";
        }
        m_port = freePort();
        ASSERT_NE(m_port, 0);
        writeBytes(file("sshd_config"), "Port " + std::to_string(m_port) + "\nListenAddress 127.0.0.1\nHostKey " +
                                            file("host_key") + "\nAuthorizedKeysFile " + file("user_key.pub") +
                                            "\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"
                                            "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
                                            "SetEnv XDG_DATA_HOME=" +
                                            there() + "\n");
        writeConfig("user_key", true);
        setSsh("exec ssh -F '" + file("ssh_config") + "' \"$@\"");
        m_sshd = std::make_unique<Sshd>(file("sshd_config"));
        if (!m_sshd->listens()) GTEST_SKIP() << "sshd does not start here: " << m_sshd->said();
    }

    void writeConfig(const std::string& key, bool hostKnown) const {
        const passwd* user = ::getpwuid(::geteuid());
        ASSERT_NE(user, nullptr);
        const std::string hostKey = readBytes(file("host_key.pub"));
        writeBytes(file("known_hosts"),
                   hostKnown ? "[127.0.0.1]:" + std::to_string(m_port) + " " + hostKey : std::string());
        writeBytes(file("ssh_config"), "Host somewhere\n  HostName 127.0.0.1\n  Port " + std::to_string(m_port) +
                                           "\n  User " + user->pw_name + "\n  IdentityFile " + file(key) +
                                           "\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile " +
                                           file("known_hosts") +
                                           "\n  GlobalKnownHostsFile none\n"
                                           "  StrictHostKeyChecking yes\n");
    }

    int m_port = 0;
    std::unique_ptr<Sshd> m_sshd;
};

TEST_F(RemoteSearchOverSsh, CutInTheMiddleAndPickedUpItEndsAsHere) {
    Program program(atHome(onHost(longSearch(database()))));
    ASSERT_TRUE(program.waitForError(underWay));
    cutConnection();
    const Finished done = program.finish();
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("was lost"));
    EXPECT_THAT(done.err, HasSubstr("connected to 'somewhere' again"));
    expectSameAsLocal(done, longSearch(file("whole.db")), file("whole.db"));
    EXPECT_TRUE(jobs().empty());
}

TEST_F(RemoteSearchOverSsh, AMachineThatGoesDownUnderTheStarterLosesNothing) {
    {
        Program program(atHome(onHost(longSearch(database()))));
        ASSERT_TRUE(program.waitForError(underWay));
        program.send(SIGKILL);
        EXPECT_EQ(program.finish().code, -SIGKILL);
    }
    const Finished resumed = run(atHome({"resume", "last", "--db", database(), "--json"}));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    expectSameAsLocal(resumed, longSearch(file("whole.db")), file("whole.db"));
}

TEST_F(RemoteSearchOverSsh, UnknownKeysAndClosedDoorsAreToldApart) {
    writeConfig("user_key", false);
    const Finished unknown = run(atHome(onHost(smallSearch(database()))));
    EXPECT_EQ(unknown.code, 1);
    EXPECT_THAT(unknown.err, HasSubstr("does not know the key of 'somewhere'"));
    writeConfig("host_key", true);  // a key that nobody lets in
    const Finished closed = run(atHome(onHost(smallSearch(database()))));
    EXPECT_EQ(closed.code, 1);
    EXPECT_THAT(closed.err, HasSubstr("without asking for a password"));
    writeConfig("user_key", true);
    m_sshd.reset();
    const Finished away = run(atHome(onHost(smallSearch(database()))));
    EXPECT_EQ(away.code, 1);
    EXPECT_THAT(away.err, HasSubstr("'somewhere' cannot be reached"));
}

TEST_F(RemoteSearchOverSsh, AProgramThatIsNotThereIsNamed) {
    std::vector<std::string> arguments = smallSearch(database());
    arguments.insert(arguments.end(), {"--host", "somewhere", "--remote-lpes", "/no such/lpes $(date)"});
    const Finished done = run(atHome(arguments));
    EXPECT_EQ(done.code, 4) << done.err;
    EXPECT_THAT(done.err, HasSubstr("'/no such/lpes $(date)' cannot be started on 'somewhere'"));
}

}  // namespace
}  // namespace lpes::test
