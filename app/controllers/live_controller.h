#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>

#include "app/jobs/live_job.h"
#include "widgets/curve_editor/curve_draft.h"

namespace lpes::widgets {
class InspectorPanel;
}  // namespace lpes::widgets

namespace lpes::app {

class Document;
class EditPage;

/// Keeps the pictures below the curve true to it: asks for new ones while the curve is dragged and when it is changed,
/// shows what comes, and says how fresh it is. GUI thread only.
class LiveController : public QObject {
    Q_OBJECT
  public:
    LiveController(Document& document, EditPage& page, widgets::InspectorPanel& inspector, QObject* parent);

    void setModel(std::shared_ptr<const ReadyModel> model, const studies::TaskSpec& task);
    void clearModel(const QString& why);
    /// The newest pictures belong to the curve as it is and are complete.
    [[nodiscard]] bool isUpToDate() const;

  Q_SIGNALS:
    void picturesShown();

  private:
    void preview(const widgets::CurveDraft& draft);
    void changed();
    void ask(const rope::LayerScales& scales);
    /// False for a curve that breaks a rule: its pictures cannot be made, and those that are shown are marked.
    bool accept(const rope::LayerScales& scales);
    void show(const LivePictures& pictures);
    void showLayers(const rope::LayerScales& scales);
    void tellFreshness();
    [[nodiscard]] QString freshness(int prompts) const;

    Document& m_document;
    EditPage& m_page;
    widgets::InspectorPanel& m_inspector;
    LiveJob m_job;
    std::shared_ptr<const ReadyModel> m_model;
    std::optional<LivePictures> m_shown;
    rope::LayerScales m_asked;                ///< scales of the newest request
    std::optional<rope::LayerScales> m_next;  ///< waiting for the first picture of the request before
    bool m_broken = false;                    ///< the curve breaks a rule
    bool m_answered = true;                   ///< the newest request has shown its first picture
    QElapsedTimer m_sinceRequest;
    std::uint64_t m_deviationTicket = 0;  ///< of the answer whose deviation is shown
    QTimer m_interval, m_staleness, m_age;
    QString m_applied;
};

}  // namespace lpes::app
