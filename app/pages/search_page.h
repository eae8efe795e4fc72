#pragma once

#include <QWidget>
#include <array>
#include <utility>

#include "app/jobs/store_snapshot.h"
#include "core/curve/scale_curve.h"
#include "widgets/plots/theme.h"

class QLabel;
class QTabWidget;

namespace lpes::widgets {
class CurveEditor;
class GuardrailLight;
class PlotPane;
struct GuardrailFacts;
}  // namespace lpes::widgets

namespace lpes::app {

/// One run as the data base has it: its curves, fitness by generation, accuracy by position, attention and deviation;
/// of a training its loss alone. Replots only what changed. GUI thread only.
class SearchPage : public QWidget {
    Q_OBJECT
  public:
    /// The kinds before it have a pane here.
    static constexpr std::size_t kPanes = kMethodsPlot;

    explicit SearchPage(const widgets::Theme& theme, QWidget* parent = nullptr);

    /// `detail` null: `why` stands in every pane.
    void showRun(const std::shared_ptr<const RunDetail>& detail, const QString& why, int numLayers, int trainedContext);
    void setTheme(const widgets::Theme& theme);
    /// One line above the pictures: what run this is and how it stands.
    void setHeadline(const QString& words);
    /// Beside the headline: what the profile does to short contexts.
    void setGuardrail(const widgets::GuardrailFacts& facts);
    [[nodiscard]] widgets::CurveEditor& curves() { return *m_curves; }
    [[nodiscard]] widgets::PlotPane& pane(PlotKind kind);

  private:
    void showCurves(const RunDetail& detail, int numLayers, int trainedContext);
    void showAxes(int layers, int trainedContext, const curve::Constraints& bounds);
    /// A training has no curve, no candidates and no items: their places are its loss's.
    void makeRoomForLoss(bool training);
    void showPlot(PlotKind kind, const StoredPlot& plot, const RunDetail& detail);

    widgets::CurveEditor* m_curves;  ///< read-only: the population and the best
    std::array<widgets::PlotPane*, kPanes> m_panes{};
    std::array<std::uint64_t, kPanes> m_shown{};  ///< versions of what the panes show
    std::array<bool, kPanes> m_hasData{};
    std::int64_t m_run = 0;
    QTabWidget* m_inside = nullptr;  ///< what was measured inside the model, or of a training
    QWidget* m_top = nullptr;        ///< fitness and curves
    QLabel* m_headline;
    widgets::GuardrailLight* m_guardrail;
    QString m_curvesKey;
    std::pair<int, int> m_axes{0, 0};  ///< layers and context that the curves' axes show
};

}  // namespace lpes::app
