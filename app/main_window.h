#pragma once

#include <QMainWindow>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/appearance.h"
#include "app/document.h"
#include "app/jobs/model_job.h"
#include "app/settings.h"
#include "core/studies/run_settings.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/panels/search_panel.h"

class QLabel;
class QProgressBar;
class QTabWidget;
class QToolButton;

namespace lpes::widgets {
class InspectorPanel;
class LogPanel;
class MessageBar;
class PlotPane;
class PointPanel;
class PromptView;
class RunList;
}  // namespace lpes::widgets

namespace lpes::app {

class CompareController;
class ComparePage;
class DraftKeeper;
class EditPage;
class ExportController;
class LiveController;
class ModelController;
class PromptController;
class SearchController;
class SearchPage;
class StoreController;
class TrainController;
class WorkspaceDocks;

/// What the window is started with.
struct StudioOptions {
    std::string model = "demo";         ///< empty: none is opened
    std::filesystem::path database;     ///< followed, and written by searches
    std::filesystem::path profile;      ///< opened after the model; empty: the curve of the last session
    std::filesystem::path draftFolder;  ///< where curves are kept between sessions; empty: they are not
    /// What the search form and the sample prompts start from; unset: the demo study.
    std::optional<studies::SearchRunSettings> study;
    bool systemDark = false;
    std::optional<ThemeChoice> theme;  ///< for this session; unset: the one that is remembered
    bool restoreLayout = true;         ///< off for pictures that must not depend on the user's arrangement
};

/// Docks, menus and tool bar around the four workspaces; every decision is a controller's. GUI thread only.
class MainWindow : public QMainWindow {
    Q_OBJECT
  public:
    enum Workspace { Edit, Search, Inspect, Compare };

    explicit MainWindow(StudioOptions options, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens what the options name.
    void start();
    void setWorkspace(Workspace workspace);
    void setThemeChoice(ThemeChoice choice);
    void openModel(const std::string& spelling);
    void openDatabase(const std::filesystem::path& path);
    void openProfile(const std::filesystem::path& path);
    /// Docks as in a fresh installation.
    void resetLayout();

    /// The prompt view of Inspect, on the items that the workspace before asks for.
    void showPrompt();

    [[nodiscard]] Document& document() { return m_document; }
    [[nodiscard]] EditPage& editPage() { return *m_editPage; }
    [[nodiscard]] SearchPage& searchPage() { return *m_searchPage; }
    [[nodiscard]] ComparePage& comparePage() { return *m_comparePage; }
    [[nodiscard]] CompareController& compare() { return *m_compare; }
    [[nodiscard]] TrainController& training() { return *m_train; }
    [[nodiscard]] LiveController& live() { return *m_live; }
    [[nodiscard]] ModelController& models() { return *m_models; }
    [[nodiscard]] SearchController& search() { return *m_search; }
    [[nodiscard]] StoreController& stores() { return *m_stores; }
    [[nodiscard]] PromptController& prompts() { return *m_prompts; }
    [[nodiscard]] widgets::PromptView& promptView() { return *m_promptView; }
    [[nodiscard]] widgets::SearchPanel& searchPanel() { return *m_searchPanel; }
    [[nodiscard]] widgets::RunList& runList() { return *m_runList; }
    [[nodiscard]] widgets::MessageBar& messages() { return *m_messages; }
    [[nodiscard]] widgets::LogPanel& log() { return *m_log; }

  Q_SIGNALS:
    /// The first picture of the window is on the screen.
    void painted();

  protected:
    void closeEvent(QCloseEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    // main_window.cpp
    void makeDocks();
    void applyTheme();
    void updateTitle();
    void askBeforeClosing();
    // main_window_menus.cpp
    void makeMenus();
    void makeFileMenu();
    void makeEditMenu();
    void addCurveMenu(widgets::CurveEditor& curve, const QString& name, const QList<QAction*>& first);
    void makeViewMenu();
    void makeSearchMenu();
    void makeHelpMenu();
    void makeToolBar();
    void makeStatusBar();
    void chooseModelFile();
    void chooseModelFolder();
    void chooseDatabase();
    void chooseProfile();
    void exportCurrentProfile();
    // main_window_wiring.cpp
    void wireEditor();
    void wireModels();
    void wireSearch();
    void wireStore();
    void wireExport();
    // main_window_prompt.cpp
    void wirePrompt();
    // main_window_compare.cpp
    void wireCompare();
    /// Who may start: searches, comparisons and trainings write to the same data base, and another one would spoil a
    /// comparison's times.
    void offerJobs(const QString& whyNoModel);
    [[nodiscard]] bool isBusy() const;
    void stopAndClose();
    void leaveAndClose();  ///< a search on another machine goes on there
    void closeWhenEnded();
    // main_window_train.cpp
    void wireTrain();
    /// That a run was stopped, with a button to go on; refused where another data base is open by then.
    void offerResuming(qint64 run, const std::filesystem::path& database);
    void modelReady(const std::shared_ptr<const ReadyModel>& model);
    void searchFinished(qint64 runId, const nlohmann::json& result);
    /// With the stored profile of the run that is selected; says why when there is none.
    void withRunProfile(qint64 runId, const std::function<void(const exporters::Profile&)>& use);
    /// `name`: what the editor calls it; empty: the best of its run.
    void takeRunProfile(qint64 runId, const exporters::Profile& profile, const QString& name = {});
    void takeFrontMember(qint64 number);  ///< of the run that is shown
    void exportRunProfile(qint64 runId, const exporters::Profile& profile);
    void profileWritten(const QString& file);
    void showGhosts();
    void say(const QString& sentence);
    void warn(const QString& sentence);
    void complain(const QString& sentence);

    StudioOptions m_options;
    Settings m_settings;
    widgets::Theme m_theme;
    Document m_document;

    QTabWidget* m_workspaces = nullptr;
    EditPage* m_editPage = nullptr;
    SearchPage* m_searchPage = nullptr;
    ComparePage* m_comparePage = nullptr;
    widgets::InspectorPanel* m_inspector = nullptr;
    QTabWidget* m_inspect = nullptr;
    widgets::PromptView* m_promptView = nullptr;
    widgets::PointPanel* m_points = nullptr;
    widgets::SearchPanel* m_searchPanel = nullptr;
    widgets::RunList* m_runList = nullptr;
    widgets::LogPanel* m_log = nullptr;
    widgets::MessageBar* m_messages = nullptr;
    QProgressBar *m_loading = nullptr, *m_training = nullptr;
    QToolButton* m_cancelLoading = nullptr;
    QLabel *m_modelLabel = nullptr, *m_stateLabel = nullptr;
    std::vector<widgets::GhostCurve> m_ghosts;  ///< as the editor shows them
    bool m_studyShown = false, m_closing = false, m_paintedOnce = false;

    // Last, so that they end before the widgets that they show things in.
    std::unique_ptr<WorkspaceDocks> m_docks;
    std::unique_ptr<DraftKeeper> m_keeper;
    std::unique_ptr<ExportController> m_exports;
    std::unique_ptr<StoreController> m_stores;
    std::unique_ptr<ModelController> m_models;
    std::unique_ptr<LiveController> m_live;
    std::unique_ptr<SearchController> m_search;
    std::unique_ptr<CompareController> m_compare;
    std::unique_ptr<TrainController> m_train;
    std::unique_ptr<PromptController> m_prompts;
};

}  // namespace lpes::app
