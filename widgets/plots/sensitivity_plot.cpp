#include <algorithm>
#include <cmath>

#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::SensitivityPlot;

/// Blue where a larger scale makes the answer likelier, vermillion where a smaller one does (Okabe–Ito), the ground's
/// colour where nothing hangs on it: both halves are told apart by lightness of their hue alone as well.
QCPColorGradient diverging(const Theme& theme) {
    QCPColorGradient gradient;
    gradient.clearColorStops();
    gradient.setColorStopAt(0.0, QColor(0, 90, 160));
    gradient.setColorStopAt(0.25, QColor(86, 180, 233));
    gradient.setColorStopAt(0.5, theme.background);
    gradient.setColorStopAt(0.75, QColor(230, 159, 0));
    gradient.setColorStopAt(1.0, QColor(180, 70, 0));
    gradient.setNanHandling(QCPColorGradient::nhNanColor);
    gradient.setNanColor(theme.grid);
    return gradient;
}

double largestSlope(const SensitivityPlot& data) {
    double largest = 0.0;
    for (const SensitivityPlot::Series& series : data.series) {
        for (const SensitivityPlot::Row& row : series.rows) {
            for (const double slope : row.slope) {
                if (std::isfinite(slope)) largest = std::max(largest, std::abs(slope));
            }
        }
    }
    return largest;
}

/// Positions from top to bottom as in a prompt, layers from left to right.
void drawMap(PlotBuilder& build, QCPAxisRect* panel, const SensitivityPlot::Series& series, QCPColorScale* scale) {
    const auto rows = static_cast<int>(series.rows.size());
    const auto layers = static_cast<int>(series.rows.front().slope.size());
    auto* map = new QCPColorMap(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    map->data()->setSize(layers, rows);
    map->data()->setRange(QCPRange(0, std::max(layers - 1, 1)), QCPRange(0, std::max(rows - 1, 1)));
    auto names = QSharedPointer<QCPAxisTickerText>::create();
    for (int row = 0; row < rows; ++row) {
        const SensitivityPlot::Row& own = series.rows[static_cast<std::size_t>(row)];
        const int place = rows - 1 - row;
        names->addTick(place, text(own.label));
        for (int layer = 0; layer < layers; ++layer) {
            const double slope = own.slope[static_cast<std::size_t>(layer)];
            map->data()->setCell(layer, place, slope);
            build.readout(panel, layer, place,
                          QString(text(series.name) % QStringLiteral(": evidence at ") % text(own.label) %
                                  QStringLiteral(", layer ") % QString::number(layer) % QStringLiteral(" · ") %
                                  shortNumber(slope)));
        }
    }
    map->setInterpolate(false);
    map->setTightBoundary(false);
    map->setAntialiased(false);
    map->setColorScale(scale);
    QCPAxis* left = panel->axis(QCPAxis::atLeft);
    left->setTicker(names);
    left->setSubTicks(false);
    left->setRange(-0.5, rows - 0.5);
    left->grid()->setVisible(false);
    QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
    bottom->setTicker(QSharedPointer<IntegerTicker>::create(layers - 1.0));
    bottom->ticker()->setTickCount(build.compact() ? 6 : 10);
    bottom->setRange(-0.5, layers - 0.5);
    bottom->grid()->setVisible(false);
}

}  // namespace

void buildSensitivity(PlotBuilder& build, const SensitivityPlot& data) {
    build.title(data.title, data.subtitle);
    const double largest = largestSlope(data);
    if (!(largest > 0.0)) return build.empty(QStringLiteral("no slope has been measured"));
    const auto panels = static_cast<int>(data.series.size());
    std::size_t rows = 1;
    for (const SensitivityPlot::Series& series : data.series) rows = std::max(rows, series.rows.size());
    build.bodyHeight(panels * (60 + 24 * static_cast<int>(std::min<std::size_t>(rows, 12))) + 70);

    const QString what = build.lower(260) ? QStringLiteral("∂NLL/∂scale (nats per token)")
                                          : QStringLiteral("∂NLL/∂scale (nats per token); blue: a larger scale helps");
    QCPColorScale* scale = build.colorScale(what);
    scale->setGradient(diverging(build.theme()));
    scale->setDataRange(QCPRange(-largest, largest));
    for (int index = 0; index < panels; ++index) {
        const SensitivityPlot::Series& series = data.series[static_cast<std::size_t>(index)];
        const bool last = index + 1 == panels;
        QCPAxisRect* panel =
            build.panel(index, 0, last ? QStringLiteral("layer") : QString(), QStringLiteral("evidence"));
        if (!last) panel->axis(QCPAxis::atBottom)->setTickLabels(false);
        build.caption(panel, QString(text(series.name) % QStringLiteral(", ") %
                                     counted(series.items, QStringLiteral("item"), QStringLiteral("items"))));
        if (!series.rows.empty() && !series.rows.front().slope.empty()) drawMap(build, panel, series, scale);
    }
}

}  // namespace lpes::widgets
