#include "widgets/plots/plot_builder.h"

#include <algorithm>
#include <cmath>

namespace lpes::widgets {
namespace {

constexpr int kCompactBelow = 440;

QCPMarginGroup* groupAt(QList<QCPMarginGroup*>& groups, int index, QCustomPlot& plot) {
    while (groups.size() <= index) groups << new QCPMarginGroup(&plot);
    return groups[index];
}

void setWeight(std::vector<double>& weights, int index, double weight) {
    if (weights.size() <= static_cast<std::size_t>(index)) weights.resize(static_cast<std::size_t>(index) + 1, 1.0);
    weights[static_cast<std::size_t>(index)] = weight;
}

// The frame's other three sides are axes of a private axis rect.
void styleFrame(QCPColorScale* scale, const Theme& theme) {
    for (QCPLayoutElement* part : scale->elements(true)) {
        if (auto* frame = qobject_cast<QCPAxisRect*>(part)) {
            for (QCPAxis* axis : frame->axes()) axis->setBasePen(QPen(theme.axis, theme.axisWidth));
        }
    }
}

// A centred text in place of panels.
class Notice : public QCPLayoutElement {
  public:
    Notice(QCustomPlot* plot, const Theme& theme, QString text)
        : QCPLayoutElement(plot), m_theme(theme), m_text(std::move(text)) {}

  protected:
    void draw(QCPPainter* painter) override {
        QPen frame(m_theme.grid, m_theme.axisWidth);
        frame.setDashPattern({4, 3});
        painter->setPen(frame);
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(rect().adjusted(1, 1, -1, -1));
        const QFont font = m_theme.font();
        const QFontMetricsF metrics(font);
        const QStringList lines = wrapText(m_text, font, rect().width() - 24.0);
        double y = rect().center().y() - metrics.height() * static_cast<double>(lines.size()) / 2.0;
        painter->setFont(font);
        painter->setPen(QPen(m_theme.mutedText));
        for (const QString& line : lines) {
            painter->drawText(
                QPointF(rect().center().x() - metrics.horizontalAdvance(line) / 2.0, y + metrics.ascent()), line);
            y += metrics.height();
        }
    }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }

  private:
    Theme m_theme;
    QString m_text;
};

}  // namespace

void Extent::add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
}

QCPRange Extent::padded(double share) const {
    if (empty()) return {0.0, 1.0};
    double room = (high - low) * share;
    const double magnitude = std::max(std::abs(low), std::abs(high));
    if (room <= magnitude * 1e-9) room = magnitude > 0.0 ? magnitude * 0.1 : 0.5;
    return {low - room, high + room};
}

PlotBuilder::PlotBuilder(QCustomPlot& plot, const Theme& theme, int width, int height)
    : m_plot(plot),
      m_theme(theme),
      m_width(width),
      m_height(height),
      m_compact(width < kCompactBelow),
      m_header(new HeaderElement(&plot, theme)),
      m_panels(new QCPLayoutGrid) {
    plot.plotLayout()->addElement(0, 0, m_header);
    plot.plotLayout()->addElement(1, 0, m_panels);
    plot.plotLayout()->setRowSpacing(2);
    m_panels->setRowSpacing(6);
    m_panels->setColumnSpacing(m_compact ? 8 : 12);
    m_panels->setMargins(QMargins(0, 0, 0, 0));
}

void PlotBuilder::title(const std::string& title, const std::string& subtitle) {
    m_title = text(title);
    m_subtitle = text(subtitle);
    m_header->setTitle(m_title, m_subtitle);
}

void PlotBuilder::note(const QString& sentence) {
    if (m_title.isEmpty() && m_subtitle.isEmpty()) {
        m_header->addEntry({sentence});
        return;
    }
    if (!m_subtitle.isEmpty()) m_subtitle += QStringLiteral(" · ");
    m_subtitle += sentence;
    m_header->setTitle(m_title, m_subtitle);
}

void PlotBuilder::legend(const QString& words, const QPen& line, const QCPScatterStyle& marker) {
    m_header->addEntry({words, line, QBrush(Qt::NoBrush), marker});
}

void PlotBuilder::legendPatch(const QString& words, const QColor& color) {
    m_header->addEntry({words, QPen(Qt::NoPen), QBrush(color), QCPScatterStyle(QCPScatterStyle::ssNone)});
}

void PlotBuilder::styleAxis(QCPAxis* axis) const {
    const QPen pen(m_theme.axis, m_theme.axisWidth);
    axis->setBasePen(pen);
    axis->setTickPen(pen);
    axis->setSubTickPen(pen);
    axis->setTickLength(0, 4);
    axis->setSubTickLength(0, 2);
    axis->setTickLabelPadding(3);
    axis->setLabelPadding(3);
    axis->setPadding(1);
    axis->setTickLabelFont(m_theme.font(-1));
    axis->setLabelFont(m_theme.font());
    axis->setTickLabelColor(m_theme.text);
    axis->setLabelColor(m_theme.text);
    axis->setNumberFormat(QStringLiteral("gbc"));
    axis->setNumberPrecision(6);
    axis->grid()->setPen(QPen(m_theme.grid, m_theme.axisWidth));
    axis->grid()->setZeroLinePen(Qt::NoPen);
    axis->grid()->setAntialiased(false);
    axis->ticker()->setTickCount(m_compact ? 4 : 5);
}

QCPAxisRect* PlotBuilder::panel(int row, int column, const QString& xLabel, const QString& yLabel) {
    auto* panel = new QCPAxisRect(&m_plot);
    m_panels->addElement(row, column, panel);
    panel->setupFullAxesBox(true);
    for (QCPAxis* axis : panel->axes()) styleAxis(axis);
    label(panel, panel->axis(QCPAxis::atBottom), xLabel);
    label(panel, panel->axis(QCPAxis::atLeft), yLabel);
    for (const QCPAxis::AxisType side : {QCPAxis::atTop, QCPAxis::atRight}) {
        panel->axis(side)->setTicks(false);
        panel->axis(side)->setTickLabels(false);
        panel->axis(side)->grid()->setVisible(false);
    }
    panel->setMinimumMargins(QMargins(2, 4, 6, 2));
    panel->setMinimumSize(40, 40);
    panel->setRangeDrag(Qt::Horizontal | Qt::Vertical);
    panel->setRangeZoom(Qt::Horizontal | Qt::Vertical);
    panel->setMarginGroup(QCP::msLeft | QCP::msRight, groupAt(m_columnGroups, column, m_plot));
    panel->setMarginGroup(QCP::msTop | QCP::msBottom, groupAt(m_rowGroups, row, m_plot));
    return panel;
}

void PlotBuilder::caption(QCPAxisRect* panel, const QString& words) {
    panel->axis(QCPAxis::atTop)->setLabelFont(m_theme.font(-1, true));
    label(panel, panel->axis(QCPAxis::atTop), words);
}

void PlotBuilder::label(QCPAxisRect* panel, QCPAxis* axis, const QString& words) {
    axis->setLabel(words);
    std::erase_if(m_labels, [axis](const AxisLabel& known) { return known.axis == axis; });
    if (!words.isEmpty()) m_labels.push_back({panel, axis, words});
}

void PlotBuilder::rowWeight(int row, double weight) {
    setWeight(m_rowWeights, row, weight);
}

void PlotBuilder::columnWeight(int column, double weight) {
    setWeight(m_columnWeights, column, weight);
}

QCPColorScale* PlotBuilder::colorScale(const QString& label) {
    auto* scale = new QCPColorScale(&m_plot);
    scale->setType(QCPAxis::atBottom);
    scale->setBarWidth(9);
    scale->setLabel(label);
    scale->setRangeDrag(false);
    scale->setRangeZoom(false);
    m_plot.plotLayout()->addElement(2, 0, scale);
    styleAxis(scale->axis());
    scale->axis()->setLabelFont(m_theme.font(-1));
    styleFrame(scale, m_theme);
    scale->setMargins(QMargins(40, 2, 40, 2));
    return scale;
}

QCPColorScale* PlotBuilder::colorScaleBeside(const QString& label) {
    auto* scale = new QCPColorScale(&m_plot);
    scale->setType(QCPAxis::atRight);
    scale->setBarWidth(9);
    scale->setLabel(label);
    scale->setRangeDrag(false);
    scale->setRangeZoom(false);
    m_plot.plotLayout()->setColumnSpacing(4);
    m_plot.plotLayout()->addElement(1, 1, scale);
    styleAxis(scale->axis());
    scale->axis()->setLabelFont(m_theme.font(-1));
    scale->axis()->ticker()->setTickCount(3);
    styleFrame(scale, m_theme);
    scale->setMargins(QMargins(0, 0, 0, 0));
    scale->setMarginGroup(QCP::msTop | QCP::msBottom, groupAt(m_rowGroups, 0, m_plot));
    return scale;
}

QCPGraph* PlotBuilder::line(QCPAxisRect* panel, const Points& points, const QPen& pen, const QCPScatterStyle& marker) {
    auto* graph = m_plot.addGraph(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    QVector<double> keys, values;
    for (const auto& [x, y] : points) {
        if (!std::isfinite(x)) continue;
        keys << x;
        values << (std::isfinite(y) ? y : std::numeric_limits<double>::quiet_NaN());
    }
    graph->setData(keys, values);
    graph->setPen(pen);
    graph->setLineStyle(pen.style() == Qt::NoPen ? QCPGraph::lsNone : QCPGraph::lsLine);
    graph->setScatterStyle(marker);
    graph->setAntialiased(true);
    graph->setAntialiasedScatters(true);
    return graph;
}

void PlotBuilder::path(QCPAxisRect* panel, const Points& points, const QPen& pen, const QCPScatterStyle& marker) {
    auto* curve = new QCPCurve(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    QVector<double> keys, values;
    for (const auto& [x, y] : points) {
        if (!std::isfinite(x) || !std::isfinite(y)) continue;
        keys << x;
        values << y;
    }
    curve->setData(keys, values);
    curve->setPen(pen);
    curve->setLineStyle(pen.style() == Qt::NoPen ? QCPCurve::lsNone : QCPCurve::lsLine);
    curve->setScatterStyle(marker);
    curve->setAntialiased(true);
}

void PlotBuilder::band(QCPAxisRect* panel, const Points& low, const Points& high, const QColor& color) {
    // One pair of graphs per unbroken run: a fill across a gap would invent data.
    for (std::size_t i = 0; i < std::min(low.size(), high.size());) {
        Points lower, upper;
        while (i < std::min(low.size(), high.size()) && std::isfinite(low[i].second) && std::isfinite(high[i].second)) {
            lower.push_back(low[i]);
            upper.push_back(high[i]);
            ++i;
        }
        if (lower.size() > 1) {
            QCPGraph* bottom = line(panel, lower, Qt::NoPen);
            QCPGraph* top = line(panel, upper, Qt::NoPen);
            bottom->setLineStyle(QCPGraph::lsLine);
            top->setLineStyle(QCPGraph::lsLine);
            top->setBrush(color);
            top->setChannelFillGraph(bottom);
        }
        ++i;
    }
}

void PlotBuilder::errorBars(QCPAxisRect* panel, const std::vector<Bar>& bars, const SeriesStyle& style,
                            double whisker) {
    Points points;
    QVector<double> minus, plus;
    for (const Bar& bar : bars) {
        if (!std::isfinite(bar.x) || !std::isfinite(bar.y)) continue;
        points.emplace_back(bar.x, bar.y);
        minus << (std::isfinite(bar.low) ? std::max(0.0, bar.y - bar.low) : 0.0);
        plus << (std::isfinite(bar.high) ? std::max(0.0, bar.high - bar.y) : 0.0);
    }
    QCPGraph* graph = line(panel, points, style.pen, style.marker);
    auto* errors = new QCPErrorBars(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    errors->setDataPlottable(graph);
    errors->setData(minus, plus);
    errors->setSymbolGap(0);
    errors->setWhiskerWidth(whisker);
    errors->setPen(QPen(style.color, m_theme.axisWidth));
    errors->setAntialiased(false);
}

void PlotBuilder::acrossBar(QCPAxisRect* panel, const Bar& bar, const SeriesStyle& style) {
    if (!std::isfinite(bar.x) || !std::isfinite(bar.y)) return;
    QCPGraph* graph = line(panel, {{bar.x, bar.y}}, Qt::NoPen, style.marker);
    if (!std::isfinite(bar.low) || !std::isfinite(bar.high)) return;
    auto* errors = new QCPErrorBars(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    errors->setErrorType(QCPErrorBars::etKeyError);
    errors->setDataPlottable(graph);
    errors->setData({std::max(0.0, bar.x - bar.low)}, {std::max(0.0, bar.high - bar.x)});
    errors->setSymbolGap(0);
    errors->setWhiskerWidth(6);
    errors->setPen(QPen(style.color, m_theme.dataWidth));
    errors->setAntialiased(false);
}

void PlotBuilder::horizontal(QCPAxisRect* panel, double y, const QPen& pen, const QString& layer) {
    auto* item = new QCPItemStraightLine(&m_plot);
    for (QCPItemPosition* position : {item->point1, item->point2}) {
        position->setAxes(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    }
    item->setClipAxisRect(panel);
    item->point1->setCoords(0, y);
    item->point2->setCoords(1, y);
    item->setPen(pen);
    item->setLayer(layer);
    item->setAntialiased(false);
}

void PlotBuilder::vertical(QCPAxisRect* panel, double x, const QPen& pen, const QString& layer) {
    auto* item = new QCPItemStraightLine(&m_plot);
    for (QCPItemPosition* position : {item->point1, item->point2}) {
        position->setAxes(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    }
    item->setClipAxisRect(panel);
    item->point1->setCoords(x, 0);
    item->point2->setCoords(x, 1);
    item->setPen(pen);
    item->setLayer(layer);
    item->setAntialiased(false);
}

void PlotBuilder::shadeBeyond(QCPAxisRect* panel, double y, bool upwards, const QColor& color) {
    auto* item = new QCPItemRect(&m_plot);
    item->setClipAxisRect(panel);
    for (QCPItemPosition* position : {item->topLeft, item->bottomRight}) {
        position->setAxisRect(panel);
        position->setAxes(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
        position->setType(QCPItemPosition::ptAxisRectRatio);
    }
    QCPItemPosition* bound = upwards ? item->bottomRight : item->topLeft;
    bound->setTypeY(QCPItemPosition::ptPlotCoords);
    item->topLeft->setCoords(0.0, upwards ? 0.0 : y);
    item->bottomRight->setCoords(1.0, upwards ? y : 1.0);
    item->setPen(Qt::NoPen);
    item->setBrush(color);
    item->setLayer(QStringLiteral("background"));
    item->setAntialiased(false);
}

void PlotBuilder::readout(QCPAxisRect* panel, double x, double y, const QString& words, qint64 member) {
    if (!std::isfinite(x) || !std::isfinite(y)) return;
    m_readouts.push_back({panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft), x, y, words, false, member});
}

void PlotBuilder::labelReadout(QCPAxisRect* panel, double y, const QString& words) {
    m_readouts.push_back({panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft), 0.0, y, words, true});
}

void PlotBuilder::empty(const QString& why) {
    m_panels->addElement(0, 0, new Notice(&m_plot, m_theme, QString(QStringLiteral("no data yet: ") % why)));
    m_bodyHeight = 160;
}

QString counted(qsizetype count, const QString& singular, const QString& plural) {
    return QString(QString::number(count) % QLatin1Char(' ') % (count == 1 ? singular : plural));
}

QString shortNumber(double value, int significant) {
    return QLocale::c().toString(value, 'g', significant).replace(QLatin1String("e-0"), QLatin1String("e-"));
}

}  // namespace lpes::widgets
