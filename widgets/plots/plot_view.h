#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/analysis/plot_data.h"
#include "widgets/plots/plot_builder.h"
#include "widgets/plots/qcustomplot_shim.h"

namespace lpes::widgets {

/// One plot of any kind: wheel zooms at the pointer, dragging pans, a double click resets, hovering reads the nearest
/// datum; with the keyboard focus + and − zoom, the arrows pan, 0 resets. It draws what it is given and computes
/// nothing. Panels are laid out for the size at hand. GUI thread only.
class PlotView : public QCustomPlot {
    Q_OBJECT
  public:
    PlotView(analysis::PlotData data, Theme theme, QWidget* parent = nullptr);

    /// keepZoom: axes that the user zoomed or panned keep their range when the new data have the same kind and the same
    /// axes, and lie at least partly inside it; all others are scaled to the data. While a mouse button is down the
    /// picture waits, so that a drag is not torn off.
    void setData(analysis::PlotData data, bool keepZoom = false);
    void setTheme(Theme theme);  ///< a zoom stays
    /// Drawn faintly: what is shown is out of date.
    void setFaded(bool faded);
    [[nodiscard]] bool faded() const { return m_faded; }
    [[nodiscard]] bool zoomed() const;  ///< by the user
    void resetZoom();
    [[nodiscard]] const analysis::PlotData& data() const { return m_data; }

    /// Height that suits this width, both in logical pixels of 1/96 inch.
    [[nodiscard]] int preferredHeight(int width);
    /// Draws the plot, as it is after a reset, into width × height logical pixels from the painter's origin.
    void paint(QCPPainter& painter, int width, int height);
    /// The nearest datum within 14 px as words ("layer 12 · s = 1.35"); empty when there is none.
    [[nodiscard]] QString readoutAt(const QPointF& pixel) const;

  Q_SIGNALS:
    /// A click, which is no drag, on a datum that can be picked: a member of a Pareto front, by its number.
    void memberPicked(qint64 number);

  protected:
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    /// An axis as it was built: what the user changed since, and whether another picture has the same one.
    struct Home {
        QCPAxis* axis;
        QString label;
        QCPAxis::ScaleType scale;
        QCPRange range;
    };
    [[nodiscard]] const Readout* nearestTo(const QPointF& pixel) const;
    void rebuild(int width, int height);
    void refresh(bool keepZoom);
    void endDrag();
    void changeRanges(const std::function<QCPRange(const QCPAxis&)>& changed);
    void zoomBy(double factor);
    void panBy(double across, double up);
    void arrange(int width, int height);
    void breakLabels();
    void equalisePanels(int width);

    analysis::PlotData m_data;
    Theme m_theme;
    HeaderElement* m_header = nullptr;
    QCPLayoutGrid* m_panels = nullptr;
    std::vector<Readout> m_readouts;
    std::vector<AxisLabel> m_labels;
    std::vector<double> m_rowWeights, m_columnWeights;
    std::vector<Home> m_home;
    std::size_t m_builtKind = std::variant_npos;
    int m_bodyHeight = 0;
    int m_builtWidth = 0, m_builtHeight = 0;
    bool m_faded = false, m_dragging = false;
    QPointF m_pressedAt;
    enum class Waiting { Nothing, Redraw, RedrawKeepingZoom } m_waiting = Waiting::Nothing;
};

/// The view of a plot, in the theme's screen form.
[[nodiscard]] std::unique_ptr<PlotView> makePlot(analysis::PlotData data, const Theme& theme);

}  // namespace lpes::widgets
