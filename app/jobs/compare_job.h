#pragma once

#include <QObject>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "app/jobs/job_observer.h"
#include "app/jobs/model_job.h"
#include "core/base/error.h"
#include "core/studies/studies.h"
#include "widgets/panels/search_panel.h"

namespace lpes::app {

/// What a comparison starts from: settings for a new run, or the number of one that was left.
struct CompareOrder {
    studies::CompareSettings settings;  ///< a copy: what the user edits meanwhile does not touch it
    std::int64_t resumeRun = 0;         ///< 0: a new run
    std::filesystem::path database;
    std::shared_ptr<const ReadyModel> model;  ///< in memory already; null: the job loads it
};

/// One comparison on its own thread, which can be stopped: it ends after the prompt in flight, and the run can be taken
/// up again by another job. It cannot be paused, because it measures time. The states are those of a search without
/// Pausing and Paused; a command that is not allowed in the present one does nothing.
///
/// Ends with exactly one of finished, stopped, failed, always through the event loop. GUI thread only.
class CompareJob : public QObject {
    Q_OBJECT
  public:
    using State = widgets::SearchState;

    CompareJob(CompareOrder order, QObject* parent);
    /// Stops, and waits until what is finished is stored (within a second).
    ~CompareJob() override;

    void start();
    void stop();
    [[nodiscard]] State state() const { return m_state; }

  Q_SIGNALS:
    void stateChanged(lpes::widgets::SearchState state);
    void progressChanged(const lpes::Progress& progress);
    void warningRaised(const QString& sentence);
    /// `result`: the object that `lpes compare --json` prints.
    void finished(qint64 runId, const nlohmann::json& result);
    /// Stopped by the user. runId 0: before the run began, nothing is stored.
    void stopped(qint64 runId);
    void failed(const lpes::Error& error);

  private:
    void work(const std::stop_token& stop);
    void setState(State state);

    const CompareOrder m_order;
    JobObserver m_observer;
    State m_state = State::Idle;
    std::jthread m_thread;  // last: stopped and joined before anything it uses goes
};

}  // namespace lpes::app
