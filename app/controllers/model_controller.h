#pragma once

#include <QObject>
#include <memory>
#include <vector>

#include "app/jobs/model_job.h"

namespace lpes::app {

/// Opens models one after the other. Opening another one while one is loading abandons that one at once; its thread
/// comes to its end by itself and is then cleared away. GUI thread only.
class ModelController : public QObject {
    Q_OBJECT
  public:
    explicit ModelController(QObject* parent = nullptr);
    ~ModelController() override;

    void open(const studies::ModelOptions& options);
    void cancel();
    [[nodiscard]] bool isLoading() const { return m_job && !m_job->hasEnded(); }
    /// The model that is open; null: none.
    [[nodiscard]] const std::shared_ptr<const ReadyModel>& model() const { return m_model; }
    /// Threads that are still on their way to their end.
    [[nodiscard]] std::size_t retiring() const { return m_retiring.size(); }

  Q_SIGNALS:
    void loadingStarted(const QString& name);
    void progressChanged(const lpes::Progress& progress);
    void warningRaised(const QString& sentence);
    void modelChanged(const std::shared_ptr<const lpes::app::ReadyModel>& model);
    /// The model that was open before stays open.
    void failed(const QString& name, const lpes::Error& error);
    void cancelled(const QString& name);

  private:
    void retire();

    std::shared_ptr<const ReadyModel> m_model;
    std::unique_ptr<ModelJob> m_job;
    std::vector<std::unique_ptr<ModelJob>> m_retiring;
};

}  // namespace lpes::app
