#include "app/jobs/model_job.h"

#include <exception>
#include <new>

#include "app/jobs/thread_context.h"
#include "core/studies/inspect.h"

namespace lpes::app {

namespace {

using ReadyResult = Result<std::shared_ptr<const ReadyModel>>;

ReadyResult load(const studies::ModelOptions& options, ProgressObserver& observer, const std::stop_token& stop) {
    // First: what fits beside the weights is asked of memory that does not hold them yet.
    auto description = studies::inspectModel(options.model, "baseline", options.device, observer);
    if (!description) return fail(description.error());
    auto loaded = studies::loadModel(options, observer, stop);
    if (!loaded) return fail(loaded.error());
    if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
    return std::make_shared<const ReadyModel>(ReadyModel{std::move(*loaded), std::move(*description)});
}

}  // namespace

ModelJob::ModelJob(studies::ModelOptions options, QObject* parent) : QObject(parent), m_options(std::move(options)) {
    connect(&m_observer, &JobObserver::progressChanged, this, [this](const Progress& progress) {
        if (!m_ended) Q_EMIT progressChanged(progress);
    });
    connect(&m_observer, &JobObserver::warningRaised, this, [this](const QString& sentence) {
        if (!m_ended) Q_EMIT warningRaised(sentence);
    });
}

ModelJob::~ModelJob() {
    m_thread.request_stop();
}

void ModelJob::start() {
    m_thread = std::jthread([this](const std::stop_token& stop) {
        auto result = guardedJob([&] { return load(m_options, m_observer, stop); });
        QMetaObject::invokeMethod(
            this, [this, result = std::move(result)]() mutable { end(std::move(result)); }, Qt::QueuedConnection);
    });
}

void ModelJob::cancel() {
    m_thread.request_stop();
    if (m_ended) return;
    m_ended = true;
    QMetaObject::invokeMethod(this, &ModelJob::cancelled, Qt::QueuedConnection);
}

void ModelJob::end(ReadyResult result) {
    m_threadDone = true;
    if (!m_ended) {
        m_ended = true;
        if (result) {
            Q_EMIT loaded(*result);
        } else if (model::wasStopped(result.error())) {
            Q_EMIT cancelled();
        } else {
            Q_EMIT failed(result.error());
        }
    }
    Q_EMIT threadFinished();
}

}  // namespace lpes::app
