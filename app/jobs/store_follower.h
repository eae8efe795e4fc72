#pragma once

#include <QObject>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "app/jobs/mailbox.h"
#include "app/jobs/store_snapshot.h"
#include "core/store/store.h"

namespace lpes::app {

using SnapshotPtr = std::shared_ptr<const StoreSnapshot>;

/// Reads a data base in the background and tells what is new, whoever writes it: this window, `lpes` in a terminal,
/// another machine. Looks five times a second whether anything was committed; reads only, needs no lock and keeps
/// nobody from writing. A data base that does not exist yet is waited for. GUI thread only; the newest snapshot wins.
class StoreFollower : public QObject {
    Q_OBJECT
  public:
    explicit StoreFollower(QObject* parent = nullptr);
    ~StoreFollower() override;

    void setDatabase(const std::filesystem::path& path);
    void selectRun(std::int64_t id);  ///< 0: none
    [[nodiscard]] const std::filesystem::path& database() const { return m_path; }
    /// Looks now instead of at the next round.
    void nudge();

  Q_SIGNALS:
    void snapshotReady(const lpes::app::SnapshotPtr& snapshot);

  private:
    struct Wanted {
        std::filesystem::path path;
        std::int64_t run = 0;
        std::uint64_t change = 0;  ///< counts the changes of the two above
    };
    struct Names {
        std::map<std::int64_t, std::string> models;
        std::map<std::int64_t, bool> profiles;  ///< of runs that have ended
    };
    void work(const std::stop_token& end);
    /// Everything anew; keeps the reader open between calls.
    StoreSnapshot look(const Wanted& wanted);
    Result<void> readInto(StoreSnapshot& snapshot, std::int64_t run);
    Result<std::shared_ptr<const RunDetail>> detailOf(const store::RunRow& run);
    /// True when the path names another file than before, or none any more.
    bool closeIfReplaced(const std::filesystem::path& path);
    void deliver();

    std::filesystem::path m_path;
    Mailbox<SnapshotPtr> m_snapshots;

    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    Wanted m_wanted;
    bool m_nudged = false;

    // Of the thread alone.
    std::unique_ptr<store::StoreReader> m_reader;
    std::filesystem::path m_readerPath;
    std::optional<std::uint64_t> m_inode;  ///< of the file that the reader was opened on; nothing: there was none
    Names m_names;
    std::jthread m_thread;  // last: joined before anything it uses goes
};

}  // namespace lpes::app
