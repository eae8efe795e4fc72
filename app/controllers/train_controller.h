#pragma once

#include <QObject>
#include <filesystem>
#include <memory>

#include "app/jobs/study_job.h"

class QAction;

namespace lpes::app {

/// Takes trainings up that were left, stops them, and says how they stand; they are begun with `lpes train`. GUI thread
/// only.
class TrainController : public QObject {
    Q_OBJECT
  public:
    explicit TrainController(QObject* parent);
    ~TrainController() override;

    /// Enabled while a training can be stopped.
    [[nodiscard]] QAction* stopAction() const { return m_stop; }

    void setDatabase(const std::filesystem::path& path) { m_database = path; }
    /// Takes a training of the data base up again that was stopped, interrupted or failed.
    void resumeRun(std::int64_t runId);
    void stop();
    [[nodiscard]] bool isBusy() const { return m_job != nullptr; }

  Q_SIGNALS:
    void began(qint64 runId);
    void progressChanged(const lpes::Progress& progress);
    void warningRaised(const QString& sentence);
    void finished(qint64 runId, const nlohmann::json& result);
    /// `database`: the one that holds the run.
    void stopped(qint64 runId, const std::filesystem::path& database);
    void failed(const lpes::Error& error);
    /// After one of the three above: another job may begin, the data base is free.
    void ended();

  private:
    void clearJob();

    QAction* m_stop;
    std::filesystem::path m_database;
    std::unique_ptr<StudyJob> m_job;
};

}  // namespace lpes::app
