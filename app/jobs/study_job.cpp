#include "app/jobs/study_job.h"

#include <utility>

#include "app/jobs/thread_context.h"
#include "core/studies/moice_study.h"

namespace lpes::app {

using widgets::isAllowed;
using widgets::SearchCommand;

StudyOrder compareOrder(studies::CompareSettings settings, std::int64_t resumeRun, std::filesystem::path database,
                        std::shared_ptr<const ReadyModel> model) {
    auto work = [settings = std::move(settings), resumeRun, model = std::move(model)](
                    store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
        const studies::LoadedModel* loaded = model ? &model->model : nullptr;
        if (resumeRun != 0) return studies::resumeComparison(resumeRun, store, observer, std::move(stop), loaded);
        return studies::runComparison(settings, store, observer, std::move(stop), loaded);
    };
    return {std::move(work), resumeRun, std::move(database)};
}

StudyOrder trainOrder(std::int64_t resumeRun, std::filesystem::path database) {
    auto work = [resumeRun](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
        return studies::resumeTraining(resumeRun, store, observer, std::move(stop));
    };
    return {std::move(work), resumeRun, std::move(database)};
}

StudyJob::StudyJob(StudyOrder order, QObject* parent) : QObject(parent), m_order(std::move(order)) {
    connect(&m_observer, &JobObserver::progressChanged, this, [this](const Progress& progress) {
        // Until the run's own stages come, model and items are prepared.
        if (m_state == State::Starting && !progress.stage.starts_with("loading")) setState(State::Running);
        Q_EMIT progressChanged(progress);
    });
    connect(&m_observer, &JobObserver::warningRaised, this, &StudyJob::warningRaised);
}

StudyJob::~StudyJob() = default;

void StudyJob::start() {
    if (m_thread.joinable() || !isAllowed(m_state, SearchCommand::Start)) return;
    setState(State::Starting);
    m_thread = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void StudyJob::stop() {
    if (!isAllowed(m_state, SearchCommand::Stop)) return;
    setState(State::Stopping);
    m_thread.request_stop();
}

void StudyJob::work(const std::stop_token& stop) {
    auto outcome = guardedJob([&]() -> Result<studies::StudyOutcome> {
        auto store = store::StoreWriter::open(m_order.database, {"LPES Studio"});
        if (!store) return fail(store.error());
        for (const std::string& warning : (*store)->warnings()) m_observer.warned(warning);
        return m_order.work(**store, m_observer, stop);
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

void StudyJob::setState(State state) {
    if (m_state == state) return;
    m_state = state;
    Q_EMIT stateChanged(state);
}

}  // namespace lpes::app
