#include <algorithm>
#include <cmath>

#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::ConvergencePlot;

// Lowest value shown. A few hopeless candidates must not press the interesting part into a line: when what lies below
// the means would take more than three fifths of the axis, the axis ends earlier and the subtitle says so.
double floorOf(const Extent& core, const Extent& all) {
    const double interesting = std::max(core.high - core.low, 1e-12);
    return std::max(all.low, core.low - 1.5 * interesting);
}

// Where the axis is short a long description gives way to one word; the unit stays.
QString shortLabel(const QString& label) {
    const qsizetype unit = label.indexOf(QStringLiteral(" ("));
    return unit > 24 ? QString(QStringLiteral("fitness") % label.mid(unit)) : label;
}

}  // namespace

void buildConvergence(PlotBuilder& build, const ConvergencePlot& data) {
    build.title(data.title, data.subtitle);
    Extent core, all, diversity, generations;
    for (const ConvergencePlot::Generation& g : data.generations) {
        core.add(g.best);
        core.add(g.mean);
        all.add(g.worst);
        diversity.add(g.diversity);
        generations.add(g.generation);
    }
    int failed = 0;
    for (const auto& [generation, fitness] : data.candidates) {
        all.add(fitness);
        generations.add(generation);
        failed += !std::isfinite(fitness);
    }
    if (core.empty() && all.empty()) return build.empty(QStringLiteral("no generation has been evaluated"));
    const bool baseline = data.hasBaseline && std::isfinite(data.baselineFitness);
    if (baseline) core.add(data.baselineFitness);
    all.add(core.low);
    all.add(core.high);
    // Before the first generation is complete every candidate is news.
    if (data.generations.empty()) core = all;
    const double floor = floorOf(core, all);

    const Theme& theme = build.theme();
    const std::vector<analysis::SeriesRole> roles{analysis::SeriesRole::Best, analysis::SeriesRole::Current,
                                                  analysis::SeriesRole::Baseline};
    const std::vector<SeriesStyle> styles = seriesStyles(theme, roles);
    // A low dock has no room for a second panel; there the diversity is a hover away.
    const bool alone = build.lower(300);
    const QString xLabel = QStringLiteral("generation");
    QString label = text(data.fitnessLabel.empty() ? "fitness" : data.fitnessLabel);
    if (alone && !data.fitnessLabel.empty()) label = shortLabel(label);
    QCPAxisRect* panel = build.panel(0, 0, alone ? xLabel : QString(), label);
    QCPAxisRect* lower = alone ? nullptr : build.panel(1, 0, xLabel, QStringLiteral("|Δs|"));
    build.rowWeight(0, 3.4);
    const int height = build.compact() ? 300 : 340;
    build.bodyHeight(height);

    Points best, mean, worst, ceiling, spread;
    for (const ConvergencePlot::Generation& g : data.generations) {
        const double x = g.generation;
        best.emplace_back(x, g.best);
        mean.emplace_back(x, g.mean);
        worst.emplace_back(x, std::isfinite(g.worst) ? std::max(g.worst, floor) : g.worst);
        spread.emplace_back(x, g.diversity);
        const QString where =
            QString(QStringLiteral("generation ") % QString::number(g.generation) % QStringLiteral(": "));
        build.readout(panel, x, g.best,
                      QString(where % QStringLiteral("best ") % shortNumber(g.best, 4) % QStringLiteral(" · mean ") %
                              shortNumber(g.mean, 4) % QStringLiteral(" · worst ") % shortNumber(g.worst, 4) %
                              QStringLiteral(" · diversity ") % shortNumber(g.diversity)));
        if (lower)
            build.readout(lower, x, g.diversity,
                          QString(where % QStringLiteral("diversity ") % shortNumber(g.diversity)));
    }
    QColor fill = styles[1].color;
    fill.setAlphaF(theme.dark ? 0.22F : 0.13F);
    build.band(panel, worst, best, fill);

    Points candidates;
    int below = 0;
    for (const auto& [generation, fitness] : data.candidates) {
        if (!std::isfinite(fitness)) continue;
        if (fitness < floor) {
            ++below;
            continue;
        }
        candidates.emplace_back(generation, fitness);
        build.readout(panel, generation, fitness,
                      QString(QStringLiteral("candidate of generation ") % QString::number(generation) %
                              QStringLiteral(": ") % shortNumber(fitness, 4)));
    }
    QColor faint = theme.text;
    faint.setAlphaF(0.35F);
    const QCPScatterStyle point(QCPScatterStyle::ssCircle, Qt::NoPen, QBrush(faint), theme.markerSize * 0.65);
    if (!candidates.empty()) build.line(panel, candidates, Qt::NoPen, point);

    if (baseline) build.horizontal(panel, data.baselineFitness, styles[2].pen, QStringLiteral("main"));
    QPen meanPen = styles[1].pen;
    meanPen.setDashPattern({5, 2});
    build.line(panel, mean, meanPen, styles[1].marker);
    build.line(panel, best, styles[0].pen, styles[0].marker);
    const QPen spreadPen(theme.text, theme.dataWidth);
    const QCPScatterStyle spreadMark(QCPScatterStyle::ssDisc, QPen(theme.text), QBrush(theme.text),
                                     theme.markerSize * 0.7);
    if (lower) build.line(lower, spread, spreadPen, spreadMark);

    Extent shown;
    shown.add(floor);
    shown.add(all.high);
    panel->axis(QCPAxis::atLeft)->setRange(shown.padded(0.06));
    Extent fromZero = diversity;
    fromZero.add(0.0);
    QCPRange range = fromZero.padded(0.12);
    range.lower = 0.0;
    for (QCPAxisRect* one : {panel, lower}) {
        if (!one) continue;
        QCPAxis* bottom = one->axis(QCPAxis::atBottom);
        bottom->setTicker(QSharedPointer<IntegerTicker>::create());
        bottom->ticker()->setTickCount(build.compact() ? 8 : 12);
        bottom->setRange(generations.low - 0.4, generations.high + 0.4);
    }
    if (lower) {
        lower->axis(QCPAxis::atLeft)->setRange(range);
        lower->axis(QCPAxis::atLeft)->ticker()->setTickCount(3);
        panel->axis(QCPAxis::atBottom)->setTickLabels(false);
        QObject::connect(panel->axis(QCPAxis::atBottom), qOverload<const QCPRange&>(&QCPAxis::rangeChanged),
                         lower->axis(QCPAxis::atBottom), qOverload<const QCPRange&>(&QCPAxis::setRange));
        QObject::connect(lower->axis(QCPAxis::atBottom), qOverload<const QCPRange&>(&QCPAxis::rangeChanged),
                         panel->axis(QCPAxis::atBottom), qOverload<const QCPRange&>(&QCPAxis::setRange));
    }

    build.legend(QStringLiteral("best"), styles[0].pen, styles[0].marker);
    build.legend(QStringLiteral("mean"), meanPen, styles[1].marker);
    build.legendPatch(QStringLiteral("worst to best"), fill);
    if (!candidates.empty()) {
        build.legend(counted(static_cast<qsizetype>(candidates.size()), QStringLiteral("candidate"),
                             QStringLiteral("candidates")),
                     Qt::NoPen, point);
    }
    if (baseline) build.legend(QStringLiteral("baseline (all scales 1)"), styles[2].pen);
    if (lower && !diversity.empty()) {
        build.legend(QStringLiteral("diversity: mean |Δs| between candidates"), spreadPen, spreadMark);
    }
    if (below > 0)
        build.note(counted(below, QStringLiteral("candidate lies below the axis"),
                           QStringLiteral("candidates lie below the axis")));
    if (failed > 0)
        build.note(counted(failed, QStringLiteral("failed candidate not drawn"),
                           QStringLiteral("failed candidates not drawn")));
}

}  // namespace lpes::widgets
