#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/remote/job_process.h"

namespace lpes::remote {

/// userDataFolder()/remote: jobs/ and data/ of searches that others run here, handles/ of those that we run elsewhere.
[[nodiscard]] std::filesystem::path remoteFolder();

/// That a file or folder cannot be written; `why`: the system's words.
[[nodiscard]] Error notWritten(const std::filesystem::path& path, const std::string& why);

/// What is asked of a job, as it lies in its folder.
struct JobOrder {
    nlohmann::json settings;     ///< of the search, as the data base has them
    std::optional<int> workers;  ///< another number for a search taken up again
};

/// How a job ended.
struct JobEnd {
    int exitCode = 0;
    std::optional<Error> error;
};

/// The folder of one search on the machine where it runs: its order (job.json), its data base (run.db), what it printed
/// (out: the result; log: progress as JSON lines, appended over all sittings), who works on it (process.json), and how
/// it ended (end). Made by the agent, filled by the job, which outlives every connection. thread-compatible.
class JobFolder {
  public:
    /// `name`: letters, digits and dashes, chosen by who starts it, so that starting twice is starting once. Usage
    /// otherwise.
    [[nodiscard]] static Result<JobFolder> named(const std::filesystem::path& root, const std::string& name);
    explicit JobFolder(std::filesystem::path path) : m_path(std::move(path)) {}

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
    [[nodiscard]] std::filesystem::path database() const { return m_path / "run.db"; }
    [[nodiscard]] std::filesystem::path log() const { return m_path / "log"; }
    [[nodiscard]] std::filesystem::path output() const { return m_path / "out"; }

    /// False when it was there before. Failed when the disk refuses.
    [[nodiscard]] Result<bool> make();
    [[nodiscard]] bool exists() const;
    void remove() const;

    [[nodiscard]] Result<void> writeOrder(const JobOrder& order) const;
    [[nodiscard]] Result<JobOrder> readOrder() const;

    /// Starts a program as the job's process, in a session of its own, its streams led to log and out: `command` and
    /// the folder's path. Takes back an end that was noted before. Where it fails nothing runs.
    [[nodiscard]] Result<void> start(const std::vector<std::string>& command) const;
    [[nodiscard]] std::optional<JobProcess> process() const;
    [[nodiscard]] bool alive() const;

    /// Asks its process to stop as Ctrl-C would; once, because a second time would end it at once.
    [[nodiscard]] Result<void> askToStop() const;

    /// Notes how the job ended, where the disk is full too: the room was taken when it started.
    [[nodiscard]] Result<void> writeEnd(const JobEnd& end) const;
    /// None while it goes on, and for one that died.
    [[nodiscard]] std::optional<JobEnd> readEnd() const;

  private:
    [[nodiscard]] Result<void> reserveEnd() const;
    std::filesystem::path m_path;
};

}  // namespace lpes::remote
