#pragma once

#include <QObject>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "app/jobs/job_observer.h"
#include "app/jobs/model_job.h"
#include "core/base/error.h"
#include "core/store/store.h"
#include "core/studies/studies.h"
#include "widgets/panels/search_panel.h"

namespace lpes::app {

/// A study that can be stopped, and whose run can then be taken up again.
struct StudyOrder {
    /// Called once, on the job's thread: one of the core's studies.
    std::function<Result<studies::StudyOutcome>(store::StoreWriter&, ProgressObserver&, std::stop_token)> work;
    std::int64_t resumeRun = 0;  ///< the run that it goes on with; 0: a new one
    std::filesystem::path database;
};

/// A comparison by a copy of these settings, or the one that was left as `resumeRun`, whose own settings hold. `model`:
/// in memory already; null: the job loads it.
[[nodiscard]] StudyOrder compareOrder(studies::CompareSettings settings, std::int64_t resumeRun,
                                      std::filesystem::path database, std::shared_ptr<const ReadyModel> model);
/// The training that was left as `resumeRun`, from its checkpoint. It loads its model itself, as its run computed.
[[nodiscard]] StudyOrder trainOrder(std::int64_t resumeRun, std::filesystem::path database);

/// One comparison or training on its own thread, which can be stopped: it ends after the prompt or within the step in
/// flight, and the run can be taken up again by another job. It cannot be paused: a comparison measures time, and a
/// training that is left holds nothing but its checkpoint. The states are those of a search without Pausing and Paused;
/// a command that is not allowed in the present one does nothing.
///
/// Ends with exactly one of finished, stopped, failed, always through the event loop. GUI thread only.
class StudyJob : public QObject {
    Q_OBJECT
  public:
    using State = widgets::SearchState;

    StudyJob(StudyOrder order, QObject* parent);
    /// Stops, and waits until what is finished is stored (within a second).
    ~StudyJob() override;

    void start();
    void stop();
    [[nodiscard]] State state() const { return m_state; }

  Q_SIGNALS:
    void stateChanged(lpes::widgets::SearchState state);
    void progressChanged(const lpes::Progress& progress);
    void warningRaised(const QString& sentence);
    /// `result`: the object that the command line prints with `--json`.
    void finished(qint64 runId, const nlohmann::json& result);
    /// Stopped by the user. runId 0: before the run began, nothing is stored.
    void stopped(qint64 runId);
    void failed(const lpes::Error& error);

  private:
    void work(const std::stop_token& stop);
    void setState(State state);

    const StudyOrder m_order;
    JobObserver m_observer;
    State m_state = State::Idle;
    std::jthread m_thread;  // last: stopped and joined before anything it uses goes
};

}  // namespace lpes::app
