#pragma once

#include <QList>
#include <QString>
#include <limits>
#include <utility>
#include <vector>

#include "widgets/plots/header_element.h"
#include "widgets/plots/theme.h"

namespace lpes::widgets {

using Points = std::vector<std::pair<double, double>>;

/// Range of the finite values seen.
struct Extent {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

    void add(double value);
    [[nodiscard]] bool empty() const { return low > high; }
    /// With room of `share` of its size on both sides; a single value gets a range of its own magnitude.
    [[nodiscard]] QCPRange padded(double share) const;
};

/// An axis label before it is broken into lines.
struct AxisLabel {
    QCPAxisRect* panel;
    QCPAxis* axis;
    QString text;
};

/// What the pointer reads at a datum, or at the tick label of a row.
struct Readout {
    QCPAxis* key;
    QCPAxis* value;
    double x, y;
    QString text;
    bool atLabel = false;  ///< x means nothing: anywhere left of the panel
    qint64 member = 0;     ///< number that a click on the datum picks; 0: it picks nothing
};

/// Puts panels, lines and legend entries of one theme into a plot. Values that are not finite are left out (a gap in a
/// line), because QCustomPlot does not cope with them. Lives as long as one picture is built; GUI thread only.
class PlotBuilder {
  public:
    /// width: logical pixels the picture will have; below 440 (116 mm) panels go below each other. height: of the whole
    /// picture where a dock fixes it, 0 where the plot may have the height that suits it.
    PlotBuilder(QCustomPlot& plot, const Theme& theme, int width, int height = 0);

    [[nodiscard]] const Theme& theme() const { return m_theme; }
    [[nodiscard]] bool compact() const { return m_compact; }
    [[nodiscard]] int width() const { return m_width; }
    /// A dock leaves less height than the plot's full form needs: draw the short form, in which one row of panels gets
    /// everything.
    [[nodiscard]] bool lower(int thanHeight) const { return m_height > 0 && m_height < thanHeight; }
    [[nodiscard]] HeaderElement& header() { return *m_header; }
    [[nodiscard]] QCustomPlot& plot() { return m_plot; }

    void title(const std::string& title, const std::string& subtitle);
    /// One more sentence at the end of the subtitle (of the legend where there is no title): what was left out of the
    /// picture, and why.
    void note(const QString& sentence);
    void legend(const QString& text, const QPen& line, const QCPScatterStyle& marker = QCPScatterStyle::ssNone);
    void legendPatch(const QString& text, const QColor& color);

    /// A framed panel with bottom and left axes, the top and right ones bare. Panels of one column share their left and
    /// right margins, panels of one row their top and bottom margins.
    QCPAxisRect* panel(int row, int column, const QString& xLabel, const QString& yLabel);
    /// The panel's caption, above it.
    void caption(QCPAxisRect* panel, const QString& text);
    /// A horizontal colour scale below all panels.
    QCPColorScale* colorScale(const QString& label);
    /// An upright one at the right of all panels, as high as the first row's.
    QCPColorScale* colorScaleBeside(const QString& label);
    void styleAxis(QCPAxis* axis) const;
    /// Long labels are broken to the length of their axis once that is known.
    void label(QCPAxisRect* panel, QCPAxis* axis, const QString& words);
    /// Inner heights of the rows relate like their weights (1 unless set).
    void rowWeight(int row, double weight);
    void columnWeight(int column, double weight);  ///< the same for the columns' inner widths
    /// Height of everything below the header in an automatic layout, logical pixels.
    void bodyHeight(int height) { m_bodyHeight = height; }

    QCPGraph* line(QCPAxisRect* panel, const Points& points, const QPen& pen,
                   const QCPScatterStyle& marker = QCPScatterStyle::ssNone);
    /// For points whose x may repeat.
    void path(QCPAxisRect* panel, const Points& points, const QPen& pen,
              const QCPScatterStyle& marker = QCPScatterStyle::ssNone);
    /// Fills between low and high at the same keys.
    void band(QCPAxisRect* panel, const Points& low, const Points& high, const QColor& color);
    struct Bar {
        double x, y, low, high;
    };
    void errorBars(QCPAxisRect* panel, const std::vector<Bar>& bars, const SeriesStyle& style, double whisker = 6.0);
    /// One marker with its interval lying across: low and high are values of x.
    void acrossBar(QCPAxisRect* panel, const Bar& bar, const SeriesStyle& style);
    void horizontal(QCPAxisRect* panel, double y, const QPen& pen, const QString& layer);
    void vertical(QCPAxisRect* panel, double x, const QPen& pen, const QString& layer);
    /// Shades from y to the upper (or lower) end of the panel.
    void shadeBeyond(QCPAxisRect* panel, double y, bool upwards, const QColor& color);
    /// `member`: what a click on the datum picks (PlotView::memberPicked); 0: nothing.
    void readout(QCPAxisRect* panel, double x, double y, const QString& text, qint64 member = 0);
    /// The whole of a tick label that was cut.
    void labelReadout(QCPAxisRect* panel, double y, const QString& text);

    /// Draws why there is nothing to see instead of panels.
    void empty(const QString& why);

    [[nodiscard]] int preferredBodyHeight() const { return m_bodyHeight; }
    [[nodiscard]] QCPLayoutGrid* panels() const { return m_panels; }
    [[nodiscard]] const std::vector<Readout>& readouts() const { return m_readouts; }
    [[nodiscard]] const std::vector<AxisLabel>& labels() const { return m_labels; }
    [[nodiscard]] const std::vector<double>& rowWeights() const { return m_rowWeights; }
    [[nodiscard]] const std::vector<double>& columnWeights() const { return m_columnWeights; }

  private:
    QCustomPlot& m_plot;
    Theme m_theme;
    int m_width, m_height;
    bool m_compact;
    int m_bodyHeight = 300;
    QString m_title, m_subtitle;
    HeaderElement* m_header;
    QCPLayoutGrid* m_panels;
    QList<QCPMarginGroup*> m_columnGroups, m_rowGroups;
    std::vector<Readout> m_readouts;
    std::vector<AxisLabel> m_labels;
    std::vector<double> m_rowWeights, m_columnWeights;
};

/// UTF-8 from core.
[[nodiscard]] inline QString text(const std::string& utf8) {
    return QString::fromStdString(utf8);
}
/// "1 candidate", "3 candidates".
[[nodiscard]] QString counted(qsizetype count, const QString& singular, const QString& plural);
/// Significant digits, no exponent where a plain number is short.
[[nodiscard]] QString shortNumber(double value, int significant = 3);

void buildCurve(PlotBuilder& build, const analysis::CurvePlot& data);
void buildAccuracy(PlotBuilder& build, const analysis::AccuracyPlot& data);
void buildConvergence(PlotBuilder& build, const analysis::ConvergencePlot& data);
void buildProgress(PlotBuilder& build, const analysis::ProgressPlot& data);
void buildAttention(PlotBuilder& build, const analysis::AttentionPlot& data);
void buildDeviation(PlotBuilder& build, const analysis::DeviationPlot& data);
void buildSensitivity(PlotBuilder& build, const analysis::SensitivityPlot& data);
void buildPareto(PlotBuilder& build, const analysis::ParetoPlot& data);
void buildLoss(PlotBuilder& build, const analysis::LossPlot& data);
void buildMethods(PlotBuilder& build, const analysis::MethodsPlot& data);

}  // namespace lpes::widgets
