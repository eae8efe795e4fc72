#include "tests/app/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

namespace lpes::test {

namespace {

struct Pipe {
    int read = -1, write = -1;
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
        read = ends[0];
        write = ends[1];
    }
};

std::vector<std::string> environmentOf(const Start& start) {
    std::map<std::string, std::string> all{{"HOME", start.home}, {"XDG_DATA_HOME", start.home}};
    for (const char* kept : {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"}) {
        if (const char* value = std::getenv(kept)) all[kept] = value;
    }
    for (const auto& [name, value] : start.environment) all[name] = value;
    std::vector<std::string> out;
    for (const auto& [name, value] : all) out.push_back(name + "=" + value);
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

void feed(int descriptor, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t put = ::write(descriptor, text.data() + done, text.size() - done);
        if (put <= 0) break;
        done += static_cast<std::size_t>(put);
    }
    ::close(descriptor);
}

}  // namespace

std::string programPath() {
    return LPES_PROGRAM;
}

Program::Program(const Start& start) {
    ::signal(SIGPIPE, SIG_IGN);
    const Pipe in, out, err;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
    if (start.closeStandardOutput) {
        ::posix_spawn_file_actions_addclose(&actions, STDOUT_FILENO);
    } else {
        ::posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
    }
    // Whoever started the tests may ignore signals (a job in the background does).
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t usual, none;
    ::sigemptyset(&usual);
    ::sigemptyset(&none);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::sigaddset(&usual, signal);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

    const std::string program = start.program.empty() ? programPath() : start.program;
    std::vector<std::string> arguments{program};
    arguments.insert(arguments.end(), start.arguments.begin(), start.arguments.end());
    std::vector<std::string> environment = environmentOf(start);
    const int error = ::posix_spawnp(&m_pid, program.c_str(), &actions, &attributes, pointers(arguments).data(),
                                     pointers(environment).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in.read);
    ::close(out.write);
    ::close(err.write);
    m_out = out.read;
    m_err = err.read;
    if (error != 0) throw std::runtime_error("cannot start " + program);
    feed(in.write, start.input);
}

Program::~Program() {
    if (m_pid > 0) {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
    for (const int descriptor : {m_out, m_err}) {
        if (descriptor >= 0) ::close(descriptor);
    }
}

bool Program::readSome() {
    pollfd sources[2] = {{m_out, POLLIN, 0}, {m_err, POLLIN, 0}};
    if (::poll(sources, 2, -1) < 0) return errno == EINTR;
    bool open = false;
    for (int i = 0; i < 2; ++i) {
        int& descriptor = i == 0 ? m_out : m_err;
        if (descriptor < 0) continue;
        if (sources[i].revents == 0) {
            open = true;
            continue;
        }
        char buffer[1 << 14];
        const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
        if (got > 0) {
            (i == 0 ? m_finished.out : m_finished.err).append(buffer, static_cast<std::size_t>(got));
            open = true;
        } else {
            ::close(descriptor);
            descriptor = -1;
        }
    }
    return open;
}

bool Program::waitForError(const std::function<bool(const std::string&)>& seen) {
    while (!seen(m_finished.err)) {
        if (m_err < 0 || !readSome()) return seen(m_finished.err);
    }
    return true;
}

void Program::send(int signal) const {
    ::kill(m_pid, signal);
}

void Program::closeOutput() {
    ::close(m_out);
    m_out = -1;
}

Finished Program::finish() {
    while (readSome()) {
    }
    int status = 0;
    while (::waitpid(m_pid, &status, 0) < 0 && errno == EINTR) {
    }
    m_pid = -1;
    m_finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return m_finished;
}

Finished run(const Start& start) {
    return Program(start).finish();
}

Finished run(const std::vector<std::string>& arguments) {
    Start start;
    start.arguments = arguments;
    return run(start);
}

}  // namespace lpes::test
