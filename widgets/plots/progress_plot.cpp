#include <algorithm>
#include <cmath>

#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::ProgressPlot;
using Steps = std::vector<ProgressPlot::Step>;

// One of the two panels: what x counts, and each series' steps over it.
struct Side {
    QString label, unit;
    Steps ProgressPlot::Series::*steps;
    bool whole;  // x are whole numbers with one tick each where there is room
};

std::vector<Side> sides() {
    return {{QStringLiteral("generation"), QStringLiteral("generation"), &ProgressPlot::Series::byGeneration, true},
            {QStringLiteral("prompts (forward passes)"), QStringLiteral("prompts"), &ProgressPlot::Series::byPrompts,
             false}};
}

bool banded(const Steps& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const ProgressPlot::Step& step) { return step.low < step.high; });
}

QString readoutOf(const ProgressPlot::Series& series, const Side& side, const ProgressPlot::Step& step) {
    QString words(text(series.name) % QStringLiteral(": ") % side.unit % QLatin1Char(' ') % shortNumber(step.x, 6) %
                  QStringLiteral(" · best so far ") % shortNumber(step.mean, 4));
    if (series.searches > 1) {
        words +=
            QString(QStringLiteral(", mean of ") % QString::number(series.searches) % QStringLiteral(" (") %
                    shortNumber(step.low, 4) % QStringLiteral(" to ") % shortNumber(step.high, 4) % QLatin1Char(')'));
    }
    return words;
}

void drawSeries(PlotBuilder& build, QCPAxisRect* panel, const ProgressPlot::Series& series, const Side& side,
                const SeriesStyle& style) {
    Points mean, low, high;
    for (const ProgressPlot::Step& step : series.*side.steps) {
        mean.emplace_back(step.x, step.mean);
        low.emplace_back(step.x, step.low);
        high.emplace_back(step.x, step.high);
        build.readout(panel, step.x, step.mean, readoutOf(series, side, step));
    }
    if (banded(series.*side.steps)) {
        QColor fill = style.color;
        fill.setAlphaF(build.theme().dark ? 0.24F : 0.15F);
        build.band(panel, low, high, fill);
    }
    QCPScatterStyle marker = style.marker;
    marker.setSize(build.theme().markerSize * (build.compact() ? 0.65 : 0.8));
    build.line(panel, mean, style.pen, marker);
}

}  // namespace

void buildProgress(PlotBuilder& build, const ProgressPlot& data) {
    build.title(data.title, data.subtitle);
    Extent fitness;
    for (const Side& side : sides()) {
        for (const ProgressPlot::Series& series : data.series) {
            for (const ProgressPlot::Step& step : series.*side.steps) {
                for (const double value : {step.mean, step.low, step.high}) fitness.add(value);
            }
        }
    }
    if (fitness.empty()) return build.empty(QStringLiteral("no generation has been evaluated"));
    const bool baseline = std::isfinite(data.baselineFitness);
    if (baseline) fitness.add(data.baselineFitness);

    const Theme& theme = build.theme();
    const std::vector<SeriesStyle> styles = stylesOf(theme, data.series);
    QPen reference(theme.mutedText, theme.axisWidth * 1.2);
    reference.setDashPattern({6, 3});
    // A narrow figure has its panels below each other; a narrow dock has no height for that.
    const bool stacked = build.compact() && !build.lower(420);
    build.bodyHeight(stacked ? 460 : 280);
    bool bands = false;
    int place = 0;
    for (const Side& side : sides()) {
        if (place > 0 && build.compact() && !stacked) break;
        const bool first = place == 0;
        QCPAxisRect* panel = build.panel(stacked ? place : 0, stacked ? 0 : place, side.label,
                                         first || stacked ? text(data.fitnessLabel) : QString());
        ++place;
        QCPAxis *left = panel->axis(QCPAxis::atLeft), *bottom = panel->axis(QCPAxis::atBottom);
        left->setRange(fitness.padded(0.07));
        left->setTickLabels(first || stacked);
        Extent across;
        for (const ProgressPlot::Series& series : data.series) {
            for (const ProgressPlot::Step& step : series.*side.steps) across.add(step.x);
        }
        if (side.whole) bottom->setTicker(QSharedPointer<IntegerTicker>::create());
        bottom->ticker()->setTickCount(build.compact() ? 5 : 7);
        if (across.empty()) {
            bottom->setRange(0.0, 1.0);
        } else {
            bottom->setRange(across.padded(0.04));
        }
        if (baseline) build.horizontal(panel, data.baselineFitness, reference, QStringLiteral("main"));
        for (std::size_t i = 0; i < data.series.size(); ++i) {
            drawSeries(build, panel, data.series[i], side, styles[i]);
            bands = bands || banded(data.series[i].*side.steps);
        }
    }
    for (std::size_t i = 0; i < data.series.size(); ++i) {
        const ProgressPlot::Series& series = data.series[i];
        const QString mean =
            series.searches > 1
                ? QString(QStringLiteral(" (mean of ") % QString::number(series.searches) % QLatin1Char(')'))
                : QString();
        build.legend(QString(text(series.name) % mean), styles[i].pen, styles[i].marker);
    }
    if (baseline) build.legend(QStringLiteral("baseline (all scales 1)"), reference);
    if (bands) build.legendPatch(QStringLiteral("bands: worst to best search"), QColor(128, 128, 128, 90));
}

}  // namespace lpes::widgets
