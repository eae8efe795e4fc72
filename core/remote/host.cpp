#include "core/remote/host.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/base/shell_words.h"
#include "core/base/version.h"

namespace lpes::remote {

namespace {

constexpr int kSshFailed = 255;
constexpr int kNotFound = 127;

/// The last line that says something, for the detail of an error.
std::string lastLine(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    const std::size_t before = text.find_last_of('\n');
    if (before != std::string_view::npos) text.remove_prefix(before + 1);
    return std::string(text.substr(0, 500));
}

std::string sshSentence(const std::string& host, std::string_view said) {
    const auto has = [&](std::string_view words) { return said.find(words) != std::string_view::npos; };
    if (has("Host key verification failed")) {
        return fmt::format(
            "ssh does not know the key of '{0}', or it has changed; run 'ssh {0}' once, and accept it if it is right",
            host);
    }
    if (has("Permission denied") || has("Too many authentication failures")) {
        return fmt::format(
            "'{0}' does not let you in without asking for a password; set up a key (ssh-copy-id) or unlock it "
            "(ssh-add), until 'ssh {0}' works without a question",
            host);
    }
    if (has("Could not resolve hostname")) {
        return fmt::format("ssh finds no machine '{}'; check the name, or give it one in ~/.ssh/config", host);
    }
    return fmt::format("'{0}' cannot be reached; check that it is on and that 'ssh {0}' works", host);
}

}  // namespace

Result<void> checkHost(const Host& host) {
    if (host.name.empty()) return fail(ErrorCode::Usage, "--host is empty; name a machine, as in user@machine");
    const bool odd = host.name.front() == '-' || host.name.find_first_of(" \t\r\n") != std::string::npos;
    if (odd) {
        return fail(
            ErrorCode::Usage,
            fmt::format("--host '{}' is no name of a machine; give it as ssh takes it, as in user@machine", host.name));
    }
    if (host.program.empty()) return fail(ErrorCode::Usage, "--remote-lpes is empty; name the program lpes there");
    // ssh reads options behind the machine's name too.
    if (host.program.front() == '-') {
        return fail(ErrorCode::Usage,
                    fmt::format("--remote-lpes '{}' is no name of a program; name lpes there", host.program));
    }
    return {};
}

std::string remoteCommand(const Host& host) {
    constexpr std::string_view kHome = "~/";
    const std::string_view program = host.program;
    const bool atHome = program.starts_with(kHome);
    return (atHome ? std::string(kHome) + shellWord(program.substr(kHome.size())) : shellWord(program)) +
           " remote serve";
}

std::vector<std::string> sshCommand(const Host& host) {
    const char* named = std::getenv("LPES_SSH");
    std::vector<std::string> command{named != nullptr && *named != '\0' ? named : "ssh", "-T", "-C"};
    // The latter as sftp does: what the user's configuration has for his own logins would be in the way.
    for (const char* option :
         {"BatchMode=yes", "ConnectTimeout=20", "ServerAliveInterval=15", "ServerAliveCountMax=3",
          "ClearAllForwardings=yes", "ForwardX11=no", "PermitLocalCommand=no", "RemoteCommand=none"}) {
        command.insert(command.end(), {"-o", option});
    }
    command.insert(command.end(), {"--", host.name, remoteCommand(host)});
    return command;
}

Error connectionError(const Host& host, int exitCode, std::string_view said) {
    const std::string detail = lastLine(said);
    if (exitCode == kSshFailed) return {ErrorCode::Failed, sshSentence(host.name, said), detail, {}};
    if (exitCode == kNotFound) {
        return {ErrorCode::Unsupported,
                fmt::format("'{}' cannot be started on '{}'; install LPES Studio there, or name the program with "
                            "--remote-lpes (a shell that is not a login shell must find it)",
                            host.program, host.name),
                detail,
                {}};
    }
    if (said.find("unknown verb 'remote'") != std::string_view::npos) {
        return {ErrorCode::Unsupported,
                fmt::format("lpes on '{}' is too old to be used from here; install {} there, the version of this one",
                            host.name, kVersion),
                detail,
                {}};
    }
    return {ErrorCode::Failed,
            fmt::format("lpes on '{}' ended before it answered (exit code {})", host.name, exitCode),
            detail,
            {}};
}

}  // namespace lpes::remote
