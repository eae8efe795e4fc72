#include "core/remote/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/child_process.h"
#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/remote/messages.h"
#include "core/store/store.h"

namespace lpes::remote {

namespace {

using nlohmann::json;

/// ssh gives up by itself after 20 s where nobody answers; a login that says nothing for longer than this does not.
constexpr int kGreetingMs = 120'000;
/// What ssh has to end by itself, and again once it was told to.
constexpr double kEndSeconds = 2.0;

bool isEvent(const json& message) {
    const std::string type = textIn(message, "type");
    return type == "line" || type == "ended";
}

}  // namespace

Session::Session(Host host, pid_t child, int in, int out, int errors)
    : m_host(std::move(host)), m_child(child), m_in(in), m_out(out), m_errors(errors), m_channel(in, out) {}

Result<std::unique_ptr<Session>> Session::open(const Host& host, int wake) {
    if (auto named = checkHost(host); !named) return fail(named.error());
    // A socket towards it, because writing to one that is gone need not be a signal; and a file for its complaints,
    // which nobody has to read for it to go on.
    int towards[2] = {-1, -1}, from[2] = {-1, -1};
    const int errors = ::memfd_create("ssh-errors", MFD_CLOEXEC);
    const bool made = errors >= 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, towards) == 0 &&
                      ::pipe2(from, O_CLOEXEC) == 0;
    Result<pid_t> child = fail(ErrorCode::Failed, "cannot start ssh", made ? "" : std::strerror(errno));
    if (made) child = startChild({sshCommand(host), towards[1], from[1], errors, true});
    for (const int theirs : {towards[1], from[1]}) {
        if (theirs >= 0) ::close(theirs);
    }
    if (!child) {
        for (const int ours : {towards[0], from[0], errors}) {
            if (ours >= 0) ::close(ours);
        }
        Error error = child.error();
        if (error.code == ErrorCode::Unsupported) {
            error.message += "; install openssh-client, or name another program in LPES_SSH";
        }
        return fail(std::move(error));
    }
    std::unique_ptr<Session> session(new Session(host, *child, from[0], towards[0], errors));
    if (auto greeted = session->greet(wake); !greeted) return fail(greeted.error());
    return session;
}

Session::~Session() {
    end();
    for (const int descriptor : {m_in, m_out, m_errors}) {
        if (descriptor >= 0) ::close(descriptor);
    }
}

Result<void> Session::greet(int wake) {
    const Channel::Incoming greeting = m_channel.receive(kGreetingMs, wake);
    if (greeting.kind == Channel::Kind::Closed) {
        const int code = end();
        std::string said = standardError();
        if (said.empty()) said = m_channel.strayLine();
        return fail(connectionError(m_host, code, said));
    }
    if (greeting.kind == Channel::Kind::Woken) return fail(ErrorCode::Failed, "stopped while connecting");
    if (greeting.kind == Channel::Kind::Nothing) {
        return fail(ErrorCode::Failed,
                    fmt::format("'{0}' did not answer within {1} s; check that 'ssh {0}' works and asks for nothing",
                                m_host.name, kGreetingMs / 1000),
                    standardError());
    }
    const std::int64_t protocol = numberIn(greeting.message, "lpes_remote", -1);
    m_version = textIn(greeting.message, "version", "of an unknown version");
    if (protocol != kProtocol) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("lpes {} on '{}' speaks another protocol ({}) than lpes {} here ({}); install the same "
                                "version on both machines",
                                m_version, m_host.name, protocol, kVersion, kProtocol));
    }
    if (numberIn(greeting.message, "schema", 0) > store::kSchemaVersion) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("lpes {} on '{}' writes data bases that are too new for lpes {} here; update LPES "
                                "Studio on this machine",
                                m_version, m_host.name, kVersion));
    }
    return {};
}

Error Session::lostError() {
    m_lost = true;
    return {ErrorCode::Failed, fmt::format("the connection to '{}' was lost", m_host.name), {}, {}};
}

Result<json> Session::answer() {
    for (;;) {
        Channel::Incoming incoming = m_channel.receive(-1);
        if (incoming.kind != Channel::Kind::Message) return fail(lostError());
        if (isEvent(incoming.message)) {
            m_events.push_back(std::move(incoming.message));
            continue;
        }
        if (textIn(incoming.message, "type") != "error") return std::move(incoming.message);
        Error error = errorFromJson(incoming.message);
        error.context = fmt::format("on '{}'", m_host.name);
        return fail(std::move(error));
    }
}

Result<json> Session::ask(const json& request) {
    if (auto told = tell(request); !told) return fail(told.error());
    return answer();
}

Result<json> Session::askWithFile(const json& request, const std::filesystem::path& file, std::uint64_t bytes) {
    if (auto told = tell(request); !told) return fail(told.error());
    if (auto sent = m_channel.sendFile(file, bytes); !sent) {
        if (sent.error().code == ErrorCode::Failed) return fail(lostError());
        return fail(sent.error());
    }
    return answer();
}

Result<void> Session::tell(const json& request) {
    if (m_lost || !m_channel.send(request)) return fail(lostError());
    return {};
}

Result<void> Session::receiveFile(const std::filesystem::path& file, std::uint64_t bytes) {
    auto received = m_channel.receiveFile(file, bytes);
    // A file that cannot be written leaves the connection whole.
    if (!received && m_channel.closed()) return fail(lostError());
    return received;
}

Channel::Incoming Session::nextEvent(int timeoutMs, int wake) {
    if (!m_events.empty()) {
        Channel::Incoming kept{Channel::Kind::Message, std::move(m_events.front())};
        m_events.pop_front();
        return kept;
    }
    Channel::Incoming incoming = m_channel.receive(timeoutMs, wake);
    if (incoming.kind == Channel::Kind::Closed) m_lost = true;
    return incoming;
}

std::string Session::whyLost() {
    const int code = end();
    return connectionError(m_host, code, standardError()).detail;
}

int Session::end() {
    if (m_child <= 0) return m_exitCode;
    ::shutdown(m_out, SHUT_WR);
    // It is through when it has closed its output; what it still prints is passed over. One that has not come so far as
    // to greet waits for somebody else and ends by nothing that we do here.
    const bool connecting = m_version.empty() && !m_channel.closed();
    const double until = steadySeconds() + (connecting ? 0.0 : kEndSeconds);
    pollfd output{m_in, POLLIN, 0};
    std::string passedOver(1 << 16, '\0');
    bool through = m_channel.closed();
    for (double left = 0.0; !through && (left = until - steadySeconds()) > 0.0;) {
        if (::poll(&output, 1, static_cast<int>(left * 1000.0) + 1) <= 0) break;
        through = ::read(m_in, passedOver.data(), passedOver.size()) <= 0;
    }
    // One that has ended is not waited for yet, so the number is still its own.
    constexpr int kGraceMs = static_cast<int>(kEndSeconds * 1000.0);
    auto code = waitForChild(m_child, through ? kGraceMs : 0);
    for (const int signal : {SIGTERM, SIGKILL}) {
        if (code) break;
        ::kill(m_child, signal);
        code = waitForChild(m_child, kGraceMs);
    }
    m_exitCode = code.value_or(128 + SIGKILL);
    m_child = -1;
    return m_exitCode;
}

std::string Session::standardError() const {
    std::string text(1 << 16, '\0');
    const ssize_t got = ::pread(m_errors, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

}  // namespace lpes::remote
