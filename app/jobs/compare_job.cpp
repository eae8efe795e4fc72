#include "app/jobs/compare_job.h"

#include "app/jobs/thread_context.h"
#include "core/store/store.h"

namespace lpes::app {

using widgets::isAllowed;
using widgets::SearchCommand;

CompareJob::CompareJob(CompareOrder order, QObject* parent) : QObject(parent), m_order(std::move(order)) {
    connect(&m_observer, &JobObserver::progressChanged, this, [this](const Progress& progress) {
        // Until the run's own stages come, model and items are prepared.
        if (m_state == State::Starting && !progress.stage.starts_with("loading")) setState(State::Running);
        Q_EMIT progressChanged(progress);
    });
    connect(&m_observer, &JobObserver::warningRaised, this, &CompareJob::warningRaised);
}

CompareJob::~CompareJob() = default;

void CompareJob::start() {
    if (m_thread.joinable() || !isAllowed(m_state, SearchCommand::Start)) return;
    setState(State::Starting);
    m_thread = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void CompareJob::stop() {
    if (!isAllowed(m_state, SearchCommand::Stop)) return;
    setState(State::Stopping);
    m_thread.request_stop();
}

void CompareJob::work(const std::stop_token& stop) {
    auto outcome = guardedJob([&]() -> Result<studies::StudyOutcome> {
        auto store = store::StoreWriter::open(m_order.database, {"LPES Studio"});
        if (!store) return fail(store.error());
        for (const std::string& warning : (*store)->warnings()) m_observer.warned(warning);
        const studies::LoadedModel* loaded = m_order.model ? &m_order.model->model : nullptr;
        if (m_order.resumeRun != 0)
            return studies::resumeComparison(m_order.resumeRun, **store, m_observer, stop, loaded);
        return studies::runComparison(m_order.settings, **store, m_observer, stop, loaded);
    });
    // The data base is closed by now: whoever hears of the end can open it for writing.
    QMetaObject::invokeMethod(
        this,
        [this, outcome = std::move(outcome)] {
            setState(State::Idle);
            if (!outcome && model::wasStopped(outcome.error())) {
                Q_EMIT stopped(m_order.resumeRun);
            } else if (!outcome) {
                Q_EMIT failed(outcome.error());
            } else if (outcome->stoppedEarly) {
                Q_EMIT stopped(outcome->runId);
            } else {
                Q_EMIT finished(outcome->runId, outcome->result);
            }
        },
        Qt::QueuedConnection);
}

void CompareJob::setState(State state) {
    if (m_state == state) return;
    m_state = state;
    Q_EMIT stateChanged(state);
}

}  // namespace lpes::app
