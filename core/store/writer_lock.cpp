#include "core/store/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/host.h"
#include "core/base/json_text.h"

namespace lpes::store {

namespace {

constexpr std::size_t kMaxLockText = 4096;

struct flock wholeFile(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;  // start 0, length 0 = to the end; l_pid must be 0 for open-file-description locks
}

/// "lpes search (process 12 on host a)"; vague while the holder has not yet written its name.
std::string describeHolder(int fd) {
    std::string text(kMaxLockText, '\0');
    const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    const nlohmann::json holder = nlohmann::json::parse(text, nullptr, false);
    if (!holder.is_object() || !holder.contains("holder") || !holder["holder"].is_string() || !holder.contains("pid") ||
        !holder["pid"].is_number_integer() || !holder.contains("host") || !holder["host"].is_string()) {
        return "another process that has just started";
    }
    return fmt::format("{} (process {} on {})", holder["holder"].get<std::string>(), holder["pid"].get<long long>(),
                       holder["host"].get<std::string>());
}

/// For people only: the lock does not depend on it, so a full disk here is no reason to refuse.
void writeHolder(int fd, const std::string& holder) {
    nlohmann::json json;
    json["holder"] = holder;
    json["pid"] = static_cast<long long>(::getpid());
    json["host"] = hostName();
    std::string text = jsonLine(json) + "\n";
    const bool written = ::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    if (::ftruncate(fd, written ? static_cast<off_t>(text.size()) : 0) != 0) return;
}

}  // namespace

std::filesystem::path lockPath(const std::filesystem::path& database) {
    std::filesystem::path path = database;
    path += ".lock";
    return path;
}

Result<WriterLock> WriterLock::acquire(const std::filesystem::path& database, const std::string& holder) {
    const std::string path = lockPath(database).string();
    WriterLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (lock.m_fd < 0) {
        const std::string why = std::strerror(errno);
        return fail(ErrorCode::Database,
                    fmt::format("cannot write the data base '{}': its lock file '{}' cannot be made; check that the "
                                "folder is writable and has space, or name another data base with --db",
                                database.string(), path),
                    why);
    }
    struct flock request = wholeFile(F_WRLCK);
    while (::fcntl(lock.m_fd, F_OFD_SETLK, &request) != 0) {
        if (errno == EINTR) continue;
        const int code = errno;
        const std::string who = describeHolder(lock.m_fd);
        ::close(std::exchange(lock.m_fd, -1));  // not ours: leave its text alone
        if (code == EAGAIN || code == EACCES) {
            return fail(ErrorCode::Database,
                        fmt::format("the data base '{}' is being written by {}; wait until it ends, stop it, or name "
                                    "another data base with --db",
                                    database.string(), who));
        }
        return fail(ErrorCode::Database,
                    fmt::format("the file system refuses to lock '{}', so the data base cannot be written safely; name "
                                "one on another disk with --db",
                                path),
                    std::strerror(code));
    }
    writeHolder(lock.m_fd, holder);
    return lock;
}

Result<bool> WriterLock::held(const std::filesystem::path& database) {
    const std::string path = lockPath(database).string();
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return false;
    struct flock question = wholeFile(F_WRLCK);
    const bool answered = fd >= 0 && ::fcntl(fd, F_OFD_GETLK, &question) == 0;
    const int code = errno;
    if (fd >= 0) ::close(fd);
    if (!answered) {
        return fail(
            ErrorCode::Database,
            fmt::format("cannot find out whether anybody writes the data base '{}': its lock file '{}' cannot be "
                        "examined; check its permissions",
                        database.string(), path),
            std::strerror(code));
    }
    return question.l_type != F_UNLCK;
}

WriterLock::~WriterLock() {
    if (m_fd < 0) return;
    // Unlock by name, not only by closing: a child process may still hold a copy of the descriptor.
    const bool cleared = ::ftruncate(m_fd, 0) == 0;
    static_cast<void>(cleared);
    struct flock release = wholeFile(F_UNLCK);
    ::fcntl(m_fd, F_OFD_SETLK, &release);
    ::close(m_fd);
}

WriterLock::WriterLock(WriterLock&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
    std::swap(m_fd, other.m_fd);
    return *this;
}

}  // namespace lpes::store
