#include "app/smoke.h"

#include <QAction>
#include <QCoreApplication>
#include <QDir>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "app/controllers/live_controller.h"
#include "app/controllers/model_controller.h"
#include "app/controllers/search_controller.h"
#include "app/controllers/store_controller.h"
#include "app/main_window.h"
#include "core/base/clock.h"

namespace lpes::app {

namespace {

constexpr double kPatienceSeconds = 120.0;
constexpr int kLookMs = 50, kSettleMs = 400, kEndMs = 1500;

constexpr struct {
    MainWindow::Workspace workspace;
    const char* name;
} kViews[] = {{MainWindow::Edit, "edit"},
              {MainWindow::Search, "search"},
              {MainWindow::Inspect, "inspect"},
              {MainWindow::Inspect, "prompt"},
              {MainWindow::Compare, "compare"}};

}  // namespace

Smoke::Smoke(MainWindow& window, QString folder, double searchSeconds, QObject* parent)
    : QObject(parent), m_window(window), m_folder(std::move(folder)), m_searchSeconds(searchSeconds) {}

void Smoke::start(bool needsModel) {
    m_needsModel = needsModel;
    m_deadline = steadySeconds() + kPatienceSeconds;
    connect(&m_window.models(), &ModelController::failed, this,
            [this](const QString&, const Error& error) { finish(QString::fromStdString(error.text())); });
    QTimer::singleShot(0, this, &Smoke::look);
}

void Smoke::look() {
    if (m_ended) return;
    if (steadySeconds() > m_deadline) return finish(QStringLiteral("the window did not become ready in time"));
    const SnapshotPtr& snapshot = m_window.stores().snapshot();
    const bool stored = snapshot && (snapshot->error || snapshot->runs.empty() || snapshot->detail);
    const bool drawn = m_window.models().model() && m_window.live().isUpToDate();
    if ((drawn || !m_needsModel) && stored) return show(0);
    QTimer::singleShot(kLookMs, this, &Smoke::look);
}

void Smoke::show(std::size_t view) {
    if (m_ended) return;
    if (view == std::size(kViews)) return m_searchSeconds > 0.0 ? search() : finish({});
    if (kViews[view].name == std::string_view("prompt")) {
        m_window.showPrompt();
    } else {
        m_window.setWorkspace(kViews[view].workspace);
    }
    int settleMs = kSettleMs;
    if (kViews[view].workspace == MainWindow::Compare) {
        // What is selected at first is a search.
        const auto& runs = m_window.stores().snapshot()->runs;
        const auto comparison = std::ranges::find(runs, "compare", &store::RunRow::kind);
        if (comparison != runs.end()) {
            m_window.stores().select(comparison->id);
            settleMs = kEndMs;
        }
    }
    // A new size reaches the plots through the event loop.
    QTimer::singleShot(settleMs, this, [this, view] {
        if (!draw(kViews[view].name)) return finish(cannotWrite());
        show(view + 1);
    });
}

void Smoke::search() {
    connect(&m_window.search(), &SearchController::failed, this,
            [this](const Error& error) { finish(QString::fromStdString(error.text())); });
    // A search that is through before the time is drawn as it ended.
    connect(&m_window.search(), &SearchController::finished, this, [this] {
        QTimer::singleShot(kEndMs, this, [this] { finish(draw("finished") ? QString() : cannotWrite()); });
    });
    m_window.search().startAction()->trigger();
    QTimer::singleShot(static_cast<int>(m_searchSeconds * 1000.0), this, [this] {
        if (!m_window.search().isBusy()) return;
        const bool drawn = draw("running");
        connect(&m_window.search(), &SearchController::ended, this,
                [this, drawn] { finish(drawn ? QString() : cannotWrite()); });
        m_window.search().stop();
    });
}

QString Smoke::cannotWrite() const {
    return QStringLiteral("a picture cannot be written to %1").arg(m_folder);
}

bool Smoke::draw(const char* name) {
    const QPixmap picture = m_window.grab();
    if (picture.isNull()) return false;
    if (m_folder.isEmpty()) return true;
    const QString file = m_folder + QLatin1Char('/') + QLatin1String(name) + QStringLiteral(".png");
    if (!QDir().mkpath(m_folder) || !picture.save(file)) return false;
    std::fputs(qPrintable(file + QLatin1Char('\n')), stdout);
    return true;
}

void Smoke::finish(const QString& problem) {
    if (m_ended) return;
    m_ended = true;
    if (!problem.isEmpty())
        std::fputs(qPrintable(QStringLiteral("lpes-studio: ") + problem + QLatin1Char('\n')), stderr);
    QCoreApplication::exit(problem.isEmpty() ? 0 : 1);
}

}  // namespace lpes::app
