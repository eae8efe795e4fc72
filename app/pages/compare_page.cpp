#include "app/pages/compare_page.h"

#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/presenters.h"
#include "widgets/panels/compare_panel.h"
#include "widgets/panels/method_table.h"
#include "widgets/panels/plot_pane.h"

namespace lpes::app {

using widgets::PlotPane;

namespace {

constexpr int kLowestPicture = 190;

}  // namespace

ComparePage::ComparePage(const widgets::Theme& theme, QWidget* parent)
    : QWidget(parent),
      m_panel(new widgets::ComparePanel(this)),
      m_table(new widgets::MethodTable(this)),
      m_headline(new QLabel(this)) {
    m_methods.pane = new PlotPane(tr("Methods compared"), theme);
    m_accuracy.pane = new PlotPane(tr("Accuracy by position of the methods"), theme);
    m_headline->setTextFormat(Qt::PlainText);
    m_headline->setWordWrap(true);
    m_headline->setContentsMargins(8, 4, 8, 2);

    auto* results = new QSplitter(Qt::Vertical, this);
    results->setObjectName(QStringLiteral("compareResults"));
    results->addWidget(m_table);
    results->addWidget(m_methods.pane);
    results->addWidget(m_accuracy.pane);
    results->setChildrenCollapsible(false);
    results->setSizes({200, 210, 250});
    auto* right = new QWidget(this);
    auto* column = new QVBoxLayout(right);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_headline);
    // In a small window the pictures keep a height at which they can be read, and are scrolled to.
    for (const Shown* shown : {&m_methods, &m_accuracy}) shown->pane->setMinimumHeight(kLowestPicture);
    auto* scroll = new QScrollArea(right);
    scroll->setWidget(results);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setAccessibleName(tr("Results of the comparison"));
    column->addWidget(scroll, 1);
    auto* all = new QSplitter(Qt::Horizontal, this);
    all->setObjectName(QStringLiteral("comparePage"));
    all->addWidget(m_panel);
    all->addWidget(right);
    all->setChildrenCollapsible(false);
    all->setStretchFactor(1, 1);
    all->setSizes({300, 700});
    auto* page = new QVBoxLayout(this);
    page->setContentsMargins(0, 0, 0, 0);
    page->addWidget(all);
    showRun(nullptr);
}

void ComparePage::setTheme(const widgets::Theme& theme) {
    m_methods.pane->setTheme(theme);
    m_accuracy.pane->setTheme(theme);
}

void ComparePage::showRun(const std::shared_ptr<const RunDetail>& detail) {
    if (!detail || detail->run.kind != "compare") {
        const QString what =
            tr("No comparison is selected. Name the methods and press Start, or select a run of the "
               "kind “compare” in the list.");
        m_headline->hide();
        m_table->setEmpty(what);
        for (Shown* shown : {&m_methods, &m_accuracy}) {
            shown->version = 0;
            shown->pane->setEmpty(tr("No comparison is selected"));
        }
        return;
    }
    m_headline->setText(headlineOf(*detail));
    m_headline->show();
    const StoredPlot& methods = detail->plots[kMethodsPlot];
    const auto* plot = methods.data ? std::get_if<analysis::MethodsPlot>(methods.data.get()) : nullptr;
    if (!plot) {
        m_table->setEmpty(QString::fromStdString(methods.why));
    } else if (m_methods.version != methods.version || m_methods.run != detail->run.id) {
        m_table->setMethods(*plot);
    }
    showPlot(m_methods, kMethodsPlot, *detail);
    showPlot(m_accuracy, kAccuracyPlot, *detail);
}

void ComparePage::showPlot(Shown& shown, PlotKind kind, const RunDetail& detail) {
    const StoredPlot& plot = detail.plots[kind];
    if (!plot.data) {
        shown.version = 0;
        shown.pane->setEmpty(QString::fromStdString(plot.why));
        return;
    }
    if (shown.version == plot.version && shown.run == detail.run.id) {
        shown.pane->setFreshness(freshnessOf(detail));
        return;
    }
    shown.version = plot.version;
    shown.run = detail.run.id;
    shown.pane->setData(*plot.data, freshnessOf(detail));
    shown.pane->setCommand(
        QStringLiteral("lpes plot %1 --kind %2 --out %2.pdf").arg(detail.run.id).arg(QLatin1String(kPlotKinds[kind])));
}

}  // namespace lpes::app
