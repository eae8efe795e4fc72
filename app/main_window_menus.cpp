#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QProgressBar>
#include <QStatusBar>
#include <QTabWidget>
#include <QToolBar>
#include <QToolButton>

#include "app/controllers/export_controller.h"
#include "app/controllers/model_controller.h"
#include "app/controllers/search_controller.h"
#include "app/controllers/train_controller.h"
#include "app/main_window.h"
#include "app/pages/compare_page.h"
#include "app/pages/edit_page.h"
#include "app/pages/search_page.h"
#include "core/analysis/plot_csv.h"
#include "core/base/version.h"
#include "core/model/torch/torch_runtime.h"
#include "widgets/common/icons.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/panels/plot_pane.h"
#include "widgets/panels/run_list.h"

namespace lpes::app {

using widgets::Sign;
using widgets::signIcon;

namespace {

QAction* add(QMenu* menu, const QString& text, const QKeySequence& keys = {}) {
    QAction* action = menu->addAction(text);
    action->setShortcut(keys);
    return action;
}

}  // namespace

void MainWindow::makeMenus() {
    makeFileMenu();
    makeEditMenu();
    makeViewMenu();
    makeSearchMenu();
    makeHelpMenu();
}

void MainWindow::makeFileMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&File"));
    connect(add(menu, tr("Open &model file…"), QKeySequence::Open), &QAction::triggered, this,
            &MainWindow::chooseModelFile);
    connect(add(menu, tr("Open model &folder…")), &QAction::triggered, this, &MainWindow::chooseModelFolder);
    connect(add(menu, tr("Open the &demo model")), &QAction::triggered, this, [this] { openModel("demo"); });
    menu->addSeparator();
    connect(add(menu, tr("Open &profile…"), QKeySequence(QStringLiteral("Ctrl+Shift+O"))), &QAction::triggered, this,
            &MainWindow::chooseProfile);
    QAction* save = add(menu, tr("&Export profile…"), QKeySequence::Save);
    save->setObjectName(QStringLiteral("exportProfileAction"));
    save->setIcon(signIcon(Sign::Save));
    connect(save, &QAction::triggered, this, &MainWindow::exportCurrentProfile);
    QMenu* plots = menu->addMenu(tr("Export p&lot"));
    connect(add(plots, tr("Curve")), &QAction::triggered, this,
            [this] { m_exports->exportPlot(tr("Scale per layer"), m_editPage->editor().plotData()); });
    const auto pane = [&](const QString& words, widgets::PlotPane& one) {
        connect(add(plots, words), &QAction::triggered, this, [this, &one] {
            if (const auto shown = one.data()) {
                m_exports->exportPlot(one.name(), *shown);
            } else {
                complain(tr("%1: there is nothing to export yet").arg(one.name()));
            }
        });
    };
    pane(tr("Attention of the curve"), m_editPage->attention());
    pane(tr("Deviation of the curve"), m_editPage->deviation());
    connect(add(plots, tr("Population and best of the run")), &QAction::triggered, this,
            [this] { m_exports->exportPlot(tr("Population and best"), m_searchPage->curves().plotData()); });
    pane(tr("Fitness of the run"), m_searchPage->pane(kConvergencePlot));
    pane(tr("Accuracy of the run"), m_searchPage->pane(kAccuracyPlot));
    pane(tr("Attention of the run"), m_searchPage->pane(kAttentionPlot));
    pane(tr("Deviation of the run"), m_searchPage->pane(kDeviationPlot));
    pane(tr("Sensitivity of the run"), m_searchPage->pane(kSensitivityPlot));
    pane(tr("Pareto front of the run"), m_searchPage->pane(kParetoPlot));
    pane(tr("Loss of the training"), m_searchPage->pane(kLossPlot));
    pane(tr("Methods of the comparison"), m_comparePage->methods());
    pane(tr("Accuracy of the comparison"), m_comparePage->accuracy());
    menu->addSeparator();
    connect(add(menu, tr("Open data &base…")), &QAction::triggered, this, &MainWindow::chooseDatabase);
    menu->addSeparator();
    connect(add(menu, tr("&Quit"), QKeySequence::Quit), &QAction::triggered, this, &QWidget::close);
}

void MainWindow::makeEditMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Edit"));
    QAction* undo = m_document.undoStack().createUndoAction(this, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    undo->setIcon(signIcon(Sign::Undo));
    undo->setObjectName(QStringLiteral("undoAction"));
    QAction* redo = m_document.undoStack().createRedoAction(this, tr("&Redo"));
    // Both habits: Ctrl+Y and Ctrl+Shift+Z.
    redo->setShortcuts({QKeySequence(QStringLiteral("Ctrl+Y")), QKeySequence(QStringLiteral("Ctrl+Shift+Z"))});
    redo->setIcon(signIcon(Sign::Redo));
    redo->setObjectName(QStringLiteral("redoAction"));
    menu->addActions({undo, redo});
    menu->addSeparator();
    widgets::CurveEditor& editor = m_editPage->editor();
    QAction* more = add(menu, tr("&Add a control point"));
    connect(more, &QAction::triggered, &editor, &widgets::CurveEditor::addPoint);
    QAction* fewer = add(menu, tr("Re&move the control point"));
    connect(fewer, &QAction::triggered, &editor, &widgets::CurveEditor::removeSelectedPoint);
    menu->addSeparator();
    QAction* point = add(menu, tr("Reset the &point to s = 1"));
    connect(point, &QAction::triggered, this, [this] {
        const int index = m_editPage->editor().selectedPoint();
        if (index < 0) return;
        const double x = m_document.draft().points[static_cast<std::size_t>(index)].x;
        m_document.commit(widgets::withPointMoved(m_document.draft(), index, {x, 1.0}),
                          tr("reset point %1").arg(index));
    });
    QAction* whole = add(menu, tr("Reset the &curve to s = 1"));
    connect(whole, &QAction::triggered, this, [this] {
        widgets::CurveDraft flat = m_document.draft();
        for (curve::ControlPoint& one : flat.points) one.y = 1.0;
        m_document.commit(flat, tr("reset curve"));
    });
    QAction* view = add(menu, tr("Reset the &view"), QKeySequence(QStringLiteral("Ctrl+0")));
    connect(view, &QAction::triggered, &editor, &widgets::CurveEditor::resetView);

    addCurveMenu(editor, tr("Scale per layer"), {more, fewer, point, whole, view});
    addCurveMenu(m_searchPage->curves(), tr("Population and best"), {});
}

void MainWindow::addCurveMenu(widgets::CurveEditor& curve, const QString& name, const QList<QAction*>& first) {
    curve.setContextMenuPolicy(Qt::CustomContextMenu);
    connect(&curve, &QWidget::customContextMenuRequested, this, [this, &curve, name, first](const QPoint& at) {
        auto* popup = new QMenu(this);
        popup->setAttribute(Qt::WA_DeleteOnClose);
        popup->addActions(first);
        popup->addSeparator();
        connect(popup->addAction(tr("Copy image")), &QAction::triggered, this,
                [&curve] { QApplication::clipboard()->setPixmap(curve.grab()); });
        connect(popup->addAction(tr("Copy data as CSV")), &QAction::triggered, this, [&curve] {
            QApplication::clipboard()->setText(
                QString::fromStdString(analysis::plotCsv(analysis::PlotData(curve.plotData()))));
        });
        connect(popup->addAction(tr("Export…")), &QAction::triggered, this,
                [this, &curve, name] { m_exports->exportPlot(name, curve.plotData()); });
        popup->popup(curve.mapToGlobal(at));
    });
}

void MainWindow::makeViewMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&View"));
    for (int i = 0; i < m_workspaces->count(); ++i) {
        connect(add(menu, m_workspaces->tabText(i), QKeySequence(QStringLiteral("Ctrl+%1").arg(i + 1))),
                &QAction::triggered, this, [this, i] { m_workspaces->setCurrentIndex(i); });
    }
    QAction* prompt = add(menu, tr("Show the &prompt of an item"), QKeySequence(QStringLiteral("Ctrl+Shift+P")));
    prompt->setObjectName(QStringLiteral("showPromptAction"));
    connect(prompt, &QAction::triggered, this, &MainWindow::showPrompt);
    menu->addSeparator();
    for (QDockWidget* dock : findChildren<QDockWidget*>()) menu->addAction(dock->toggleViewAction());
    connect(add(menu, tr("&Put the docks back")), &QAction::triggered, this, &MainWindow::resetLayout);
    menu->addSeparator();
    QMenu* themes = menu->addMenu(tr("&Theme"));
    auto* group = new QActionGroup(this);
    const std::pair<QString, ThemeChoice> choices[] = {
        {tr("As the system"), ThemeChoice::System}, {tr("Light"), ThemeChoice::Light}, {tr("Dark"), ThemeChoice::Dark}};
    for (const auto& [name, choice] : choices) {
        QAction* action = add(themes, name);
        action->setCheckable(true);
        action->setChecked(m_settings.theme() == choice);
        group->addAction(action);
        connect(action, &QAction::triggered, this, [this, choice = choice] { setThemeChoice(choice); });
    }
}

void MainWindow::makeSearchMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Search"));
    menu->addActions(
        {m_search->startAction(), m_search->pauseAction(), m_search->resumeAction(), m_search->stopAction()});
    menu->addSeparator();
    connect(add(menu, tr("Resume the run that is selected in the list")), &QAction::triggered, this, [this] {
        const std::int64_t run = m_runList->selectedRun();
        if (run != 0) Q_EMIT m_runList->resumeRequested(run);
    });
    menu->addAction(m_train->stopAction());
    m_train->stopAction()->setIcon(signIcon(Sign::Stop));
    m_search->startAction()->setIcon(signIcon(Sign::Start));
    m_search->pauseAction()->setIcon(signIcon(Sign::Pause));
    m_search->resumeAction()->setIcon(signIcon(Sign::Resume));
    m_search->stopAction()->setIcon(signIcon(Sign::Stop));
}

void MainWindow::makeHelpMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Help"));
    connect(add(menu, tr("&Mouse and keys of the curve"), QKeySequence::HelpContents), &QAction::triggered, this,
            [this] {
                auto* box = new QMessageBox(
                    QMessageBox::NoIcon, tr("Mouse and keys of the curve"),
                    tr("Drag a point: moves it; Ctrl snaps to 0.05 and whole layers, Shift keeps to one axis, Escape "
                       "puts it back.\nArrows: 0.01 in scale and one layer; with Shift 0.1.\nTab, Shift+Tab: next and "
                       "previous point.\nInsert or A: one more point, the curve stays as it is (of monotone cubics: "
                       "nearly). Delete or X: removes "
                       "the point.\nWheel: zooms at the pointer. Drag the background: pans. Double click: whole "
                       "view.\nRight click on a picture: copy, export, the command that makes it."),
                    QMessageBox::Close, this);
                box->setAttribute(Qt::WA_DeleteOnClose);
                box->open();
            });
    connect(add(menu, tr("&About LPES Studio")), &QAction::triggered, this, [this] {
        auto* box = new QMessageBox(
            QMessageBox::NoIcon, tr("About LPES Studio"),
            tr("LPES Studio %1\n\nLayer-specific positional embedding scaling: edit, search, verify.\nLibTorch %2 on "
               "%3\n\nGPL-3.0-or-later. Plots by QCustomPlot.")
                .arg(QLatin1String(kVersion), QString::fromStdString(model::libTorchVersion()),
                     QString::fromStdString(model::deviceDescription("cpu"))),
            QMessageBox::Close, this);
        box->setAttribute(Qt::WA_DeleteOnClose);
        box->open();
    });
}

void MainWindow::makeToolBar() {
    QToolBar* bar = addToolBar(tr("Tools"));
    bar->setObjectName(QStringLiteral("toolBar"));
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    QAction* open = bar->addAction(signIcon(Sign::Open), tr("Open model"));
    open->setToolTip(tr("Open a GGUF file; folders are in the File menu"));
    connect(open, &QAction::triggered, this, &MainWindow::chooseModelFile);
    m_modelLabel = new QLabel(tr("no model"), bar);
    m_modelLabel->setContentsMargins(6, 0, 10, 0);
    m_modelLabel->setTextFormat(Qt::PlainText);
    bar->addWidget(m_modelLabel);
    bar->addSeparator();
    for (const char* name : {"undoAction", "redoAction"}) {
        auto* action = findChild<QAction*>(QLatin1String(name));
        bar->addAction(action);
        // Its text names the step and changes with every one: the bar would jump.
        if (auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action))) {
            button->setToolButtonStyle(Qt::ToolButtonIconOnly);
        }
    }
    bar->addSeparator();
    bar->addActions(
        {m_search->startAction(), m_search->pauseAction(), m_search->resumeAction(), m_search->stopAction()});
    bar->addSeparator();
    bar->addAction(findChild<QAction*>(QStringLiteral("exportProfileAction")));
    auto* spacer = new QWidget(bar);
    spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(spacer);
    m_stateLabel = new QLabel(bar);
    m_stateLabel->setContentsMargins(6, 0, 8, 0);
    m_stateLabel->setTextFormat(Qt::PlainText);
    bar->addWidget(m_stateLabel);
}

void MainWindow::makeStatusBar() {
    m_loading = new QProgressBar(this);
    m_loading->setMaximumWidth(220);
    m_loading->setAccessibleName(tr("Loading the model"));
    m_cancelLoading = new QToolButton(this);
    m_cancelLoading->setText(tr("Cancel"));
    m_cancelLoading->setObjectName(QStringLiteral("cancelLoading"));
    m_cancelLoading->setToolTip(tr("Stop loading the model"));
    connect(m_cancelLoading, &QToolButton::clicked, m_models.get(), &ModelController::cancel);
    statusBar()->addPermanentWidget(m_loading);
    statusBar()->addPermanentWidget(m_cancelLoading);
    m_loading->hide();
    m_cancelLoading->hide();
}

namespace {

/// Opens without blocking: nothing of the window waits for the choice.
template <class Chosen>
void choose(QWidget* parent, const QString& title, const QString& folder, const QString& filter,
            QFileDialog::FileMode mode, Chosen chosen) {
    auto* dialog = new QFileDialog(parent, title, folder, filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(mode);
    if (mode == QFileDialog::Directory) dialog->setOption(QFileDialog::ShowDirsOnly);
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, chosen);
    dialog->open();
}

}  // namespace

void MainWindow::chooseModelFile() {
    choose(this, tr("Open model file"), m_settings.folder(QStringLiteral("model")), tr("GGUF models (*.gguf)"),
           QFileDialog::ExistingFile, [this](const QString& path) {
               m_settings.setFolder(QStringLiteral("model"), QFileInfo(path).path());
               openModel(path.toStdString());
           });
}

void MainWindow::chooseModelFolder() {
    choose(this, tr("Open model folder (with config.json)"), m_settings.folder(QStringLiteral("model")), {},
           QFileDialog::Directory, [this](const QString& path) {
               m_settings.setFolder(QStringLiteral("model"), QFileInfo(path).path());
               openModel(path.toStdString());
           });
}

void MainWindow::chooseDatabase() {
    choose(this, tr("Open data base"), QFileInfo(QString::fromStdString(m_options.database.string())).path(),
           tr("LPES data bases (*.db);;All files (*)"), QFileDialog::ExistingFile,
           [this](const QString& path) { openDatabase(path.toStdString()); });
}

void MainWindow::chooseProfile() {
    choose(this, tr("Open profile"), m_settings.folder(QStringLiteral("profile")),
           tr("Profiles (*.json *.csv);;All files (*)"), QFileDialog::ExistingFile, [this](const QString& path) {
               m_settings.setFolder(QStringLiteral("profile"), QFileInfo(path).path());
               openProfile(path.toStdString());
           });
}

void MainWindow::exportCurrentProfile() {
    const auto profile = m_document.profile();
    if (!profile) return complain(QString::fromStdString(profile.error().text()));
    m_exports->exportProfile(*profile, QStringLiteral("profile.json"), [this](const QString& file) {
        m_document.markSaved(file.section(QLatin1Char('/'), -1));
        profileWritten(file);
    });
}

}  // namespace lpes::app
