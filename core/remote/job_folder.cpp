#include "core/remote/job_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/child_process.h"
#include "core/base/descriptor.h"
#include "core/base/files.h"
#include "core/remote/messages.h"

namespace lpes::remote {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::size_t kMaxOrder = 16u << 20;
constexpr std::size_t kEndRoom = 8192;

int opened(const fs::path& path, int flags) {
    return ::open(path.c_str(), flags | O_CLOEXEC, 0600);
}

std::optional<json> readJson(const fs::path& file, std::size_t most) {
    const auto text = readTextFile(file, most);
    if (!text) return std::nullopt;
    json parsed = json::parse(*text, nullptr, false);
    if (!parsed.is_object()) return std::nullopt;
    return parsed;
}

}  // namespace

Error notWritten(const fs::path& path, const std::string& why) {
    return {ErrorCode::Failed,
            fmt::format("cannot write '{}'; check that its disk has space and the folder is writable", path.string()),
            why,
            {}};
}

fs::path remoteFolder() {
    return userDataFolder() / "remote";
}

Result<JobFolder> JobFolder::named(const fs::path& root, const std::string& name) {
    const bool plain = !name.empty() && name.size() <= 64 &&
                       name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (!plain) return fail(ErrorCode::Usage, fmt::format("'{}' is no name of a job", name));
    return JobFolder(root / "jobs" / name);
}

Result<bool> JobFolder::make() {
    std::error_code error;
    fs::create_directories(m_path.parent_path(), error);
    const bool made = !error && fs::create_directory(m_path, error);
    if (error) return fail(notWritten(m_path, std::strerror(error.value())));
    return made;
}

bool JobFolder::exists() const {
    std::error_code ignored;
    return fs::is_directory(m_path, ignored);
}

void JobFolder::remove() const {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
}

Result<void> JobFolder::writeOrder(const JobOrder& order) const {
    return writeFileAtomically(
        m_path / "job.json",
        jsonLine({{"settings", order.settings}, {"workers", order.workers ? json(*order.workers) : json(nullptr)}}) +
            "\n");
}

Result<JobOrder> JobFolder::readOrder() const {
    const auto stored = readJson(m_path / "job.json", kMaxOrder);
    if (!stored || !stored->contains("settings")) {
        return fail(ErrorCode::BadInput, fmt::format("'{}' holds no job; start the search again", m_path.string()));
    }
    JobOrder order{(*stored)["settings"], std::nullopt};
    if (const std::int64_t workers = numberIn(*stored, "workers"); workers > 0) {
        order.workers = static_cast<int>(workers);
    }
    return order;
}

Result<void> JobFolder::start(const std::vector<std::string>& command) const {
    // Two connections may ask for the same at once; the second finds the first one's process.
    const Descriptor lock(opened(m_path / "start.lock", O_RDWR | O_CREAT));
    if (lock.fd < 0) return fail(notWritten(m_path, std::strerror(errno)));
    while (::flock(lock.fd, LOCK_EX) != 0) {
        if (errno != EINTR) return fail(notWritten(m_path, std::strerror(errno)));
    }
    if (alive()) return {};
    if (auto reserved = reserveEnd(); !reserved) return reserved;
    const Descriptor nothing(opened("/dev/null", O_RDONLY)), out(opened(output(), O_WRONLY | O_CREAT | O_TRUNC)),
        log(opened(this->log(), O_WRONLY | O_CREAT | O_APPEND));
    if (nothing.fd < 0 || out.fd < 0 || log.fd < 0) return fail(notWritten(m_path, std::strerror(errno)));
    ChildStart job{command, nothing.fd, out.fd, log.fd, true};
    job.command.push_back(m_path.string());
    const auto child = startChild(job);
    if (!child) return fail(child.error());
    // It is our child and not waited for: its number is its own whatever becomes of it.
    const auto process = JobProcess::of(*child);
    Result<void> noted = fail(ErrorCode::Failed, "the process of the search cannot be found; is /proc there?");
    if (process) noted = writeFileAtomically(m_path / "process.json", jsonLine(process->toJson()) + "\n");
    if (!noted) {
        // One that nobody could find again, as where the disk is full, must not go on.
        ::kill(*child, SIGKILL);
        static_cast<void>(waitForChild(*child));
    }
    return noted;
}

std::optional<JobProcess> JobFolder::process() const {
    const auto stored = readJson(m_path / "process.json", kMaxOrder);
    return stored ? JobProcess::fromJson(*stored) : std::nullopt;
}

bool JobFolder::alive() const {
    const auto running = process();
    return running && running->alive();
}

Result<void> JobFolder::askToStop() const {
    const auto running = process();
    if (!running || !running->alive()) return {};
    const json asked = running->toJson();
    if (readJson(m_path / "stop.json", kMaxOrder) == asked) return {};
    if (auto noted = writeFileAtomically(m_path / "stop.json", jsonLine(asked) + "\n"); !noted) return noted;
    ::kill(running->pid, SIGTERM);
    return {};
}

Result<void> JobFolder::reserveEnd() const {
    std::string room(kEndRoom, ' ');
    room.back() = '\n';
    return writeFileAtomically(m_path / "end", room);
}

Result<void> JobFolder::writeEnd(const JobEnd& end) const {
    json note = json::object();
    note["exit_code"] = end.exitCode;
    if (end.error) note["error"] = toJson(*end.error);
    const Descriptor file(opened(m_path / "end", O_WRONLY | O_CREAT));
    if (file.fd < 0) return fail(notWritten(m_path / "end", std::strerror(errno)));
    if (const int error = writeAll(file.fd, jsonLine(note)); error != 0)
        return fail(notWritten(m_path / "end", std::strerror(error)));
    return {};
}

std::optional<JobEnd> JobFolder::readEnd() const {
    const auto note = readJson(m_path / "end", kMaxOrder);  // blanks, while it goes on, are no JSON
    if (!note) return std::nullopt;
    JobEnd end{static_cast<int>(numberIn(*note, "exit_code", 1)), std::nullopt};
    if (note->contains("error")) end.error = errorFromJson((*note)["error"]);
    return end;
}

}  // namespace lpes::remote
