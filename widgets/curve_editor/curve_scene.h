#pragma once

#include <QString>
#include <vector>

#include "widgets/curve_editor/curve_items.h"

namespace lpes::widgets {

/// The picture of the curve editor: axes, legend and the items on their layers, built into a plot that it does not own.
/// Knows pixels and words, but no gestures. The curve is on a buffered layer of its own, the population on another.
/// GUI thread only.
class CurveScene {
  public:
    CurveScene(QCustomPlot& plot, const Theme& theme);

    /// Set its members, then call what shows them: update() and replotCurve(), or one of the functions below.
    CurvePicture picture;

    /// Everything anew for this width; a zoom is kept.
    void build(int width);
    /// Legend and home range after ghosts, population or rules have changed; the view follows unless it was zoomed.
    void refresh();
    /// Lays legend and axis labels out. The caller updates the plot's layout before and after.
    void setWidth(int width);
    void chooseLabels();
    void resetView();
    /// Replots the curve's layer alone and takes the time, in milliseconds.
    void replotCurve();
    void replotPopulation();
    [[nodiscard]] double lastReplotMs() const { return m_lastReplotMs; }
    [[nodiscard]] static bool compact(int width) { return width < 440; }
    [[nodiscard]] bool builtCompact() const { return m_compact; }

    /// The scales that a reset view shows, as the picture asks for them and as they were last taken over.
    [[nodiscard]] QCPRange homeY() const;
    [[nodiscard]] QCPRange shownHomeY() const { return m_homeY; }

    [[nodiscard]] QCPAxisRect* panel() const { return m_panel; }
    [[nodiscard]] QPointF toPixel(const curve::ControlPoint& point) const;
    [[nodiscard]] curve::ControlPoint fromPixel(const QPointF& pixel) const;
    /// The control point whose hit area holds the pixel; −1: none.
    [[nodiscard]] int pointAt(const QPointF& pixel) const;
    /// The layer whose dot is nearest within 12 px; −1: none.
    [[nodiscard]] int layerAt(const QPointF& pixel) const;
    /// What is near a pixel, in words: a layer's dot, a control point or a layer of a ghost.
    [[nodiscard]] QString readoutAt(const QPointF& pixel) const;
    /// The pixel's coordinates in words; empty outside the axes.
    [[nodiscard]] QString coordinatesAt(const QPointF& pixel) const;
    [[nodiscard]] QString wordsOfPoint(int index) const;
    [[nodiscard]] QString wordsOfLayer(int layer) const;

  private:
    void buildMeaning(PlotBuilder& builder);
    void buildDepth();
    void buildLegend();
    void limitRange(QCPAxis* axis, const QCPRange& wanted, const QCPRange& before, const QCPRange& home);
    [[nodiscard]] QCPRange homeX() const;

    QCustomPlot& m_plot;
    QCPAxisRect* m_panel = nullptr;
    QCPAxis* m_second = nullptr;  ///< 1/s beside the effective context
    HeaderElement* m_header = nullptr;
    QCPRange m_homeX, m_homeY;
    bool m_compact = false;
    double m_lastReplotMs = 0.0;
};

/// "11059", "131.1 k".
[[nodiscard]] QString tokenCount(double tokens);

}  // namespace lpes::widgets
