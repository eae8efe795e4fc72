#include "core/tasks/record_spool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace lpes::tasks {

Result<RecordSpool> RecordSpool::create() {
    const char* chosen = std::getenv("TMPDIR");
    const std::string folder = chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
    std::string path = folder + "/lpes-items-XXXXXX";
    const int file = ::mkstemp(path.data());
    if (file < 0) {
        return fail(ErrorCode::Failed,
                    fmt::format("cannot keep the items in {}: {}; set TMPDIR to a folder that is writable", folder,
                                std::strerror(errno)));
    }
    ::unlink(path.c_str());
    return RecordSpool(file);
}

RecordSpool::~RecordSpool() {
    if (m_file >= 0) ::close(m_file);
}

RecordSpool::RecordSpool(RecordSpool&& other) noexcept
    : m_file(std::exchange(other.m_file, -1)), m_ends(std::move(other.m_ends)) {}

RecordSpool& RecordSpool::operator=(RecordSpool&& other) noexcept {
    std::swap(m_file, other.m_file);
    std::swap(m_ends, other.m_ends);
    return *this;
}

Result<void> RecordSpool::append(std::string_view record) {
    std::int64_t at = m_ends.empty() ? 0 : m_ends.back();
    while (!record.empty()) {
        const auto written = ::pwrite(m_file, record.data(), record.size(), at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            return fail(ErrorCode::Failed, fmt::format("cannot keep the items on disk: {}; set TMPDIR to a folder with "
                                                       "more room",
                                                       std::strerror(written < 0 ? errno : ENOSPC)));
        }
        record.remove_prefix(static_cast<std::size_t>(written));
        at += written;
    }
    m_ends.push_back(at);
    return {};
}

Result<std::string> RecordSpool::read(std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    std::int64_t at = i == 0 ? 0 : m_ends[i - 1];
    std::string record(static_cast<std::size_t>(m_ends[i] - at), '\0');
    std::size_t done = 0;
    while (done < record.size()) {
        const auto got = ::pread(m_file, record.data() + done, record.size() - done, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            return fail(ErrorCode::Failed, fmt::format("cannot read item {} back from the disk: {}", index,
                                                       got < 0 ? std::strerror(errno) : "it ends early"));
        }
        done += static_cast<std::size_t>(got);
        at += got;
    }
    return record;
}

}  // namespace lpes::tasks
