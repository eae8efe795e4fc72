#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/analysis/plot_data.h"
#include "widgets/plots/plot_builder.h"
#include "widgets/plots/qcustomplot_shim.h"

namespace lpes::widgets {

/// One plot of any kind: wheel zooms at the pointer, dragging pans, a double click resets, hovering reads the nearest
/// datum. It draws what it is given and computes nothing. Panels are laid out for the width at hand. GUI thread only.
class PlotView : public QCustomPlot {
    Q_OBJECT
  public:
    PlotView(analysis::PlotData data, Theme theme, QWidget* parent = nullptr);

    void setData(analysis::PlotData data);
    void setTheme(Theme theme);
    [[nodiscard]] const analysis::PlotData& data() const { return m_data; }

    /// Height that suits this width, both in logical pixels of 1/96 inch.
    [[nodiscard]] int preferredHeight(int width);
    /// Draws the plot, as it is after a reset, into width × height logical pixels from the painter's origin.
    void paint(QCPPainter& painter, int width, int height);
    /// The nearest datum within 14 px as words ("layer 12 · s = 1.35"); empty when there is none.
    [[nodiscard]] QString readoutAt(const QPointF& pixel) const;

  protected:
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    void rebuild(int width);
    void arrange(int width, int height);
    void breakLabels();
    void equalisePanels(int width);

    analysis::PlotData m_data;
    Theme m_theme;
    HeaderElement* m_header = nullptr;
    QCPLayoutGrid* m_panels = nullptr;
    std::vector<Readout> m_readouts;
    std::vector<AxisLabel> m_labels;
    std::vector<double> m_rowWeights;
    int m_bodyHeight = 0;
    int m_builtWidth = 0;
};

/// The view of a plot, in the theme's screen form.
[[nodiscard]] std::unique_ptr<PlotView> makePlot(analysis::PlotData data, const Theme& theme);

}  // namespace lpes::widgets
