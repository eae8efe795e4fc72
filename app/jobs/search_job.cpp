#include "app/jobs/search_job.h"

#include "app/jobs/thread_context.h"

namespace lpes::app {

using widgets::isAllowed;
using widgets::SearchCommand;

SearchJob::SearchJob(SearchOrder order, QObject* parent) : QObject(parent), m_order(std::move(order)) {
    connect(&m_observer, &JobObserver::progressChanged, this, [this](const Progress& progress) {
        // Until the run's own stages come, model and items are prepared.
        if (m_state == State::Starting && !progress.stage.starts_with("loading")) setState(State::Running);
        Q_EMIT progressChanged(progress);
    });
    connect(&m_observer, &JobObserver::warningRaised, this, &SearchJob::warningRaised);
}

SearchJob::~SearchJob() {
    {
        const std::lock_guard lock(m_mutex);
        m_wish = Wish::Stop;
        m_stop.request_stop();
    }
    m_wake.notify_all();
}

void SearchJob::start() {
    if (m_thread.joinable() || !isAllowed(m_state, SearchCommand::Start)) return;
    setState(State::Starting);
    m_thread = std::jthread([this] { work(); });
}

void SearchJob::pause() {
    if (!isAllowed(m_state, SearchCommand::Pause)) return;
    setState(State::Pausing);
    const std::lock_guard lock(m_mutex);
    m_wish = Wish::Pause;
    m_stop.request_stop();
}

void SearchJob::resume() {
    if (!isAllowed(m_state, SearchCommand::Resume)) return;
    setState(State::Starting);
    {
        const std::lock_guard lock(m_mutex);
        m_wish = Wish::None;
    }
    m_wake.notify_all();
}

void SearchJob::stop() {
    if (!isAllowed(m_state, SearchCommand::Stop)) return;
    setState(State::Stopping);
    {
        const std::lock_guard lock(m_mutex);
        m_wish = Wish::Stop;
        m_stop.request_stop();
    }
    m_wake.notify_all();
}

Result<studies::StudyOutcome> SearchJob::sitting(store::StoreWriter& store, std::int64_t resumeRun,
                                                 const std::stop_token& stop) {
    const studies::LoadedModel* loaded = m_order.model ? &m_order.model->model : nullptr;
    if (resumeRun != 0) return studies::resumeSearch(resumeRun, std::nullopt, store, m_observer, stop, loaded);
    return studies::runSearch(m_order.settings, store, m_observer, stop, loaded);
}

Result<void> SearchJob::markRun(store::StoreWriter& store, std::int64_t runId, store::RunState state,
                                const char* reason) {
    auto run = store.reader().run(runId);
    if (!run) return fail(run.error());
    return store.endRun(runId, state, run->elapsedSeconds, reason, "", run->resultJson);
}

Result<void> SearchJob::markIfPaused(store::StoreWriter& store, std::int64_t runId) {
    auto run = store.reader().run(runId);
    if (!run) return fail(run.error());
    if (run->state != store::RunState::Paused) return {};
    return markRun(store, runId, store::RunState::Stopped, "stopped");
}

bool SearchJob::waitWhilePaused() {
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (m_state == State::Pausing) setState(State::Paused);  // unless Stop was pressed meanwhile
        },
        Qt::QueuedConnection);
    std::unique_lock lock(m_mutex);
    m_wake.wait(lock, [this] { return m_wish != Wish::Pause; });
    return m_wish == Wish::None;
}

void SearchJob::work() {
    std::int64_t runId = m_order.resumeRun;
    bool stoppedEarly = false;
    nlohmann::json result;
    const auto worked = guardedJob([&]() -> Result<void> {
        auto store = store::StoreWriter::open(m_order.database, {"LPES Studio"});
        if (!store) return fail(store.error());
        for (const std::string& warning : (*store)->warnings()) m_observer.warned(warning);
        for (;;) {
            std::stop_token stop;
            {
                const std::lock_guard lock(m_mutex);
                if (m_wish == Wish::Stop) {
                    stoppedEarly = true;
                    return {};
                }
                m_stop = std::stop_source();
                stop = m_stop.get_token();
                if (m_wish == Wish::Pause) m_stop.request_stop();
            }
            auto outcome = sitting(**store, runId, stop);
            if (!outcome) {
                if (!model::wasStopped(outcome.error()) || runId == 0) return fail(outcome.error());
                // Stopped before the run was taken up again: it must not be left as paused, for nobody waits for it.
                if (auto marked = markIfPaused(**store, runId); !marked) return fail(marked.error());
                return fail(outcome.error());
            }
            runId = outcome->runId;
            stoppedEarly = outcome->stoppedEarly;
            result = std::move(outcome->result);
            if (!stoppedEarly) return {};
            {
                const std::lock_guard lock(m_mutex);
                if (m_wish != Wish::Pause) return {};
            }
            if (auto marked = markRun(**store, runId, store::RunState::Paused, "paused"); !marked) {
                return fail(marked.error());
            }
            if (!waitWhilePaused()) return markRun(**store, runId, store::RunState::Stopped, "stopped");
        }
    });
    // The data base is closed by now: whoever hears of the end can open it for writing.
    QMetaObject::invokeMethod(
        this,
        [this, worked, stoppedEarly, runId, result = std::move(result)] {
            setState(State::Idle);
            const bool stoppedBefore = !worked && model::wasStopped(worked.error());
            if (!worked && !stoppedBefore) {
                Q_EMIT failed(worked.error());
            } else if (stoppedBefore || stoppedEarly) {
                Q_EMIT stopped(runId);
            } else {
                Q_EMIT finished(runId, result);
            }
        },
        Qt::QueuedConnection);
}

void SearchJob::setState(State state) {
    if (m_state == state) return;
    m_state = state;
    Q_EMIT stateChanged(state);
}

}  // namespace lpes::app
