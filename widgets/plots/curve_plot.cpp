#include <algorithm>
#include <cmath>

#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::CurvePlot;

std::size_t layerCount(const CurvePlot& data) {
    std::size_t layers = 0;
    for (const CurvePlot::Series& series : data.series) layers = std::max(layers, series.scales.size());
    return layers;
}

// Search-grid lines finer than 4 px would be a grey area.
void drawSearchGrid(PlotBuilder& build, QCPAxisRect* panel, const CurvePlot& data, double range, int height) {
    if (data.gridStep <= 0.0 || data.gridStep / range * height < 4.0) return;
    const auto steps = static_cast<int>(std::floor((data.scaleMax - data.scaleMin) / data.gridStep + 1e-9));
    for (int i = 0; i <= steps; ++i) {
        build.horizontal(panel, data.scaleMin + i * data.gridStep,
                         QPen(build.theme().fineGrid, build.theme().axisWidth), QStringLiteral("background"));
    }
}

QString contextLabel(double tokens) {
    if (tokens < 100'000) return QString::number(std::lround(tokens));
    return QString(QString::number(tokens / 1000.0, 'f', 1) % QStringLiteral(" k"));
}

// Right: what the scale means, at the left axis's own ticks.
void drawMeaning(PlotBuilder& build, QCPAxisRect* panel, int trainedContext) {
    QCPAxis* left = panel->axis(QCPAxis::atLeft);
    QCPAxis* right = panel->axis(QCPAxis::atRight);
    const auto inverse = [](double scale) { return scale > 0.0 ? QString::number(1.0 / scale, 'f', 2) : QString(); };
    const auto show = [&](QCPAxis* axis, const QString& label, std::function<QString(double)> words) {
        axis->setTicks(true);
        axis->setTickLabels(true);
        build.label(panel, axis, label);
        axis->setTicker(QSharedPointer<LabelTicker>::create(std::move(words)));
        axis->ticker()->setTickCount(left->ticker()->tickCount());
        axis->setSubTicks(false);
        axis->setRange(left->range());
    };
    if (trainedContext <= 0) return show(right, QStringLiteral("1/s"), inverse);
    show(right, QStringLiteral("effective context (tokens)"),
         [trainedContext](double scale) { return scale > 0.0 ? contextLabel(scale * trainedContext) : QString(); });
    if (build.compact()) return;
    QCPAxis* second = panel->addAxis(QCPAxis::atRight);
    build.styleAxis(second);
    second->grid()->setVisible(false);
    show(second, QStringLiteral("1/s"), inverse);
    second->setBasePen(Qt::NoPen);
    second->setTickPen(Qt::NoPen);
    second->setTickLabelColor(build.theme().mutedText);
    QObject::connect(left, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), second,
                     qOverload<const QCPRange&>(&QCPAxis::setRange));
}

void drawDepthAxis(PlotBuilder& build, QCPAxisRect* panel, std::size_t layers) {
    if (layers < 2 || build.lower(260)) return;
    QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
    QCPAxis* top = panel->axis(QCPAxis::atTop);
    const double last = static_cast<double>(layers) - 1.0;
    // The box of panel() ties the top axis to the bottom one; here it counts in depths instead of layers.
    QObject::disconnect(bottom, nullptr, top, nullptr);
    QObject::connect(bottom, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), top,
                     [top, last](const QCPRange& range) { top->setRange(range.lower / last, range.upper / last); });
    top->setRange(bottom->range().lower / last, bottom->range().upper / last);
    top->setTicks(true);
    top->setTickLabels(true);
    build.label(panel, top, QStringLiteral("relative depth"));
    auto ticker = QSharedPointer<QCPAxisTickerFixed>::create();
    ticker->setTickStep(0.25);
    ticker->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
    top->setTicker(ticker);
    top->setSubTicks(false);
}

void drawSeries(PlotBuilder& build, QCPAxisRect* panel, const CurvePlot::Series& series, const SeriesStyle& style,
                double last) {
    const Theme& theme = build.theme();
    Points polygon, curve, dots;
    for (const auto& [depth, scale] : series.controlPoints) polygon.emplace_back(depth * last, scale);
    for (const auto& [depth, scale] : series.line) curve.emplace_back(depth * last, scale);
    for (std::size_t layer = 0; layer < series.scales.size(); ++layer) {
        dots.emplace_back(static_cast<double>(layer), series.scales[layer]);
        build.readout(panel, static_cast<double>(layer), series.scales[layer],
                      QString(text(series.name) % QStringLiteral(": layer ") % QString::number(layer) %
                              QStringLiteral(" · s = ") % shortNumber(series.scales[layer]) %
                              QStringLiteral(" · positions ÷ ") % shortNumber(series.scales[layer])));
    }
    if (!series.low.empty()) {
        Points low, high;
        for (std::size_t layer = 0; layer < series.low.size(); ++layer) {
            low.emplace_back(static_cast<double>(layer), series.low[layer]);
            high.emplace_back(static_cast<double>(layer), series.high[layer]);
        }
        QColor fill = style.color;
        fill.setAlphaF(theme.dark ? 0.28F : 0.18F);
        build.band(panel, low, high, fill);
    }
    if (!polygon.empty()) {
        QColor faint = style.color;
        faint.setAlphaF(0.75);
        QPen dashed(faint, theme.axisWidth);
        dashed.setDashPattern({4, 4});
        const QCPScatterStyle handle(QCPScatterStyle::ssSquare, QPen(style.color, theme.axisWidth * 1.3),
                                     QBrush(theme.background), theme.markerSize + 2.5);
        build.path(panel, polygon, dashed, handle);
        for (std::size_t i = 0; i < polygon.size(); ++i) {
            build.readout(panel, polygon[i].first, polygon[i].second,
                          QString(text(series.name) % QStringLiteral(": control point ") % QString::number(i) %
                                  QStringLiteral(" · depth ") % shortNumber(series.controlPoints[i].first) %
                                  QStringLiteral(" · s = ") % shortNumber(polygon[i].second)));
        }
    }
    QCPScatterStyle dot = style.marker;
    dot.setSize(theme.markerSize * (build.compact() ? 0.65 : 0.8));
    if (curve.empty()) {
        build.line(panel, dots, style.pen, dot);
    } else {
        build.path(panel, curve, style.pen);
        build.line(panel, dots, Qt::NoPen, dot);
    }
    build.legend(text(series.name), style.pen, style.marker);
}

}  // namespace

void buildCurve(PlotBuilder& build, const CurvePlot& data) {
    build.title(data.title, data.subtitle);
    const std::size_t layers = layerCount(data);
    Extent scales;
    for (const CurvePlot::Series& series : data.series) {
        for (const std::vector<double>* values : {&series.scales, &series.low, &series.high}) {
            for (const double scale : *values) scales.add(scale);
        }
    }
    if (scales.empty()) return build.empty(QStringLiteral("no layer has a scale"));
    scales.add(1.0);
    scales.add(data.scaleMin);
    scales.add(data.scaleMax);
    bool polygon = false, banded = false;
    for (const CurvePlot::Series& series : data.series) {
        for (const auto& [depth, scale] : series.controlPoints) scales.add(scale);
        for (const auto& [depth, scale] : series.line) scales.add(scale);
        polygon = polygon || !series.controlPoints.empty();
        banded = banded || !series.low.empty();
    }

    const Theme& theme = build.theme();
    QCPAxisRect* panel = build.panel(0, 0, QStringLiteral("layer"), QStringLiteral("scale s"));
    QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
    QCPAxis* left = panel->axis(QCPAxis::atLeft);
    const double last = static_cast<double>(layers) - 1.0;
    bottom->setTicker(QSharedPointer<IntegerTicker>::create());
    bottom->ticker()->setTickCount(build.compact() ? 6 : 10);
    bottom->setRange(-0.5 - 0.01 * last, last + 0.5 + 0.01 * last);
    const QCPRange range = scales.padded(0.06);
    left->setRange(range);

    const int height = build.compact() ? 250 : 300;
    build.bodyHeight(height);
    drawSearchGrid(build, panel, data, range.size(), height - 75);
    build.shadeBeyond(panel, data.scaleMax, true, theme.forbidden);
    build.shadeBeyond(panel, data.scaleMin, false, theme.forbidden);
    build.horizontal(panel, 1.0, QPen(theme.mutedText, theme.axisWidth * 1.2), QStringLiteral("grid"));
    drawDepthAxis(build, panel, layers);
    drawMeaning(build, panel, data.trainedContext);

    const std::vector<SeriesStyle> styles = stylesOf(theme, data.series);
    for (std::size_t i = 0; i < data.series.size(); ++i) drawSeries(build, panel, data.series[i], styles[i], last);
    if (polygon) {
        QPen dashed(theme.mutedText, theme.axisWidth);
        dashed.setDashPattern({4, 4});
        build.legend(QStringLiteral("control points"), dashed,
                     QCPScatterStyle(QCPScatterStyle::ssSquare, QPen(theme.mutedText, theme.axisWidth * 1.3),
                                     QBrush(theme.background), theme.markerSize + 2.0));
    }
    if (banded) build.legendPatch(QStringLiteral("bands: smallest to largest"), QColor(128, 128, 128, 90));
    build.legend(QStringLiteral("s = 1: unchanged"), QPen(theme.mutedText, theme.axisWidth * 1.2));
    build.legendPatch(QString(QStringLiteral("not allowed: outside ") % shortNumber(data.scaleMin) %
                              QStringLiteral(" to ") % shortNumber(data.scaleMax)),
                      theme.dark ? QColor(0x45, 0x48, 0x4d) : QColor(0xd8, 0xd8, 0xd8));
}

}  // namespace lpes::widgets
