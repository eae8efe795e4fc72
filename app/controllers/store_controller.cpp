#include "app/controllers/store_controller.h"

#include <unistd.h>

#include <QTimer>

#include "app/pages/search_page.h"
#include "app/presenters.h"
#include "widgets/panels/run_list.h"

namespace lpes::app {

namespace {

/// The search or comparison that this process is running now; 0: none.
std::int64_t ownRun(const StoreSnapshot& snapshot) {
    for (const store::RunRow& run : snapshot.runs) {
        const bool job = run.kind == "search" || run.kind == "compare";
        if (run.pid == ::getpid() && run.state == store::RunState::Running && job) return run.id;
    }
    return 0;
}

/// What somebody who opens a data base wants to see first.
std::int64_t newestSearch(const StoreSnapshot& snapshot) {
    for (const store::RunRow& run : snapshot.runs) {
        if (run.kind == "search") return run.id;
    }
    return snapshot.runs.front().id;
}

}  // namespace

StoreController::StoreController(widgets::RunList& list, SearchPage& page, QObject* parent)
    : QObject(parent), m_list(list), m_page(page) {
    connect(&m_follower, &StoreFollower::snapshotReady, this, &StoreController::show);
    connect(&m_list, &widgets::RunList::runSelected, this, [this](qint64 id) {
        m_selected = id;
        m_follower.selectRun(id);
    });
    m_page.showRun(nullptr, tr("No run is selected"), m_layers, m_context);
}

void StoreController::open(const std::filesystem::path& path) {
    m_first = true;
    m_selected = 0;
    m_snapshot.reset();
    m_lastError.clear();
    m_list.setRuns({}, tr("Opening %1 …").arg(QString::fromStdString(path.filename().string())));
    m_page.setHeadline({});
    m_page.showRun(nullptr, tr("No run is selected"), m_layers, m_context);
    m_follower.setDatabase(path);
}

void StoreController::setModelShape(int numLayers, int trainedContext) {
    m_layers = numLayers;
    m_context = trainedContext;
    if (!detail()) m_page.showRun(nullptr, tr("No run is selected"), m_layers, m_context);
}

void StoreController::expectOwnRun() {
    m_expectOwn = true;
}

void StoreController::select(std::int64_t run) {
    m_list.selectRun(run);
    if (m_selected == run) return;
    m_selected = run;
    m_follower.selectRun(run);
}

std::shared_ptr<const RunDetail> StoreController::detail() const {
    return m_snapshot ? m_snapshot->detail : nullptr;
}

void StoreController::show(const SnapshotPtr& snapshot) {
    m_snapshot = snapshot;
    if (snapshot->error) {
        const std::string text = snapshot->error->text();
        m_list.setError(QString::fromStdString(text));
        m_page.setHeadline({});
        m_page.showRun(nullptr, tr("The data base cannot be read"), m_layers, m_context);
        if (text != m_lastError) {
            m_lastError = text;
            Q_EMIT failed(*snapshot->error);
        }
        Q_EMIT snapshotShown();
        return;
    }
    m_lastError.clear();
    m_list.setRuns(runLines(*snapshot), snapshot->exists
                                            ? tr("No run yet. Start a search, or run lpes with this data base.")
                                            : tr("No run yet: the data base is made by the first one."));
    if (const std::int64_t own = m_expectOwn ? ownRun(*snapshot) : 0; own != 0) {
        m_expectOwn = false;
        select(own);
    } else if (m_first && !snapshot->runs.empty()) {
        select(newestSearch(*snapshot));
    }
    m_first = m_first && snapshot->runs.empty();
    // In a turn of its own, so that list and pictures never add up to one long stall.
    QTimer::singleShot(0, this, &StoreController::showDetail);
    Q_EMIT snapshotShown();
}

void StoreController::showDetail() {
    if (!m_snapshot || m_snapshot->error) return;
    const std::shared_ptr<const RunDetail> now = detail();
    if (!now || now->run.id != m_selected) {
        if (m_selected == 0) m_page.showRun(nullptr, tr("No run is selected"), m_layers, m_context);
        return;
    }
    const auto [layers, context] = shapeOf(*now);
    m_page.setHeadline(headlineOf(*now));
    m_page.setGuardrail(guardrailOf(*now));
    m_page.showRun(now, {}, layers, context);
    Q_EMIT runShown(now);
}

}  // namespace lpes::app
