#pragma once

#include <QObject>
#include <filesystem>
#include <memory>

#include "app/jobs/store_snapshot.h"
#include "app/jobs/study_job.h"
#include "core/base/result.h"
#include "core/studies/run_settings.h"
#include "widgets/panels/compare_panel.h"

namespace lpes::app {

class Document;
class Settings;

/// Starts, stops and resumes comparisons for their panel, says how they stand, and finds the files that methods name. A
/// comparison gets its own copy of the settings, and the curve of the editor as a file that stays as it is. GUI thread
/// only.
class CompareController : public QObject {
    Q_OBJECT
  public:
    /// `curveFolder`: where curves that are compared are kept; empty: nowhere, and they cannot be.
    CompareController(Document& document, widgets::ComparePanel& panel, Settings& settings,
                      std::filesystem::path curveFolder, QObject* parent);
    ~CompareController() override;

    /// What comparisons are made of; null: none can start, for the reason given.
    void setModel(std::shared_ptr<const ReadyModel> model, const QString& whyNot);
    void setDatabase(const std::filesystem::path& path) { m_database = path; }
    /// The study whose model, items and positions the form starts from. The items are generated with another seed than
    /// the study's, so that a profile which a search of it found is compared on items that the search never saw.
    void setStudy(const studies::SearchRunSettings& study);

    void start(const widgets::CompareForm& form);
    /// Takes a comparison of the data base up again that was stopped, interrupted or failed.
    void resumeRun(std::int64_t runId);
    void stop();
    [[nodiscard]] bool isBusy() const { return m_job != nullptr; }
    [[nodiscard]] widgets::SearchState state() const;
    /// The run that the window shows: Resume goes on with it where it can.
    void showRun(const RunDetail* detail);
    /// Settings of a comparison as the form stands.
    [[nodiscard]] studies::CompareSettings settingsOf(const widgets::CompareForm& form) const;
    /// The editor's curve as a method: a profile file whose name is the hash of its content, so that the spelling says
    /// for good what was compared. Usage where there is no folder or the curve changes nothing.
    [[nodiscard]] Result<std::string> keepCurve() const;

  Q_SIGNALS:
    void began();
    void stateChanged(lpes::widgets::SearchState state);
    void warningRaised(const QString& sentence);
    void finished(qint64 runId, const nlohmann::json& result);
    void stopped(qint64 runId);
    void failed(const lpes::Error& error);
    /// After one of the three above: another job may begin, the data base is free.
    void ended();

  private:
    void run(StudyOrder order);
    void showState();
    void showProgress(const Progress& progress);
    void clearJob();
    void addCurve();
    void chooseFile(const QString& title, const QString& filter, const QString& method);

    Document& m_document;
    widgets::ComparePanel& m_panel;
    Settings& m_settings;
    const std::filesystem::path m_curveFolder;
    std::shared_ptr<const ReadyModel> m_model;
    std::filesystem::path m_database;
    studies::SearchRunSettings m_study;
    widgets::SearchProgress m_progress;
    double m_startedAt = 0.0;
    std::unique_ptr<StudyJob> m_job;
};

}  // namespace lpes::app
