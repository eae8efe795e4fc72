#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "core/analysis/plot_data.h"
#include "widgets/curve_editor/curve_draft.h"
#include "widgets/plots/qcustomplot_shim.h"
#include "widgets/plots/theme.h"

namespace lpes::widgets {

/// A curve that is shown for comparison and cannot be edited: the committed curve, the best of a running search, a
/// pinned profile.
struct GhostCurve {
    QString name;
    analysis::SeriesRole role = analysis::SeriesRole::Baseline;
    std::vector<double> scales;  ///< [L]
    friend bool operator==(const GhostCurve&, const GhostCurve&) = default;
};

/// A candidate of a running search.
struct PopulationCurve {
    std::vector<double> scales;  ///< [L]
    double fitness = 0.0;
};

/// The curve over the layers, edited by hand (ui.md "The curve view", conventions.md §3): layer on x with relative
/// depth on top, scale on y with 1/s and effective context on the right; bounds shaded, s = 1 marked, search grid
/// light.
///
/// Mouse: press on a point selects it (hit area 18 px), a drag beyond 4 px moves it; Ctrl snaps to 0.05 and whole
/// layers, Shift locks to the axis of the larger movement; wheel zooms at the pointer, drag on the background pans,
/// double click resets the view. Keys: Tab and Shift+Tab choose the next and previous point, arrows nudge 0.01 in y and
/// one layer in x, Shift+arrow 0.1, Delete or X removes, Insert or A adds a point without changing the curve
/// (withPointAdded), Escape during a drag puts the point back.
///
/// The editor never pushes undo steps: each gesture ends with one draftCommitted, or none when nothing changed. A run
/// of arrow keys on one point is a gesture that ends when the keys rest for 500 ms, another point is chosen or focus
/// goes. GUI thread only. Replotting while dragging touches the curve's own buffered layer alone.
class CurveEditor : public QCustomPlot {
    Q_OBJECT
  public:
    explicit CurveEditor(const Theme& theme, QWidget* parent = nullptr);
    ~CurveEditor() override;

    /// numLayers ≥ 1; trainedContext in tokens, 0 when unknown.
    void setModel(int numLayers, int trainedContext);
    /// Shows a draft without any signal; ends a gesture in progress without committing it.
    void setDraft(const CurveDraft& draft);
    [[nodiscard]] const CurveDraft& draft() const;
    /// Scales of the draft as it is shown, [L].
    [[nodiscard]] std::vector<double> scales() const;
    void setGhosts(std::vector<GhostCurve> ghosts);
    /// Faint curves coloured by fitness; an empty list takes them away.
    void setPopulation(std::vector<PopulationCurve> population);
    void setTheme(const Theme& theme);
    void setReadOnly(bool readOnly);

    [[nodiscard]] int selectedPoint() const;  ///< −1: none
    void selectPoint(int index);
    [[nodiscard]] bool inGesture() const;
    /// What the pointer reads there ("layer 12 · s = 1.35 · positions ÷ 1.35"); empty when there is nothing near.
    [[nodiscard]] QString readoutAt(const QPointF& pixel) const;
    /// Widget pixel of a control point.
    [[nodiscard]] QPointF pixelOfPoint(int index) const;
    /// The picture as plain data, for CSV and for export.
    [[nodiscard]] analysis::CurvePlot plotData() const;
    /// Milliseconds of the last replot of the curve's layer.
    [[nodiscard]] double lastReplotMs() const;

    void addPoint();
    void removeSelectedPoint();
    void resetView();

  Q_SIGNALS:
    /// During a gesture, each time the draft changes. Latest wins.
    void draftPreviewed(const lpes::widgets::CurveDraft& draft);
    /// A gesture ended with a change. `what` is the undo step's name ("move point 2").
    void draftCommitted(const lpes::widgets::CurveDraft& before, const lpes::widgets::CurveDraft& after,
                        const QString& what);
    /// A gesture was given up (Escape): the draft is what it was.
    void draftAbandoned();
    void pointSelected(int index);
    /// Coordinates and meaning under the pointer, always; empty when the pointer is outside.
    void readoutChanged(const QString& words);

  protected:
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool focusNextPrevChild(bool next) override;

  private:
    struct Impl;
    std::unique_ptr<Impl> m;
};

}  // namespace lpes::widgets
