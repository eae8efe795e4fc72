#include "core/base/child_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace lpes {

namespace {

constexpr int kLostChild = 128;  ///< somebody else waited for it: how it ended is not known
constexpr int kLookEveryMs = 10;

int codeOf(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<pid_t> startChild(const ChildStart& start) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    const int given[] = {start.in, start.out, start.err};
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) {
        if (given[standard] >= 0) ::posix_spawn_file_actions_adddup2(&actions, given[standard], standard);
    }
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none, usual;
    ::sigemptyset(&none);
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGPIPE);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (start.ownSession) flags |= POSIX_SPAWN_SETSID;
    ::posix_spawnattr_setflags(&attributes, static_cast<short>(flags));

    std::vector<std::string> words = start.command;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error == 0) return child;
    return fail(error == ENOENT ? ErrorCode::Unsupported : ErrorCode::Failed,
                fmt::format("cannot start '{}'", start.command[0]), std::strerror(error));
}

int waitForChild(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return kLostChild;
    }
    return codeOf(status);
}

std::optional<int> waitForChild(pid_t child, int timeoutMs) {
    for (int left = timeoutMs;; left -= kLookEveryMs) {
        int status = 0;
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child) return codeOf(status);
        if (ended < 0 && errno != EINTR) return kLostChild;
        if (left <= 0) return std::nullopt;
        ::poll(nullptr, 0, kLookEveryMs);
    }
}

}  // namespace lpes
