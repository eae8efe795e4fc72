#include <QApplication>
#include <QLabel>
#include <QProgressBar>
#include <QStatusBar>
#include <QTabWidget>
#include <QToolButton>

#include "app/controllers/compare_controller.h"
#include "app/controllers/export_controller.h"
#include "app/controllers/live_controller.h"
#include "app/controllers/model_controller.h"
#include "app/controllers/prompt_controller.h"
#include "app/controllers/search_controller.h"
#include "app/controllers/store_controller.h"
#include "app/controllers/train_controller.h"
#include "app/draft_keeper.h"
#include "app/main_window.h"
#include "app/pages/compare_page.h"
#include "app/pages/edit_page.h"
#include "app/pages/search_page.h"
#include "app/presenters.h"
#include "core/studies/front_query.h"
#include "widgets/common/message_bar.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/curve_editor/point_panel.h"
#include "widgets/panels/inspector_panel.h"
#include "widgets/panels/log_panel.h"
#include "widgets/panels/plot_pane.h"
#include "widgets/panels/run_list.h"

namespace lpes::app {

using widgets::CurveDraft;
using widgets::CurveEditor;
using widgets::LogPanel;
using widgets::MessageBar;
using widgets::PointPanel;
using widgets::SearchState;

namespace {

constexpr int kStatusMs = 8000;

QString textOf(const Error& error) {
    return QString::fromStdString(error.text());
}

}  // namespace

void MainWindow::say(const QString& sentence) {
    m_log->add(LogPanel::Level::Info, sentence);
    statusBar()->showMessage(sentence, kStatusMs);
}

void MainWindow::warn(const QString& sentence) {
    m_log->add(LogPanel::Level::Warning, sentence);
    m_messages->show(MessageBar::Kind::Warning, sentence);
}

void MainWindow::complain(const QString& sentence) {
    m_log->add(LogPanel::Level::Error, sentence);
    m_messages->show(MessageBar::Kind::Error, sentence);
}

void MainWindow::wireEditor() {
    CurveEditor& editor = m_editPage->editor();
    editor.setDraft(m_document.draft());
    m_points->setDraft(m_document.draft());
    const auto commit = [this](const CurveDraft&, const CurveDraft& after, const QString& what) {
        m_document.commit(after, what);
    };
    connect(&editor, &CurveEditor::draftCommitted, this, commit);
    connect(m_points, &PointPanel::draftCommitted, this, commit);
    connect(&editor, &CurveEditor::draftPreviewed, m_points, &PointPanel::setDraft);
    connect(&editor, &CurveEditor::draftAbandoned, this, [this] { m_points->setDraft(m_document.draft()); });
    connect(&editor, &CurveEditor::pointSelected, m_points, &PointPanel::setSelected);
    connect(m_points, &PointPanel::pointSelected, &editor, &CurveEditor::selectPoint);
    connect(m_points, &PointPanel::addPointRequested, &editor, &CurveEditor::addPoint);
    connect(m_points, &PointPanel::removePointRequested, &editor, &CurveEditor::removeSelectedPoint);
    connect(&m_document, &Document::draftChanged, this, [this](const CurveDraft& draft) {
        if (m_editPage->editor().draft() != draft) m_editPage->editor().setDraft(draft);
        m_points->setDraft(draft);
        m_points->setSelected(m_editPage->editor().selectedPoint());
    });
    connect(&m_document, &Document::originChanged, this, &MainWindow::updateTitle);
    connect(&m_document.undoStack(), &QUndoStack::cleanChanged, this, &MainWindow::updateTitle);
    connect(m_keeper.get(), &DraftKeeper::failed, this, &MainWindow::warn);
}

void MainWindow::showGhosts() {
    std::vector<widgets::GhostCurve> ghosts;
    if (const auto detail = m_stores->detail()) ghosts = bestGhosts(*detail);
    // A new ghost lays the picture out anew, which is for nothing when it is the same one.
    if (ghosts == m_ghosts) return;
    m_ghosts = ghosts;
    m_editPage->editor().setGhosts(std::move(ghosts));
}

void MainWindow::wireModels() {
    ModelController* models = m_models.get();
    connect(models, &ModelController::loadingStarted, this, [this](const QString& name) {
        m_loading->setRange(0, 0);
        m_loading->show();
        m_cancelLoading->show();
        m_modelLabel->setText(tr("loading %1 …").arg(name));
        say(tr("Loading the model %1").arg(name));
        offerJobs(tr("The model is being loaded"));
    });
    connect(models, &ModelController::progressChanged, this, [this](const Progress& progress) {
        if (!m_models->isLoading()) return;
        m_loading->setRange(0, static_cast<int>(progress.total));
        m_loading->setValue(static_cast<int>(progress.done));
    });
    connect(models, &ModelController::warningRaised, this, &MainWindow::warn);
    connect(models, &ModelController::modelChanged, this, &MainWindow::modelReady);
    const auto over = [this] {
        m_loading->hide();
        m_cancelLoading->hide();
        const auto& model = m_models->model();
        m_modelLabel->setText(model ? QString::fromStdString(model->model.config().name) : tr("no model"));
        offerJobs(tr("Open a model first"));
    };
    connect(models, &ModelController::failed, this, [this, over](const QString& name, const Error& error) {
        over();
        complain(tr("The model %1 is not opened: %2").arg(name, textOf(error)));
        if (!m_models->model()) m_inspector->setError(textOf(error));
    });
    connect(models, &ModelController::cancelled, this, [this, over](const QString& name) {
        over();
        say(tr("Loading %1 was cancelled").arg(name));
    });
}

void MainWindow::modelReady(const std::shared_ptr<const ReadyModel>& model) {
    const model::ModelConfig& config = model->model.config();
    m_loading->hide();
    m_cancelLoading->hide();
    m_modelLabel->setText(QString::fromStdString(config.name));
    m_modelLabel->setToolTip(QString::fromStdString(model->model.opened.path.string()));
    m_editPage->editor().setModel(config.numLayers, config.contextLength);
    m_points->setModel(config.numLayers, config.contextLength);
    m_stores->setModelShape(config.numLayers, config.contextLength);
    m_inspector->setFacts(factsOf(model->description));
    m_document.setModel(studies::profileModel(config), config.contextLength);
    m_stateLabel->setText(QStringLiteral("%1 · %2 · %3")
                              .arg(QString::fromStdString(model->model.lm->device()),
                                   QString::fromStdString(model::computeTypeName(model->model.lm->computeType())),
                                   bytesText(static_cast<double>(model->model.lm->residentBytes()))));
    m_stateLabel->setToolTip(tr("Device, compute type and memory of the weights"));
    const Result<studies::SearchRunSettings> study = m_options.study ? *m_options.study : studies::demoStudy();
    if (study) {
        // Once: what the user has entered since is not this model's business.
        if (!std::exchange(m_studyShown, true)) {
            m_search->setStudy(*study);
            m_compare->setStudy(*study);
        }
        m_live->setModel(model, study->task);
    } else {
        complain(textOf(study.error()));
    }
    m_prompts->setModel(model);
    offerJobs({});
    updateTitle();
    say(tr("%1 is open: %2 layers, %3 tokens of context")
            .arg(QString::fromStdString(config.name))
            .arg(config.numLayers)
            .arg(config.contextLength));
    if (!m_options.profile.empty()) {
        openProfile(std::exchange(m_options.profile, {}));
    } else if (m_keeper->restore()) {
        say(tr("The curve of the last session is back; Undo starts afresh"));
    } else if (m_document.draft() == Document::freshDraft()) {
        m_messages->show(MessageBar::Kind::Info,
                         tr("Drag a point of the curve: the pictures below follow. Start search looks for a better "
                            "curve by itself and checks it on items that it never saw."),
                         {{tr("Start search"), [this] { m_search->startAction()->trigger(); }}});
    }
}

void MainWindow::wireSearch() {
    SearchController* search = m_search.get();
    connect(search, &SearchController::began, this, [this] {
        m_stores->expectOwnRun();
        m_messages->hide();
        setWorkspace(Search);
        const QString& host = m_search->host();
        say(host.isEmpty() ? tr("A search has begun; it works on its own copy of the settings")
                           : tr("A search has begun on %1; its rows come here as it goes").arg(host));
    });
    connect(search, &SearchController::warningRaised, this,
            [this](const QString& sentence) { m_log->add(LogPanel::Level::Warning, sentence); });
    connect(search, &SearchController::finished, this, &MainWindow::searchFinished);
    connect(search, &SearchController::stopped, this, [this](qint64 run) {
        m_stores->nudge();
        if (run == 0) return say(tr("The search was stopped before its run began; nothing is stored"));
        say(tr("Run %1 is stopped; what it finished is stored").arg(run));
        offerResuming(run, m_search->database());
    });
    connect(search, &SearchController::left, this, [this](qint64 run) {
        m_stores->nudge();
        if (run != 0) say(tr("Run %1 goes on where it is; resume it to come back to it").arg(run));
    });
    connect(search, &SearchController::failed, this, [this](const Error& error) {
        m_stores->nudge();
        complain(tr("The search ended: %1").arg(textOf(error)));
    });
    connect(search, &SearchController::stateChanged, this, [this, last = SearchState::Idle](SearchState state) mutable {
        if (state == last) return;
        if (state == SearchState::Paused) say(tr("The search is paused; its run is stored"));
        last = state;
    });
}

void MainWindow::searchFinished(qint64 run, const nlohmann::json& result) {
    m_stores->nudge();
    const QString verdict = verdictOf(result);
    QString sentence = tr("Run %1 is finished: %2.").arg(run).arg(verdict);
    if (const auto guard = guardrailOf(result); !guard.light.isEmpty()) {
        sentence += tr(" Guardrail %1: %2.").arg(guard.light, guard.reason);
    }
    m_log->add(LogPanel::Level::Info, sentence);
    std::vector<MessageBar::Action> actions;
    const auto stored = result.find("profile");
    if (stored != result.end() && stored->is_object()) {
        if (const auto read = exporters::profileFromJson(stored->dump(), "the search's profile")) {
            actions.push_back(
                {tr("Open in the editor"), [this, run, profile = read->profile] { takeRunProfile(run, profile); }});
            actions.push_back(
                {tr("Export profile…"), [this, run, profile = read->profile] { exportRunProfile(run, profile); }});
        }
    }
    m_messages->show(isBetter(result) ? MessageBar::Kind::Success : MessageBar::Kind::Info, sentence,
                     std::move(actions));
}

void MainWindow::wireStore() {
    connect(m_stores.get(), &StoreController::runShown, this, [this](const std::shared_ptr<const RunDetail>& detail) {
        const bool own = m_search->isBusy() && m_search->jobDatabase() == m_stores->database();
        // A copy of a run that goes on elsewhere is no running one here.
        const bool live = detail->run.state == store::RunState::Running || detail->run.id == m_search->remoteRun();
        if (own && live) m_search->showFigures(*detail);
        showGhosts();
    });
    connect(m_stores.get(), &StoreController::snapshotShown, this, &MainWindow::showGhosts);
    connect(&m_searchPage->pane(kParetoPlot), &widgets::PlotPane::memberPicked, this, &MainWindow::takeFrontMember);
    connect(m_stores.get(), &StoreController::failed, this, [this](const Error& error) { complain(textOf(error)); });
    connect(m_runList, &widgets::RunList::runSelected, this, [this](qint64 run) {
        // Only what the user chose, not what was selected for him.
        const QWidget* focus = QApplication::focusWidget();
        if (run == 0 || !focus || !m_runList->isAncestorOf(focus)) return;
        const widgets::RunLine* line = m_runList->model().find(run);
        setWorkspace(line && line->kind == QStringLiteral("compare") ? Compare : Search);
    });
    connect(m_runList, &widgets::RunList::resumeRequested, this, [this](qint64 run) {
        if (isBusy()) return complain(tr("A run is under way; stop it before run %1 is resumed").arg(run));
        const widgets::RunLine* line = m_runList->model().find(run);
        if (line && !line->resumable) {
            return complain(tr("Run %1 is %2; only a stopped, interrupted or failed search, comparison or training "
                               "can be resumed")
                                .arg(run)
                                .arg(line->state));
        }
        if (line && line->kind == QStringLiteral("compare")) {
            m_compare->resumeRun(run);
        } else if (line && line->kind == QStringLiteral("train")) {
            m_train->resumeRun(run);
        } else {
            m_search->resumeRun(run);
        }
        m_stores->select(run);
    });
    connect(m_runList, &widgets::RunList::showProfileRequested, this, [this](qint64 run) {
        withRunProfile(run, [this, run](const exporters::Profile& profile) { takeRunProfile(run, profile); });
    });
    connect(m_runList, &widgets::RunList::exportProfileRequested, this, [this](qint64 run) {
        withRunProfile(run, [this, run](const exporters::Profile& profile) { exportRunProfile(run, profile); });
    });
}

void MainWindow::withRunProfile(qint64 run, const std::function<void(const exporters::Profile&)>& use) {
    const auto detail = m_stores->detail();
    if (!detail || detail->run.id != run || detail->profileJson.empty()) {
        return complain(tr("Run %1 has no profile yet; select it in the list and try again").arg(run));
    }
    auto profile = exporters::profileFromJson(detail->profileJson, tr("profile of run %1").arg(run).toStdString());
    if (!profile) return complain(textOf(profile.error()));
    use(profile->profile);
}

void MainWindow::takeFrontMember(qint64 number) {
    const auto detail = m_stores->detail();
    if (!detail) return;
    const auto profile = studies::profileOfFront(detail->run, detail->profileJson, number);
    if (!profile) return complain(textOf(profile.error()));
    takeRunProfile(detail->run.id, *profile, tr("number %1 of the front of run %2").arg(number).arg(detail->run.id));
}

void MainWindow::takeRunProfile(qint64 run, const exporters::Profile& profile, const QString& name) {
    if (!m_document.hasModel()) return complain(tr("Open the model of run %1 first").arg(run));
    auto taken = m_document.takeProfile(profile, name.isEmpty() ? tr("best of run %1").arg(run) : name);
    if (!taken) return complain(textOf(taken.error()));
    for (const std::string& warning : *taken) warn(QString::fromStdString(warning));
    setWorkspace(Edit);
    say(tr("The profile of run %1 is in the editor; Undo brings the curve before it back").arg(run));
}

void MainWindow::exportRunProfile(qint64 run, const exporters::Profile& profile) {
    m_exports->exportProfile(profile, QStringLiteral("run-%1.json").arg(run),
                             [this](const QString& file) { profileWritten(file); });
}

void MainWindow::profileWritten(const QString& file) {
    say(tr("Profile written to %1").arg(file));
    m_messages->show(MessageBar::Kind::Success, tr("Profile written to %1").arg(file));
}

void MainWindow::wireExport() {
    m_exports->watch(m_editPage->attention());
    m_exports->watch(m_editPage->deviation());
    m_exports->watch(m_comparePage->methods());
    m_exports->watch(m_comparePage->accuracy());
    for (std::size_t kind = 0; kind < SearchPage::kPanes; ++kind) {
        m_exports->watch(m_searchPage->pane(static_cast<PlotKind>(kind)));
    }
    connect(m_exports.get(), &ExportController::failed, this, &MainWindow::complain);
    connect(m_exports.get(), &ExportController::figureWritten, this, [this](const QStringList& files) {
        say(tr("Figure written to %1").arg(files.join(QStringLiteral(", "))));
        m_messages->show(MessageBar::Kind::Success, tr("Figure written to %1").arg(files.join(QStringLiteral(", "))));
    });
}

}  // namespace lpes::app
