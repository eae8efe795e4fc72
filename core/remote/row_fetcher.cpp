#include "core/remote/row_fetcher.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/base/clock.h"
#include "core/remote/messages.h"
#include "core/store/store.h"

namespace lpes::remote {

namespace fs = std::filesystem;

namespace {

constexpr double kFirstSeconds = 1.0;  ///< between looks whether the run has begun
constexpr double kLeastSeconds = 5.0;
constexpr double kTimesItsLength = 10.0;
constexpr int kLockedMs = 2000;

/// Whether the number at the end of a file's name is that of a process of this machine that is gone.
bool isLeftOver(const std::string& name, std::string_view beginning) {
    if (!name.starts_with(beginning)) return false;
    pid_t process = 0;
    const char* const end = name.data() + name.size();
    const auto [behind, error] = std::from_chars(name.data() + beginning.size(), end, process);
    return error == std::errc() && behind == end && process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

/// Removed when left.
struct PassingFile {
    const fs::path& path;
    ~PassingFile() {
        std::error_code ignored;
        fs::remove(path, ignored);
    }
};

}  // namespace

bool RowFetcher::due() const {
    return (m_news || m_run == 0) && steadySeconds() >= m_nextAt;
}

void RowFetcher::chooseFile(const std::string& job) {
    if (!m_file.empty()) return;
    std::error_code ignored;
    fs::path name = fs::absolute(m_database, ignored);
    name += ".remote-" + job + "-";
    const std::string beginning = name.filename().string();
    for (fs::directory_iterator at(name.parent_path(), ignored), end; !ignored && at != end; at.increment(ignored)) {
        std::error_code gone;
        if (isLeftOver(at->path().filename().string(), beginning)) fs::remove(at->path(), gone);
    }
    // Two programs may follow one search at the same time.
    m_file = name += fmt::format("{}", ::getpid());
}

Result<std::int64_t> RowFetcher::fetch(Session& session, const std::string& job) {
    const double began = steadySeconds();
    m_nextAt = began + kLeastSeconds;
    if (othersWrite()) {
        warnOnce(fmt::format("another program writes to the data base '{}'; rows are copied into it when it is free",
                             m_database.string()));
        return m_run;
    }
    chooseFile(job);
    const PassingFile passing{m_file};
    const auto received = receive(session, job);
    if (!received && session.lost()) return fail(received.error());
    Result<std::int64_t> merged = m_run;
    if (received && *received) merged = merge();
    const double took = steadySeconds() - began;
    m_nextAt = steadySeconds() + (m_run == 0 ? kFirstSeconds : std::max(kLeastSeconds, kTimesItsLength * took));
    m_news = false;
    if (!received || !merged) {
        warnOnce((received ? merged.error() : received.error()).text() + "; rows are copied again later");
    }
    return m_run;
}

Result<std::int64_t> RowFetcher::fetchLast(Session& session, const std::string& job, const std::stop_token& stop) {
    chooseFile(job);
    const PassingFile passing{m_file};
    const auto received = receive(session, job);
    if (!received) return fail(received.error());
    if (!*received) return std::int64_t{0};
    const bool before = stop.stop_requested();
    for (;;) {
        const bool busy = othersWrite();  // who was in the way may be gone by the time that it is asked for
        auto merged = merge();
        if (merged || (!busy && !othersWrite())) return merged;
        warnOnce(fmt::format("another program writes to the data base '{}'; the rows wait until it is free",
                             m_database.string()));
        if ((before ? m_leave : m_wake).waitFor(kLockedMs)) return merged;
    }
}

Result<bool> RowFetcher::receive(Session& session, const std::string& job) {
    auto rows = session.ask({{"do", "rows"}, {"job", job}});
    if (!rows) return fail(rows.error());
    const std::int64_t bytes = numberIn(*rows, "bytes");
    if (bytes <= 0) return false;
    std::error_code ignored;  // what is at fault shows when the file is written
    fs::create_directories(m_file.parent_path(), ignored);
    if (auto received = session.receiveFile(m_file, static_cast<std::uint64_t>(bytes)); !received) {
        return fail(received.error());
    }
    return true;
}

Result<std::int64_t> RowFetcher::merge() {
    auto store = store::StoreWriter::open(m_database, {"lpes search --host"});
    if (!store) return fail(store.error());
    auto merged = (*store)->merge(m_file);
    if (!merged) return fail(merged.error());
    // Sent is one run alone.
    if (!merged->empty()) m_run = merged->front().to;
    return m_run;
}

bool RowFetcher::othersWrite() const {
    const auto held = store::isBeingWritten(m_database);
    return held && *held;
}

void RowFetcher::warnOnce(const std::string& sentence) {
    if (sentence == m_warned) return;
    m_warned = sentence;
    m_observer.warned(sentence);
}

}  // namespace lpes::remote
