#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// Runs the built command line as a process of its own, which is how its exit codes, its streams and its signals can be
/// tested.
namespace lpes::test {

struct Finished {
    int code = -1;  ///< exit code; −signal when a signal ended it
    std::string out, err;
    /// Standard output as the one JSON object that it must be; discarded otherwise.
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

struct Start {
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;  ///< besides PATH, and a HOME in `home`
    std::string input;
    std::string home = "/nonexistent";
    bool closeStandardOutput = false;
    std::string program = "";  ///< a name in PATH; empty: the built command line
};

/// A process that runs. Killed when it is forgotten.
class Program {
  public:
    explicit Program(const Start& start);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// Reads until `seen` holds for standard error so far; false when the process ended before.
    [[nodiscard]] bool waitForError(const std::function<bool(const std::string&)>& seen);
    void send(int signal) const;
    [[nodiscard]] pid_t pid() const { return m_pid; }
    /// Closes our end of its standard output without reading it, as `head` does.
    void closeOutput();
    [[nodiscard]] Finished finish();

  private:
    bool readSome();

    pid_t m_pid = -1;
    int m_out = -1, m_err = -1;
    Finished m_finished;
};

[[nodiscard]] Finished run(const Start& start);
[[nodiscard]] Finished run(const std::vector<std::string>& arguments);

/// Path of the built `lpes`.
[[nodiscard]] std::string programPath();

}  // namespace lpes::test
