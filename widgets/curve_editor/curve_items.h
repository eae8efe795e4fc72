#pragma once

#include <QString>
#include <vector>

#include "widgets/curve_editor/curve_draft.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/plots/plot_builder.h"

/// What the curve editor draws, in the order of its layers. Each item paints all of its kind at once (hundreds of
/// plottables would be many times slower) from one shared state, so that only a layer has to be replotted when the
/// state changes. GUI thread only.
namespace lpes::widgets {

/// All that the picture is made of.
struct CurvePicture {
    Theme theme;
    int layers = 1;
    int trainedContext = 0;
    CurveDraft draft;
    // Follow from the draft: see update().
    std::vector<double> scales;                  ///< [layers], empty while a rule is broken
    std::vector<curve::ControlPoint> line;       ///< the curve itself, finely sampled
    std::vector<curve::ControlPoint> committed;  ///< during a gesture: the line as it was before
    QString problem;                             ///< the rule that is broken, in words
    std::vector<GhostCurve> ghosts;              ///< only those that can be drawn
    std::vector<PopulationCurve> population;     ///< likewise, the best last
    int selected = -1, hoveredPoint = -1, hoveredLayer = -1;
    bool focused = false;
    bool readOnly = false;  ///< then a draft without points is nothing to talk about
    QString label;          ///< beside what is hovered or dragged
    QPointF labelAt{0, 1};  ///< layer, scale

    /// Brings scales, line and problem up to date with draft and layers.
    void update();
    /// Layers between the ends of the curve; 1 for a single layer, whose curve would have no width otherwise.
    [[nodiscard]] double span() const { return layers > 1 ? layers - 1.0 : 1.0; }
    [[nodiscard]] SeriesStyle currentStyle() const;
    /// One per ghost.
    [[nodiscard]] std::vector<SeriesStyle> ghostStyles() const;
    /// Of the candidates with a fitness; empty where none has one.
    [[nodiscard]] Extent fitness() const;
    /// Viridis without the end that the ground would swallow; share 0 … 1.
    [[nodiscard]] QColor fitnessColor(double share) const;
    /// Side of a handle in pixels.
    [[nodiscard]] double handleSize() const;
    /// For words about broken rules.
    [[nodiscard]] QColor warning() const;
};

/// Base of the items: axes, clipping, nothing to select (the editor does that itself).
class CurveItem : public QCPAbstractItem {
  public:
    CurveItem(QCustomPlot* plot, QCPAxisRect* panel, const CurvePicture& picture, const QString& layer);
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1.0; }

  protected:
    [[nodiscard]] QPointF pixel(double layer, double scale) const;
    [[nodiscard]] QPointF pixel(const curve::ControlPoint& point) const;
    [[nodiscard]] QPolygonF overLayers(const std::vector<double>& scales) const;
    const CurvePicture& m_picture;
    QCPAxisRect* m_panel;
};

/// Search grid, allowed range, s = 1.
class RulesItem : public CurveItem {
  public:
    using CurveItem::CurveItem;

  protected:
    void draw(QCPPainter* painter) override;
};

class PopulationItem : public CurveItem {
  public:
    using CurveItem::CurveItem;

  protected:
    void draw(QCPPainter* painter) override;
};

class GhostsItem : public CurveItem {
  public:
    using CurveItem::CurveItem;

  protected:
    void draw(QCPPainter* painter) override;
};

/// The curve that is edited, with its polygon, handles, dots, the readout label and the broken rule.
class DraftItem : public CurveItem {
  public:
    using CurveItem::CurveItem;

  protected:
    void draw(QCPPainter* painter) override;

  private:
    void drawCommitted(QCPPainter* painter) const;
    void drawPolygon(QCPPainter* painter, const SeriesStyle& style) const;
    void drawDots(QCPPainter* painter, const SeriesStyle& style) const;
    void drawHandles(QCPPainter* painter, const SeriesStyle& style) const;
    /// The place, moved into the room, that hides the fewest control points and not the anchor.
    [[nodiscard]] QRectF freest(const QList<QRectF>& places, const QRectF& room, const QPointF& anchor) const;
    void drawLabel(QCPPainter* painter) const;
    void drawProblem(QCPPainter* painter) const;
};

}  // namespace lpes::widgets
