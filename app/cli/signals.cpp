#include "app/cli/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include "core/base/error.h"

namespace lpes::cli {

namespace {

// One process has one set of signals; these live until it ends because the waiting thread does.
std::stop_source& stopSource() {
    static auto* const source = new std::stop_source;
    return *source;
}
std::atomic<bool> g_graceful{false};
std::atomic<bool> g_quiet{false};

/// Schedulers and timeout(1) send one request to the process and to its group: both arrive, nobody asked twice.
constexpr std::chrono::milliseconds kSameRequest{300};

void waitForSignals(sigset_t signals) {
    std::chrono::steady_clock::time_point first;
    for (;;) {
        int number = 0;
        if (::sigwait(&signals, &number) != 0) continue;
        if (!g_graceful.load()) ::_exit(kExitStopped);
        const auto now = std::chrono::steady_clock::now();
        if (stopSource().stop_requested()) {
            if (now - first < kSameRequest) continue;
            ::_exit(kExitStopped);
        }
        first = now;
        constexpr std::string_view kNotice = "\nlpes: stopping after the item in flight; once more to quit at once\n";
        if (!g_quiet.load()) (void)!::write(STDERR_FILENO, kNotice.data(), kNotice.size());
        stopSource().request_stop();
    }
}

bool isIgnored(int signal) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void reserveStandardDescriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free number is this one, as those below it are open by now.
        const int flags = descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY;
        if (::open("/dev/null", flags) < 0) ::_exit(exitCode(ErrorCode::Failed));
    }
}

void startSignals() {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        if (!isIgnored(signal)) ::sigaddset(&signals, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    (void)stopSource();
    std::thread(waitForSignals, signals).detach();
}

std::stop_token stopOnSignal() {
    g_graceful.store(true);
    return stopSource().get_token();
}

void leaveSignalsToLeader() {
    g_quiet.store(true);
    g_graceful.store(true);
}

}  // namespace lpes::cli
