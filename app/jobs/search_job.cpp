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
    m_leave.request_stop();
    {
        const std::lock_guard lock(m_mutex);
        m_wish = Wish::Stop;
        if (!m_order.remote) m_stop.request_stop();  // one that is left must not be stopped
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

void SearchJob::leave() {
    if (!m_order.remote) return stop();
    m_leave.request_stop();
    {
        const std::lock_guard lock(m_mutex);
        m_wish = Wish::Stop;  // also where it is paused; no stop is requested there
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

std::optional<std::stop_token> SearchJob::beginSitting() {
    const std::lock_guard lock(m_mutex);
    if (m_wish == Wish::Stop) return std::nullopt;
    m_stop = std::stop_source();
    if (m_wish == Wish::Pause) m_stop.request_stop();
    return m_stop.get_token();
}

bool SearchJob::wishesPause() {
    const std::lock_guard lock(m_mutex);
    return m_wish == Wish::Pause;
}

Result<void> SearchJob::workHere(Course& course) {
    auto store = store::StoreWriter::open(m_order.database, {"LPES Studio"});
    if (!store) return fail(store.error());
    for (const std::string& warning : (*store)->warnings()) m_observer.warned(warning);
    for (;;) {
        const auto stop = beginSitting();
        if (!stop) {
            course.stoppedEarly = true;
            return {};
        }
        auto outcome = sitting(**store, course.runId, *stop);
        if (!outcome) {
            if (!model::wasStopped(outcome.error())) return fail(outcome.error());
            // A pause may come before the run begins, or is taken up again.
            if (wishesPause() && waitWhilePaused()) continue;
            if (course.runId == 0) return fail(outcome.error());
            // Stopped before the run was taken up again: it must not be left as paused, for nobody waits for it.
            if (auto marked = markIfPaused(**store, course.runId); !marked) return fail(marked.error());
            return fail(outcome.error());
        }
        course.runId = outcome->runId;
        course.stoppedEarly = outcome->stoppedEarly;
        course.result = std::move(outcome->result);
        if (!course.stoppedEarly || !wishesPause()) return {};
        if (auto marked = markRun(**store, course.runId, store::RunState::Paused, "paused"); !marked) {
            return fail(marked.error());
        }
        if (!waitWhilePaused()) return markRun(**store, course.runId, store::RunState::Stopped, "stopped");
    }
}

Result<void> SearchJob::workThere(Course& course) {
    remote::RemoteOrder order = *m_order.remote;
    order.leave = m_leave.get_token();
    order.runBegan = [this](std::int64_t run) { Q_EMIT runBegan(run); };
    for (;;) {
        const auto stop = beginSitting();
        if (!stop) {
            course.stoppedEarly = true;
            return {};
        }
        auto outcome = remote::runRemoteSearch(order, m_observer, *stop);
        if (!outcome) return fail(outcome.error());
        course.runId = outcome->runId;
        course.left = outcome->end == remote::RemoteEnd::Detached;
        course.stoppedEarly = outcome->end == remote::RemoteEnd::Stopped;
        course.result = std::move(outcome->result);
        if (!course.stoppedEarly || course.runId == 0 || !wishesPause()) return {};
        order.handle = remote::handleOf(order.database, course.runId);
        if (!order.handle || !waitWhilePaused()) return {};
    }
}

void SearchJob::work() {
    Course course;
    course.runId = m_order.resumeRun;
    const auto worked = guardedJob([&] { return m_order.remote ? workThere(course) : workHere(course); });
    // The data base is closed by now: whoever hears of the end can open it for writing.
    QMetaObject::invokeMethod(
        this, [this, worked, course = std::move(course)] { tellEnd(worked, course); }, Qt::QueuedConnection);
}

void SearchJob::tellEnd(const Result<void>& worked, Course course) {
    setState(State::Idle);
    const bool stoppedBefore = !worked && model::wasStopped(worked.error());
    if (!worked && !stoppedBefore) {
        Q_EMIT failed(worked.error());
    } else if (course.left) {
        Q_EMIT left(course.runId);
    } else if (stoppedBefore || course.stoppedEarly) {
        Q_EMIT stopped(course.runId);
    } else {
        Q_EMIT finished(course.runId, course.result);
    }
}

void SearchJob::setState(State state) {
    if (m_state == state) return;
    m_state = state;
    Q_EMIT stateChanged(state);
}

}  // namespace lpes::app
