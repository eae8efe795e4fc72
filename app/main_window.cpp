#include "app/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>

#include "app/controllers/compare_controller.h"
#include "app/controllers/export_controller.h"
#include "app/controllers/live_controller.h"
#include "app/controllers/model_controller.h"
#include "app/controllers/prompt_controller.h"
#include "app/controllers/search_controller.h"
#include "app/controllers/store_controller.h"
#include "app/controllers/train_controller.h"
#include "app/draft_keeper.h"
#include "app/pages/compare_page.h"
#include "app/pages/edit_page.h"
#include "app/pages/search_page.h"
#include "app/presenters.h"
#include "app/workspace_docks.h"
#include "widgets/common/message_bar.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/curve_editor/point_panel.h"
#include "widgets/panels/inspector_panel.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/prompt_view.h"
#include "widgets/panels/run_list.h"

namespace lpes::app {

namespace {

constexpr QSize kUsualSize(1440, 900), kSmallestSize(900, 560);
/// Below this height the log would take room that the pictures need; it is one menu entry away.
constexpr int kHeightForLog = 860;

}  // namespace

MainWindow::MainWindow(StudioOptions options, QWidget* parent) : QMainWindow(parent), m_options(std::move(options)) {
    setObjectName(QStringLiteral("mainWindow"));
    setMinimumSize(kSmallestSize);
    m_theme = applyAppearance(*qApp, m_options.theme.value_or(m_settings.theme()), m_options.systemDark);

    auto* centre = new QWidget(this);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_messages = new widgets::MessageBar(centre);
    m_workspaces = new QTabWidget(centre);
    m_workspaces->setDocumentMode(true);
    m_workspaces->setAccessibleName(tr("Workspaces"));
    m_editPage = new EditPage(m_theme);
    m_searchPage = new SearchPage(m_theme);
    m_inspector = new widgets::InspectorPanel;
    m_workspaces->addTab(m_editPage, tr("Edit"));
    m_workspaces->addTab(m_searchPage, tr("Search"));
    m_promptView = new widgets::PromptView;
    m_inspect = new QTabWidget;
    m_inspect->setDocumentMode(true);
    m_inspect->setAccessibleName(tr("What is inspected"));
    m_inspect->addTab(m_inspector, tr("Model"));
    m_inspect->addTab(m_promptView, tr("Prompt"));
    m_workspaces->addTab(m_inspect, tr("Inspect"));
    m_comparePage = new ComparePage(m_theme);
    m_workspaces->addTab(m_comparePage, tr("Compare"));
    column->addWidget(m_messages);
    column->addWidget(m_workspaces, 1);
    setCentralWidget(centre);

    // The side docks take the whole height: the right one holds two panels.
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    makeDocks();
    m_keeper = std::make_unique<DraftKeeper>(m_document, m_options.draftFolder, nullptr);
    m_exports = std::make_unique<ExportController>(m_settings, this);
    m_stores = std::make_unique<StoreController>(*m_runList, *m_searchPage, nullptr);
    m_models = std::make_unique<ModelController>(nullptr);
    m_live = std::make_unique<LiveController>(m_document, *m_editPage, *m_inspector, nullptr);
    m_search = std::make_unique<SearchController>(m_document, *m_searchPanel, nullptr);
    const auto& kept = m_options.draftFolder;
    m_compare = std::make_unique<CompareController>(m_document, m_comparePage->panel(), m_settings,
                                                    kept.empty() ? kept : kept / "compared", nullptr);
    m_train = std::make_unique<TrainController>(nullptr);
    makeMenus();
    makeToolBar();
    makeStatusBar();
    wireEditor();
    wireModels();
    wireSearch();
    wireCompare();
    wireTrain();
    wireStore();
    wireExport();
    wirePrompt();

    const QSize room = screen() ? screen()->availableSize() : kUsualSize;
    resize(kUsualSize.boundedTo(room));
    m_docks = std::make_unique<WorkspaceDocks>(*this, *m_workspaces);
    resetLayout();
    if (m_options.restoreLayout) {
        m_settings.restoreWindow(*this);
        m_workspaces->setCurrentIndex(m_settings.workspace());
    }
    m_live->clearModel(tr("No model is open"));
    m_inspector->setEmpty(tr("No model is open. Open one with File, Open model."));
    updateTitle();
}

MainWindow::~MainWindow() {
    // The document ends after the controllers, and says so to whoever still listens.
    disconnect(&m_document, nullptr, this, nullptr);
    disconnect(&m_document.undoStack(), nullptr, this, nullptr);
}

void MainWindow::start() {
    openDatabase(m_options.database);
    if (!m_options.model.empty()) openModel(m_options.model);
}

void MainWindow::makeDocks() {
    m_points = new widgets::PointPanel;
    m_searchPanel = new widgets::SearchPanel;
    m_runList = new widgets::RunList;
    m_log = new widgets::LogPanel;
    const auto dock = [this](const QString& title, const char* name, QWidget* content, bool scrolls) {
        auto* made = new QDockWidget(title, this);
        made->setObjectName(QLatin1String(name));
        if (scrolls) {
            auto* area = new QScrollArea(made);
            area->setWidgetResizable(true);
            area->setFrameShape(QFrame::NoFrame);
            area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
            area->setWidget(content);
            area->setAccessibleName(title);
            made->setWidget(area);
        } else {
            made->setWidget(content);
        }
        return made;
    };
    addDockWidget(Qt::LeftDockWidgetArea, dock(tr("Runs"), "runsDock", m_runList, false));
    addDockWidget(Qt::RightDockWidgetArea, dock(tr("Control point"), "pointDock", m_points, true));
    addDockWidget(Qt::RightDockWidgetArea, dock(tr("Search settings"), "searchDock", m_searchPanel, false));
    addDockWidget(Qt::BottomDockWidgetArea, dock(tr("Log"), "logDock", m_log, false));
}

void MainWindow::resetLayout() {
    const auto dock = [this](const char* name) { return findChild<QDockWidget*>(QLatin1String(name)); };
    m_docks->bringBack();
    for (QDockWidget* one : findChildren<QDockWidget*>()) {
        one->setFloating(false);
        one->show();
    }
    addDockWidget(Qt::LeftDockWidgetArea, dock("runsDock"));
    addDockWidget(Qt::RightDockWidgetArea, dock("pointDock"));
    addDockWidget(Qt::RightDockWidgetArea, dock("searchDock"));
    addDockWidget(Qt::BottomDockWidgetArea, dock("logDock"));
    splitDockWidget(dock("pointDock"), dock("searchDock"), Qt::Vertical);
    resizeDocks({dock("runsDock"), dock("pointDock")}, {250, 285}, Qt::Horizontal);
    resizeDocks({dock("logDock")}, {96}, Qt::Vertical);
    dock("logDock")->setVisible(height() >= kHeightForLog);
    m_docks->apply();
}

void MainWindow::setWorkspace(Workspace workspace) {
    m_workspaces->setCurrentIndex(workspace);
}

void MainWindow::setThemeChoice(ThemeChoice choice) {
    m_settings.setTheme(choice);
    m_theme = applyAppearance(*qApp, choice, m_options.systemDark);
    m_editPage->setTheme(m_theme);
    m_searchPage->setTheme(m_theme);
    m_comparePage->setTheme(m_theme);
}

void MainWindow::openModel(const std::string& spelling) {
    m_models->open({spelling, "auto", "cpu", true});
}

void MainWindow::openDatabase(const std::filesystem::path& path) {
    m_options.database = path;
    m_stores->open(path);
    m_search->setDatabase(path);
    m_compare->setDatabase(path);
    m_train->setDatabase(path);
    say(tr("Data base: %1").arg(shownPath(path)));
}

void MainWindow::openProfile(const std::filesystem::path& path) {
    const QString name = QString::fromStdString(path.filename().string());
    auto loaded = exporters::readProfile(path);
    if (!loaded) return complain(QString::fromStdString(loaded.error().text()));
    if (!m_document.hasModel()) return complain(tr("Open a model before the profile %1, which is for one").arg(name));
    auto taken = m_document.takeProfile(loaded->profile, name);
    if (!taken) {
        return complain(tr("%1 is not opened: %2").arg(name, QString::fromStdString(taken.error().text())));
    }
    for (const std::string& warning : loaded->warnings) warn(QString::fromStdString(warning));
    for (const std::string& warning : *taken) warn(QString::fromStdString(warning));
    say(tr("Profile %1 is open").arg(name));
}

void MainWindow::updateTitle() {
    const QString model =
        m_models->model() ? QString::fromStdString(m_models->model()->model.config().name) : QString();
    setWindowTitle(model.isEmpty() ? QStringLiteral("LPES Studio")
                                   : QStringLiteral("%1[*] – %2 – LPES Studio").arg(m_document.origin(), model));
    setWindowModified(m_document.isModified());
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (isBusy() && !m_closing) {
        event->ignore();
        askBeforeClosing();
        return;
    }
    m_keeper->flush();
    if (m_options.restoreLayout) {
        m_docks->bringBack();
        m_settings.saveWindow(*this);
        m_settings.setWorkspace(m_workspaces->currentIndex());
    }
    event->accept();
}

void MainWindow::askBeforeClosing() {
    if (findChild<QMessageBox*>(QStringLiteral("closeQuestion"))) return;
    const QString& host = m_search->host();
    const QString what = m_compare->isBusy() ? tr("A comparison is running")
                         : m_train->isBusy() ? tr("A training is running")
                                             : tr("A search is running");
    auto* question = new QMessageBox(
        QMessageBox::Question, what,
        host.isEmpty()
            ? tr("Stop it and close? What it has finished is stored; the run can be resumed later.")
            : tr("It runs on %1 and can go on there without this window; resuming it comes back to it.").arg(host),
        QMessageBox::NoButton, this);
    question->setObjectName(QStringLiteral("closeQuestion"));
    // Not by WA_DeleteOnClose: a question that is answered is hidden, and not always closed.
    connect(question, &QMessageBox::finished, question, &QObject::deleteLater);
    QPushButton* stop = question->addButton(tr("Stop and close"), QMessageBox::AcceptRole);
    stop->setObjectName(QStringLiteral("stopAndClose"));
    if (!host.isEmpty()) {
        QPushButton* leave = question->addButton(tr("Leave it running and close"), QMessageBox::AcceptRole);
        leave->setObjectName(QStringLiteral("leaveAndClose"));
        connect(leave, &QPushButton::clicked, this, &MainWindow::leaveAndClose);
    }
    question->setDefaultButton(question->addButton(tr("Keep running"), QMessageBox::RejectRole));
    connect(stop, &QPushButton::clicked, this, &MainWindow::stopAndClose);
    question->open();
}

void MainWindow::paintEvent(QPaintEvent* event) {
    QMainWindow::paintEvent(event);
    if (m_paintedOnce) return;
    m_paintedOnce = true;
    QTimer::singleShot(0, this, &MainWindow::painted);
}

}  // namespace lpes::app
