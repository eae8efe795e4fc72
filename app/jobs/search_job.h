#pragma once

#include <QObject>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/jobs/job_observer.h"
#include "app/jobs/model_job.h"
#include "core/base/error.h"
#include "core/remote/remote_search.h"
#include "core/store/store.h"
#include "core/studies/studies.h"
#include "widgets/panels/search_panel.h"

namespace lpes::app {

/// What a search starts from: settings for a new run, or the number of one that was left.
struct SearchOrder {
    studies::SearchRunSettings settings;  ///< a copy: what the user edits meanwhile does not touch it
    std::int64_t resumeRun = 0;           ///< 0: a new run
    std::filesystem::path database;
    std::shared_ptr<const ReadyModel> model;  ///< in memory already; null: the job loads it
    /// On another machine instead: settings, number and model above are then not used.
    std::optional<remote::RemoteOrder> remote = std::nullopt;
};

/// One search on its own thread, which can be paused, resumed and stopped. A pause ends the sitting after the item in
/// flight and keeps the data base locked, so that nobody else takes the run up; resuming replays it from the data base.
/// The commands are those of widgets::isAllowed; one that is not allowed in the present state does nothing.
///
/// A search on another machine is paused by being stopped there, and holds no data base here meanwhile.
///
/// Ends with exactly one of finished, stopped, left, failed, always through the event loop. GUI thread only.
class SearchJob : public QObject {
    Q_OBJECT
  public:
    using State = widgets::SearchState;

    SearchJob(SearchOrder order, QObject* parent);
    /// Stops, and waits until what is finished is stored (within a second); one on another machine is left.
    ~SearchJob() override;

    void start();
    void pause();
    void resume();
    void stop();
    /// Leaves a search on another machine to itself; stops one on this machine.
    void leave();
    [[nodiscard]] State state() const { return m_state; }

  Q_SIGNALS:
    void stateChanged(lpes::widgets::SearchState state);
    void progressChanged(const lpes::Progress& progress);
    void warningRaised(const QString& sentence);
    /// `result`: the object that `lpes search --json` prints.
    void finished(qint64 runId, const nlohmann::json& result);
    /// Stopped by the user. runId 0: before the run began, nothing is stored.
    void stopped(qint64 runId);
    /// It goes on on another machine, to be resumed from here. runId 0: it has no run here yet.
    void left(qint64 runId);
    /// A search on another machine has its run here.
    void runBegan(qint64 runId);
    void failed(const lpes::Error& error);

  private:
    enum class Wish { None, Pause, Stop };
    /// What the thread has come to.
    struct Course {
        std::int64_t runId = 0;
        bool stoppedEarly = false, left = false;
        nlohmann::json result;
    };
    void work();
    Result<void> workHere(Course& course);
    Result<void> workThere(Course& course);
    /// Token of the next sitting; none where a stop was asked for before it began.
    std::optional<std::stop_token> beginSitting();
    bool wishesPause();
    void tellEnd(const Result<void>& worked, Course course);
    Result<studies::StudyOutcome> sitting(store::StoreWriter& store, std::int64_t resumeRun,
                                          const std::stop_token& stop);
    Result<void> markRun(store::StoreWriter& store, std::int64_t runId, store::RunState state, const char* reason);
    Result<void> markIfPaused(store::StoreWriter& store, std::int64_t runId);
    /// Blocks while paused; true when the search goes on.
    bool waitWhilePaused();
    void setState(State state);

    const SearchOrder m_order;
    JobObserver m_observer;
    State m_state = State::Idle;

    std::mutex m_mutex;
    std::condition_variable m_wake;
    Wish m_wish = Wish::None;
    std::stop_source m_stop;  ///< of the present sitting
    std::stop_source m_leave;
    std::jthread m_thread;  // last: joined before anything it uses goes
};

}  // namespace lpes::app
