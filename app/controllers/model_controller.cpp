#include "app/controllers/model_controller.h"

#include <algorithm>

namespace lpes::app {

ModelController::ModelController(QObject* parent) : QObject(parent) {}

ModelController::~ModelController() {
    // All at once, so that the waits overlap.
    if (m_job) m_job->cancel();
    for (const auto& job : m_retiring) job->cancel();
}

void ModelController::open(const studies::ModelOptions& options) {
    retire();
    const QString name = QString::fromStdString(options.model);
    m_job = std::make_unique<ModelJob>(options, nullptr);
    ModelJob* job = m_job.get();
    connect(job, &ModelJob::progressChanged, this, &ModelController::progressChanged);
    connect(job, &ModelJob::warningRaised, this, &ModelController::warningRaised);
    connect(job, &ModelJob::loaded, this, [this](const std::shared_ptr<const ReadyModel>& model) {
        m_model = model;
        Q_EMIT modelChanged(m_model);
    });
    connect(job, &ModelJob::failed, this, [this, name](const Error& error) { Q_EMIT failed(name, error); });
    connect(job, &ModelJob::cancelled, this, [this, name] { Q_EMIT cancelled(name); });
    connect(job, &ModelJob::threadFinished, this, [this, job] {
        std::erase_if(m_retiring, [job](auto& one) {
            if (one.get() != job) return false;
            one.release()->deleteLater();  // it is in the middle of its own signal
            return true;
        });
    });
    Q_EMIT loadingStarted(name);
    job->start();
}

void ModelController::cancel() {
    if (isLoading()) m_job->cancel();
}

void ModelController::retire() {
    if (!m_job) return;
    // Nobody waits for its word any more.
    disconnect(m_job.get(), &ModelJob::cancelled, this, nullptr);
    m_job->cancel();
    if (!m_job->threadDone()) m_retiring.push_back(std::move(m_job));
    m_job.reset();
}

}  // namespace lpes::app
