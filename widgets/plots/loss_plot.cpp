#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::LossPlot;

QString readoutOf(const LossPlot::Step& step) {
    return QStringLiteral("step ") % QString::number(step.step) % QStringLiteral(": LM loss ") %
           shortNumber(step.lmLoss, 4) % QStringLiteral(" · with the auxiliary loss ") % shortNumber(step.loss, 4) %
           QStringLiteral(" · gradient norm ") % shortNumber(step.gradNorm);
}

/// Whole numbers from the first to the last step, also where there is one alone.
void setSteps(PlotBuilder& build, QCPAxis& axis, const LossPlot& data) {
    axis.setTicker(QSharedPointer<IntegerTicker>::create());
    axis.ticker()->setTickCount(build.compact() ? 8 : 12);
    axis.setRange(data.steps.front().step - 0.4, data.steps.back().step + 0.4);
}

}  // namespace

void buildLoss(PlotBuilder& build, const LossPlot& data) {
    build.title(data.title, data.subtitle);
    Extent losses, norms;
    for (const LossPlot::Step& step : data.steps) {
        losses.add(step.lmLoss);
        norms.add(step.gradNorm);
    }
    if (losses.empty()) return build.empty(QStringLiteral("no step has been done"));
    const std::vector<analysis::SeriesRole> roles{analysis::SeriesRole::Best, analysis::SeriesRole::Current};
    const std::vector<SeriesStyle> styles = seriesStyles(build.theme(), roles);
    // A low dock has no room for a second panel; there the norm is a hover away.
    const bool alone = build.lower(300);
    const QString steps = QStringLiteral("optimiser step");
    QCPAxisRect* panel = build.panel(0, 0, alone ? steps : QString(), QStringLiteral("LM loss (nats per token)"));
    QCPAxisRect* lower = alone ? nullptr : build.panel(1, 0, steps, QStringLiteral("gradient norm"));
    build.rowWeight(0, 2.4);
    build.bodyHeight(build.compact() ? 300 : 340);

    Points loss, norm;
    for (const LossPlot::Step& step : data.steps) {
        loss.emplace_back(step.step, step.lmLoss);
        norm.emplace_back(step.step, step.gradNorm);
        build.readout(panel, step.step, step.lmLoss, readoutOf(step));
        if (lower) build.readout(lower, step.step, step.gradNorm, readoutOf(step));
    }
    build.line(panel, loss, styles[0].pen, styles[0].marker);
    panel->axis(QCPAxis::atLeft)->setRange(losses.padded(0.07));
    setSteps(build, *panel->axis(QCPAxis::atBottom), data);
    build.legend(QStringLiteral("LM loss, mean over the step's sequences"), styles[0].pen, styles[0].marker);
    if (!lower) return;
    build.line(lower, norm, styles[1].pen, styles[1].marker);
    norms.add(0.0);
    lower->axis(QCPAxis::atLeft)->setRange(norms.padded(0.12));
    lower->axis(QCPAxis::atLeft)->ticker()->setTickCount(3);
    setSteps(build, *lower->axis(QCPAxis::atBottom), data);
    panel->axis(QCPAxis::atBottom)->setTickLabels(false);
    build.legend(QStringLiteral("norm of the gradient, before it is shortened"), styles[1].pen, styles[1].marker);
}

}  // namespace lpes::widgets
