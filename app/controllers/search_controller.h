#pragma once

#include <QObject>
#include <filesystem>
#include <memory>

#include "app/jobs/search_job.h"
#include "app/jobs/store_snapshot.h"
#include "core/studies/run_settings.h"
#include "widgets/panels/search_panel.h"

class QAction;

namespace lpes::app {

class Document;

/// The four commands of a search, from panel, tool bar and menu alike, and what the search says meanwhile. A search
/// gets its own copy of settings and rules; what the user does to the curve meanwhile does not touch it. GUI thread
/// only.
class SearchController : public QObject {
    Q_OBJECT
  public:
    SearchController(Document& document, widgets::SearchPanel& panel, QObject* parent);
    ~SearchController() override;

    [[nodiscard]] QAction* startAction() const { return m_start; }
    [[nodiscard]] QAction* pauseAction() const { return m_pause; }
    [[nodiscard]] QAction* resumeAction() const { return m_resume; }
    [[nodiscard]] QAction* stopAction() const { return m_stop; }

    /// What searches are made of; null: none can start, for the reason given.
    void setModel(std::shared_ptr<const ReadyModel> model, const QString& whyNot);
    void setDatabase(const std::filesystem::path& path) { m_database = path; }
    /// The study whose values the form starts from; everything that the form has no field for stays as it is there.
    void setStudy(const studies::SearchRunSettings& study);
    [[nodiscard]] const studies::SearchRunSettings& study() const { return m_study; }

    void start(const widgets::SearchForm& form);
    /// Takes a run of the data base up again that was stopped, interrupted or failed.
    void resumeRun(std::int64_t runId);
    void stop();
    /// Leaves a search on another machine to itself.
    void leave();
    [[nodiscard]] bool isBusy() const { return m_job != nullptr; }
    /// Machine that the search under way runs on; empty: this one, or there is none.
    [[nodiscard]] const QString& host() const { return m_host; }
    /// Run here of a search on another machine; 0: none under way, or it has none yet.
    [[nodiscard]] std::int64_t remoteRun() const { return m_remoteRun; }
    /// Data base that searches are written to: run numbers mean nothing without it.
    [[nodiscard]] const std::filesystem::path& database() const { return m_database; }
    /// The one that the search under way writes to.
    [[nodiscard]] const std::filesystem::path& jobDatabase() const { return m_jobDatabase; }
    [[nodiscard]] widgets::SearchState state() const;
    /// Best and baseline of the run that is under way, from the data base.
    void showFigures(const RunDetail& detail);
    /// Settings of a search as the form stands, for tests and for the start.
    [[nodiscard]] studies::SearchRunSettings settingsOf(const widgets::SearchForm& form) const;

  Q_SIGNALS:
    void began();
    void stateChanged(lpes::widgets::SearchState state);
    void warningRaised(const QString& sentence);
    void finished(qint64 runId, const nlohmann::json& result);
    void stopped(qint64 runId);
    /// It goes on on another machine.
    void left(qint64 runId);
    void failed(const lpes::Error& error);
    /// After one of the four above: another job may begin, the data base is free.
    void ended();

  private:
    void run(SearchOrder order);
    /// Connects what a job says of its end.
    void hearEnd(SearchJob& job);
    void showState();
    void showProgress(const Progress& progress);
    void clearJob();

    Document& m_document;
    widgets::SearchPanel& m_panel;
    QAction *m_start, *m_pause, *m_resume, *m_stop;
    std::shared_ptr<const ReadyModel> m_model;
    QString m_whyNot;
    std::filesystem::path m_database, m_jobDatabase;
    studies::SearchRunSettings m_study;
    widgets::SearchProgress m_progress;
    double m_startedAt = 0.0;
    QString m_host;
    std::int64_t m_remoteRun = 0;
    std::unique_ptr<SearchJob> m_job;
};

}  // namespace lpes::app
