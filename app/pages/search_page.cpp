#include "app/pages/search_page.h"

#include <QLabel>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "app/presenters.h"
#include "widgets/common/guardrail_light.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/panels/plot_pane.h"

namespace lpes::app {

using widgets::CurveEditor;
using widgets::PlotPane;

namespace {

/// The bounds that the run searched in, as its curve plot has them.
curve::Constraints boundsOf(const RunDetail& detail) {
    curve::Constraints bounds;
    if (!detail.plots[kCurvePlot].data) return bounds;
    if (const auto* plot = std::get_if<analysis::CurvePlot>(detail.plots[kCurvePlot].data.get())) {
        bounds.scaleMin = plot->scaleMin;
        bounds.scaleMax = plot->scaleMax;
        bounds.gridStep.reset();
        if (plot->gridStep > 0.0) bounds.gridStep = plot->gridStep;
    }
    return bounds;
}

}  // namespace

SearchPage::SearchPage(const widgets::Theme& theme, QWidget* parent)
    : QWidget(parent),
      m_curves(new CurveEditor(theme)),
      m_headline(new QLabel(this)),
      m_guardrail(new widgets::GuardrailLight(this)) {
    m_curves->setReadOnly(true);
    m_curves->setAccessibleName(tr("Curves of the run: population and best"));
    m_panes[kConvergencePlot] = new PlotPane(tr("Fitness by generation"), theme);
    m_panes[kAccuracyPlot] = new PlotPane(tr("Accuracy by position"), theme);
    m_panes[kAttentionPlot] = new PlotPane(tr("Attention by position"), theme);
    m_panes[kDeviationPlot] = new PlotPane(tr("Representation deviation"), theme);
    m_panes[kSensitivityPlot] = new PlotPane(tr("Sensitivity to the scales"), theme);
    m_panes[kParetoPlot] = new PlotPane(tr("Pareto front"), theme);
    m_panes[kLossPlot] = new PlotPane(tr("Loss of the training"), theme);
    m_panes[kCurvePlot] = new PlotPane(tr("Scale per layer"), theme);
    m_headline->setTextFormat(Qt::PlainText);
    m_headline->setWordWrap(true);
    m_headline->setContentsMargins(8, 4, 8, 2);

    const auto row = [this](const QString& name, QWidget* left, QWidget* right) {
        auto* splitter = new QSplitter(Qt::Horizontal, this);
        splitter->setObjectName(name);
        splitter->addWidget(left);
        splitter->addWidget(right);
        splitter->setChildrenCollapsible(false);
        splitter->setSizes({400, 400});
        return splitter;
    };
    // The population lives in a view of its own; the stored curve with its control points beside it as a page.
    auto* curves = new QTabWidget(this);
    curves->setDocumentMode(true);
    curves->addTab(m_curves, tr("Population and best"));
    curves->addTab(m_panes[kCurvePlot], tr("Best profile"));
    curves->addTab(m_panes[kParetoPlot], tr("Pareto front"));
    auto* inside = new QTabWidget(this);
    inside->setDocumentMode(true);
    inside->addTab(m_panes[kAttentionPlot], tr("Attention"));
    inside->addTab(m_panes[kDeviationPlot], tr("Deviation"));
    inside->addTab(m_panes[kSensitivityPlot], tr("Sensitivity"));
    inside->addTab(m_panes[kLossPlot], tr("Loss"));
    m_inside = inside;
    auto* all = new QSplitter(Qt::Vertical, this);
    all->setObjectName(QStringLiteral("searchPage"));
    m_top = row(QStringLiteral("searchTop"), m_panes[kConvergencePlot], curves);
    all->addWidget(m_top);
    all->addWidget(row(QStringLiteral("searchBottom"), m_panes[kAccuracyPlot], inside));
    all->setChildrenCollapsible(false);
    all->setSizes({400, 400});
    auto* page = new QVBoxLayout(this);
    page->setContentsMargins(0, 0, 0, 0);
    page->setSpacing(0);
    page->addWidget(m_headline);
    page->addWidget(m_guardrail);
    page->addWidget(all, 1);
}

PlotPane& SearchPage::pane(PlotKind kind) {
    return *m_panes[kind];
}

void SearchPage::setHeadline(const QString& words) {
    m_headline->setText(words);
    m_headline->setVisible(!words.isEmpty());
    if (words.isEmpty()) m_guardrail->setFacts({});
}

void SearchPage::setGuardrail(const widgets::GuardrailFacts& facts) {
    m_guardrail->setFacts(facts);
}

void SearchPage::setTheme(const widgets::Theme& theme) {
    m_curves->setTheme(theme);
    for (PlotPane* pane : m_panes) pane->setTheme(theme);
}

void SearchPage::showRun(const std::shared_ptr<const RunDetail>& detail, const QString& why, int numLayers,
                         int trainedContext) {
    if (!detail) {
        m_run = 0;
        m_hasData.fill(false);
        m_curvesKey.clear();
        showAxes(std::max(1, numLayers), trainedContext, {});
        m_curves->setPopulation({});
        m_curves->setGhosts({});
        makeRoomForLoss(false);
        for (PlotPane* pane : m_panes) pane->setEmpty(why);
        return;
    }
    if (m_run != detail->run.id) {
        m_run = detail->run.id;
        m_hasData.fill(false);
        m_shown.fill(0);
        m_curvesKey.clear();
        makeRoomForLoss(detail->run.kind == "train");
    }
    showCurves(*detail, numLayers, trainedContext);
    for (std::size_t kind = 0; kind < kPanes; ++kind) {
        showPlot(static_cast<PlotKind>(kind), detail->plots[kind], *detail);
    }
}

void SearchPage::makeRoomForLoss(bool training) {
    m_top->setVisible(!training);
    m_panes[kAccuracyPlot]->setVisible(!training);
    if (training) m_inside->setCurrentWidget(m_panes[kLossPlot]);
}

void SearchPage::showPlot(PlotKind kind, const StoredPlot& plot, const RunDetail& detail) {
    PlotPane& pane = *m_panes[kind];
    if (!plot.data) {
        m_hasData[kind] = false;
        pane.setEmpty(QString::fromStdString(plot.why));
        return;
    }
    if (!m_hasData[kind] || m_shown[kind] != plot.version) {
        pane.setData(*plot.data, freshnessOf(detail));
        pane.setCommand(QStringLiteral("lpes plot %1 --kind %2 --out %2.pdf")
                            .arg(detail.run.id)
                            .arg(QLatin1String(kPlotKinds[kind])));
        m_shown[kind] = plot.version;
        m_hasData[kind] = true;
    } else {
        pane.setFreshness(freshnessOf(detail));
    }
}

void SearchPage::showAxes(int layers, int trainedContext, const curve::Constraints& bounds) {
    // Only what changed: a new model resets the view.
    if (std::exchange(m_axes, {layers, trainedContext}) != std::pair(layers, trainedContext)) {
        m_curves->setModel(layers, trainedContext);
    }
    if (m_curves->draft().constraints != bounds) m_curves->setDraft({curve::CurveKind::Bezier, {}, bounds});
}

void SearchPage::showCurves(const RunDetail& detail, int numLayers, int trainedContext) {
    const studies::RunPopulation& population = detail.population;
    const QString key = QStringLiteral("%1/%2/%3/%4")
                            .arg(detail.run.id)
                            .arg(population.evaluated)
                            .arg(population.members.size())
                            .arg(static_cast<int>(detail.run.state));
    if (key == m_curvesKey) return;
    m_curvesKey = key;
    int layers = std::max(1, numLayers);
    std::vector<widgets::GhostCurve> ghosts = bestGhosts(detail);
    if (!ghosts.empty()) layers = static_cast<int>(ghosts.front().scales.size());
    showAxes(layers, trainedContext, boundsOf(detail));
    // A candidate with several curves is no single line in the cloud.
    std::vector<widgets::PopulationCurve> cloud;
    if (population.groupNames.size() <= 1) {
        for (const auto& member : population.members) cloud.push_back({member.scales, member.fitness});
    }
    m_curves->setPopulation(std::move(cloud));
    m_curves->setGhosts(std::move(ghosts));
}

}  // namespace lpes::app
