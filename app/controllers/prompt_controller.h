#pragma once

#include <QObject>
#include <QTimer>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/jobs/prompt_job.h"

namespace lpes::app {

/// What a form asks for now.
struct PromptSource {
    QString name;  ///< "Search settings"
    struct Items {
        studies::TaskSpec task;
        std::int64_t count = 100;               ///< to generate
        QString problem;                        ///< why the form asks for nothing; empty when it does
        std::optional<std::string> score = {};  ///< as a run's settings have it
    };
    std::function<Items()> items;
};

/// Keeps the view of a prompt true to the forms, the model and what the user chose, as long as it is in sight. GUI
/// thread only.
class PromptController : public QObject {
    Q_OBJECT
  public:
    PromptController(widgets::PromptView& view, std::vector<PromptSource> sources, QObject* parent);

    void setModel(std::shared_ptr<const ReadyModel> model);
    /// A form changed: the prompt follows when the user pauses, or comes into sight again.
    void formChanged();
    void choose(int source);
    /// What is in sight is what the forms ask for.
    [[nodiscard]] bool isUpToDate() const { return !m_stale && !m_job.isBusy(); }

  private:
    void refresh();
    void refreshIfSeen();

    widgets::PromptView& m_view;
    std::vector<PromptSource> m_sources;
    std::shared_ptr<const ReadyModel> m_model;
    std::optional<std::string> m_id, m_position;
    std::int64_t m_number = 0;
    bool m_stale = true;
    QTimer m_pause;
    PromptJob m_job;
};

}  // namespace lpes::app
