#pragma once

#include <QObject>
#include <memory>
#include <thread>

#include "app/jobs/job_observer.h"
#include "core/base/error.h"
#include "core/studies/model_setup.h"

namespace lpes::app {

/// A model in memory with what the inspector shows of it.
struct ReadyModel {
    studies::LoadedModel model;
    nlohmann::json description;  ///< as `lpes inspect --json`
};

/// Loads one model. Ends with exactly one of loaded, failed and cancelled, always through the event loop; a cancelled
/// job says so at once, while its thread comes to its end by itself (at the next tensor). GUI thread only.
class ModelJob : public QObject {
    Q_OBJECT
  public:
    ModelJob(studies::ModelOptions options, QObject* parent);
    /// Waits for the thread, which has been asked to stop.
    ~ModelJob() override;

    void start();
    void cancel();
    [[nodiscard]] bool hasEnded() const { return m_ended; }
    /// The thread is through: the object can be deleted without waiting.
    [[nodiscard]] bool threadDone() const { return m_threadDone; }

  Q_SIGNALS:
    void progressChanged(const lpes::Progress& progress);
    void warningRaised(const QString& sentence);
    void loaded(const std::shared_ptr<const lpes::app::ReadyModel>& model);
    void failed(const lpes::Error& error);
    void cancelled();
    /// After the ending signal; last signal of the object.
    void threadFinished();

  private:
    void end(Result<std::shared_ptr<const ReadyModel>> result);

    const studies::ModelOptions m_options;
    JobObserver m_observer;
    bool m_ended = false, m_threadDone = false;
    std::jthread m_thread;  // last: joined before anything it uses goes
};

}  // namespace lpes::app
