#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/remote/channel.h"
#include "core/remote/job_folder.h"

namespace lpes::remote {

/// The far end of a connection: answers requests until the other side closes, and tells what a search prints while it
/// is followed. What it starts goes on without it. thread-compatible.
class Agent {
  public:
    struct Options {
        std::filesystem::path root = remoteFolder();  ///< where jobs and data lie
        std::vector<std::string> jobCommand;          ///< what works on a job; the job's folder is added
    };
    Agent(Options options, int in, int out) : m_options(std::move(options)), m_channel(in, out) {}

    /// Greets and serves until the other side is gone, which is how every connection ends.
    void serve();

  private:
    using Answer = Result<nlohmann::json>;

    /// Answers one request; false when the other side is gone.
    [[nodiscard]] bool answer(const nlohmann::json& request);
    /// Says why a request is not fulfilled; false as answer.
    [[nodiscard]] bool refuse(const Error& error);
    [[nodiscard]] Answer perform(const std::string& what, const nlohmann::json& request);
    [[nodiscard]] Answer findData(const nlohmann::json& request);
    [[nodiscard]] Answer exists(const nlohmann::json& request);
    [[nodiscard]] Answer putFile(const nlohmann::json& request);
    [[nodiscard]] Answer keepData(const nlohmann::json& request);
    [[nodiscard]] Answer start(const nlohmann::json& request);
    [[nodiscard]] Answer resume(const nlohmann::json& request);
    [[nodiscard]] Answer stop(const nlohmann::json& request);
    [[nodiscard]] Answer follow(const nlohmann::json& request);
    [[nodiscard]] Answer forget(const nlohmann::json& request);
    /// A snapshot of the job's run as a file, announced and sent; false when the other side is gone.
    [[nodiscard]] bool sendRows(const nlohmann::json& request);

    [[nodiscard]] Result<JobFolder> jobOf(const nlohmann::json& request) const;
    /// As jobOf; Usage when there is no such job here (any more).
    [[nodiscard]] Result<JobFolder> existingJob(const nlohmann::json& request) const;
    /// Folder of data that have come (`part`: are coming) with a key.
    [[nodiscard]] Result<std::filesystem::path> dataFolder(const nlohmann::json& request, bool part) const;

    /// Tells what was printed since, and the end; false when the other side is gone.
    [[nodiscard]] bool tellNews();
    [[nodiscard]] nlohmann::json endOf(const JobFolder& job) const;

    Options m_options;
    Channel m_channel;
    std::optional<JobFolder> m_followed;
    std::uint64_t m_offset = 0;  ///< into the followed job's log
};

/// Whole lines of a log from a byte on, as far as there are some: at most about a megabyte at a time. Of progress lines
/// that follow each other only the last is kept, for nobody wants to see where a search stood long ago.
struct LogLines {
    struct Line {
        std::string text;
        std::uint64_t next = 0;  ///< where the line behind it begins
    };
    std::vector<Line> lines;
    std::uint64_t firstEnd = 0;  ///< where the second line begins
    std::uint64_t next = 0;      ///< where to go on reading
};
/// `ended`: nothing more will be written, and what has no line end is a line as well.
[[nodiscard]] LogLines readLog(const std::filesystem::path& log, std::uint64_t from, bool ended);

}  // namespace lpes::remote
