#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/remote/session.h"
#include "core/remote/wake.h"

namespace lpes::remote {

/// Copies the rows of a search on another machine into the data base here, again and again while it goes on. The data
/// base is held for the moments of copying only. How often follows from how long it takes: at most about a tenth of the
/// time goes into it. thread-compatible.
class RowFetcher {
  public:
    /// `wake`: something was requested; `leave`: the search is to be left, stopped or not.
    RowFetcher(std::filesystem::path database, ProgressObserver& observer, const Wake& wake, const Wake& leave)
        : m_database(std::move(database)), m_observer(observer), m_wake(wake), m_leave(leave) {}

    /// The search has said something, so there may be new rows.
    void somethingHappened() { m_news = true; }
    [[nodiscard]] bool due() const;

    /// Number that the run has here, 0 while there is none. Trouble with a disk, or a data base that another program
    /// writes to, is told once and left to the next time; only a lost connection is an error.
    [[nodiscard]] Result<std::int64_t> fetch(Session& session, const std::string& job);
    /// The last time: trouble is an error, and another program that writes to the data base is waited for, until a stop
    /// is requested meanwhile or the search is left. 0: there are none at all.
    [[nodiscard]] Result<std::int64_t> fetchLast(Session& session, const std::string& job, const std::stop_token& stop);

  private:
    /// Brings the rows into m_file; false where there are none yet.
    [[nodiscard]] Result<bool> receive(Session& session, const std::string& job);
    [[nodiscard]] Result<std::int64_t> merge();
    [[nodiscard]] bool othersWrite() const;
    void warnOnce(const std::string& sentence);
    /// Chooses m_file, and removes what processes that were killed have left of its like.
    void chooseFile(const std::string& job);

    std::filesystem::path m_database, m_file;
    ProgressObserver& m_observer;
    const Wake &m_wake, &m_leave;
    bool m_news = false;
    std::int64_t m_run = 0;
    double m_nextAt = 0.0;
    std::string m_warned;
};

}  // namespace lpes::remote
