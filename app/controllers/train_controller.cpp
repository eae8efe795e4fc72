#include "app/controllers/train_controller.h"

#include <QAction>

namespace lpes::app {

using widgets::isAllowed;
using widgets::SearchCommand;
using widgets::SearchState;

TrainController::TrainController(QObject* parent) : QObject(parent), m_stop(new QAction(tr("Stop training"), this)) {
    m_stop->setObjectName(QStringLiteral("stopTrainingAction"));
    m_stop->setToolTip(tr("Stop within the step in flight; the training can be resumed from its checkpoint"));
    m_stop->setEnabled(false);
    connect(m_stop, &QAction::triggered, this, &TrainController::stop);
}

TrainController::~TrainController() = default;

void TrainController::resumeRun(std::int64_t runId) {
    if (m_job || runId == 0) return;
    m_job = std::make_unique<StudyJob>(trainOrder(runId, m_database), nullptr);
    StudyJob* job = m_job.get();
    connect(job, &StudyJob::stateChanged, this,
            [this](SearchState state) { m_stop->setEnabled(isAllowed(state, SearchCommand::Stop)); });
    connect(job, &StudyJob::progressChanged, this, &TrainController::progressChanged);
    connect(job, &StudyJob::warningRaised, this, &TrainController::warningRaised);
    connect(job, &StudyJob::finished, this, [this](qint64 id, const nlohmann::json& result) {
        clearJob();
        Q_EMIT finished(id, result);
        Q_EMIT ended();
    });
    connect(job, &StudyJob::stopped, this, [this, database = m_database](qint64 id) {
        clearJob();
        Q_EMIT stopped(id, database);
        Q_EMIT ended();
    });
    connect(job, &StudyJob::failed, this, [this](const Error& error) {
        clearJob();
        Q_EMIT failed(error);
        Q_EMIT ended();
    });
    Q_EMIT began(runId);
    job->start();
}

void TrainController::stop() {
    if (m_job) m_job->stop();
}

void TrainController::clearJob() {
    // Called from the job's own signal, whose thread is through.
    m_job.release()->deleteLater();
}

}  // namespace lpes::app
