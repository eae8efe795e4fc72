#include "widgets/plots/plot_view.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <utility>

namespace lpes::widgets {
namespace {

constexpr int kMargin = 8;

void build(PlotBuilder& builder, const analysis::PlotData& data) {
    struct Build {
        PlotBuilder& to;
        void operator()(const analysis::CurvePlot& plot) const { buildCurve(to, plot); }
        void operator()(const analysis::AccuracyPlot& plot) const { buildAccuracy(to, plot); }
        void operator()(const analysis::ConvergencePlot& plot) const { buildConvergence(to, plot); }
        void operator()(const analysis::ProgressPlot& plot) const { buildProgress(to, plot); }
        void operator()(const analysis::AttentionPlot& plot) const { buildAttention(to, plot); }
        void operator()(const analysis::DeviationPlot& plot) const { buildDeviation(to, plot); }
        void operator()(const analysis::SensitivityPlot& plot) const { buildSensitivity(to, plot); }
        void operator()(const analysis::ParetoPlot& plot) const { buildPareto(to, plot); }
        void operator()(const analysis::LossPlot& plot) const { buildLoss(to, plot); }
        void operator()(const analysis::MethodsPlot& plot) const { buildMethods(to, plot); }
    };
    std::visit(Build{builder}, data);
}

}  // namespace

PlotView::PlotView(analysis::PlotData data, Theme theme, QWidget* parent)
    : QCustomPlot(parent), m_data(std::move(data)), m_theme(std::move(theme)) {
    // Figures are versioned and compared: the same in every locale.
    setLocale(QLocale::c());
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    setMouseTracking(true);
    setMinimumSize(120, 90);
    setFocusPolicy(Qt::StrongFocus);
    rebuild(std::max(width(), 120), 0);
}

void PlotView::setData(analysis::PlotData data, bool keepZoom) {
    m_data = std::move(data);
    if (m_dragging) {
        // One call without keepZoom means other data: later ones cannot bring the old zoom back.
        if (m_waiting != Waiting::Redraw) m_waiting = keepZoom ? Waiting::RedrawKeepingZoom : Waiting::Redraw;
        return;
    }
    refresh(keepZoom);
}

void PlotView::setTheme(Theme theme) {
    m_theme = std::move(theme);
    refresh(true);
}

void PlotView::setFaded(bool faded) {
    if (m_faded == faded) return;
    m_faded = faded;
    update();
}

bool PlotView::zoomed() const {
    return std::any_of(m_home.begin(), m_home.end(), [](const Home& home) { return home.axis->range() != home.range; });
}

void PlotView::resetZoom() {
    refresh(false);
}

void PlotView::refresh(bool keepZoom) {
    struct Kept {
        std::size_t index;
        Home home;
        QCPRange range;
    };
    std::vector<Kept> kept;
    const std::size_t kind = m_builtKind, axes = m_home.size();
    for (std::size_t i = 0; keepZoom && i < axes; ++i) {
        if (m_home[i].axis->range() != m_home[i].range) kept.push_back({i, m_home[i], m_home[i].axis->range()});
    }
    rebuild(m_builtWidth, m_builtHeight);
    arrange(width(), height());
    if (kind == m_data.index() && axes == m_home.size()) {
        for (const Kept& one : kept) {
            const Home& now = m_home[one.index];
            const bool same = now.label == one.home.label && now.scale == one.home.scale;
            const bool inside = one.range.lower <= now.range.upper && one.range.upper >= now.range.lower;
            if (same && inside) now.axis->setRange(one.range);
        }
    }
    replot(rpQueuedReplot);
}

void PlotView::endDrag() {
    m_dragging = false;
    if (m_waiting == Waiting::Nothing) return;
    refresh(std::exchange(m_waiting, Waiting::Nothing) == Waiting::RedrawKeepingZoom);
}

void PlotView::rebuild(int width, int height) {
    m_home.clear();
    m_readouts.clear();
    clearPlottables();
    clearItems();
    plotLayout()->clear();
    qDeleteAll(findChildren<QCPMarginGroup*>(QString(), Qt::FindDirectChildrenOnly));
    plotLayout()->setMargins(QMargins(kMargin, kMargin, kMargin, kMargin));
    setBackground(QBrush(m_theme.background));

    PlotBuilder builder(*this, m_theme, width, height);
    build(builder, m_data);
    m_header = &builder.header();
    m_panels = builder.panels();
    m_readouts = builder.readouts();
    m_labels = builder.labels();
    m_rowWeights = builder.rowWeights();
    m_columnWeights = builder.columnWeights();
    m_bodyHeight = builder.preferredBodyHeight();
    m_builtKind = m_data.index();
    m_builtWidth = width;
    m_builtHeight = height;
    for (QCPAxisRect* panel : axisRects()) {
        // The other axes follow these two.
        for (QCPAxis* axis : {panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft)}) {
            m_home.push_back({axis, axis->label(), axis->scaleType(), axis->range()});
        }
    }
    m_header->setWidth(width - 2 * kMargin);
    // Without a title the owner names the view.
    const QString title = std::visit([](const auto& plot) { return text(plot.title); }, m_data);
    if (title.isEmpty()) return;
    setAccessibleName(title);
    setAccessibleDescription(std::visit([](const auto& plot) { return text(plot.subtitle); }, m_data));
}

int PlotView::preferredHeight(int width) {
    rebuild(width, 0);
    return m_header->height() + m_bodyHeight + 2 * kMargin;
}

void PlotView::arrange(int width, int height) {
    setViewport(QRect(0, 0, width, height));
    m_header->setWidth(width - 2 * kMargin);
    for (int column = 0; column < m_panels->columnCount(); ++column) m_panels->setColumnStretchFactor(column, 1.0);
    for (int row = 0; row < m_panels->rowCount(); ++row) m_panels->setRowStretchFactor(row, 1.0);
    for (const AxisLabel& label : m_labels) label.axis->setLabel(label.text);
    updateLayout();
    // Breaking a label changes the margins, and these the length the labels have to fit.
    for (int pass = 0; pass < 2; ++pass) {
        equalisePanels(width);
        updateLayout();
        breakLabels();
        updateLayout();
    }
    equalisePanels(width);
    updateLayout();
}

void PlotView::breakLabels() {
    for (const AxisLabel& label : m_labels) {
        const bool upright = label.axis->axisType() == QCPAxis::atLeft || label.axis->axisType() == QCPAxis::atRight;
        // A label may reach a little beyond both ends of its axis: margins are there.
        const double room = upright ? label.panel->height() + 6.0 : label.panel->width() + 16.0;
        const QFont font = label.axis->labelFont();
        QString words = label.text;
        // A unit in parentheses is the best place for a break.
        if (QFontMetricsF(font).horizontalAdvance(words) > room) {
            words.replace(QStringLiteral(" ("), QStringLiteral("\n("));
        }
        label.axis->setLabel(wrapText(words, font, std::max(room, 24.0)).join(QLatin1Char('\n')));
    }
}

void PlotView::equalisePanels(int width) {
    // Only the outer panels have labels, so equal cells would hold unequal panels: each row and column gets its own
    // margins plus an equal (or weighted) share of what is left.
    const auto share = [](double total, const std::vector<double>& margins, const std::vector<double>& weights,
                          auto setStretch) {
        double sum = 0.0;
        for (std::size_t i = 0; i < margins.size(); ++i) {
            total -= margins[i];
            sum += weights[i];
        }
        const double unit = std::max(10.0, total) / sum;
        for (std::size_t i = 0; i < margins.size(); ++i) {
            setStretch(static_cast<int>(i), unit * weights[i] + margins[i]);
        }
    };
    const int rows = m_panels->rowCount(), columns = m_panels->columnCount();
    std::vector<double> across(static_cast<std::size_t>(columns), 0.0), down(static_cast<std::size_t>(rows), 0.0);
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            if (!m_panels->hasElement(row, column)) continue;
            const QMargins around = m_panels->element(row, column)->margins();
            double& a = across[static_cast<std::size_t>(column)];
            double& d = down[static_cast<std::size_t>(row)];
            a = std::max(a, static_cast<double>(around.left() + around.right()));
            d = std::max(d, static_cast<double>(around.top() + around.bottom()));
        }
    }
    std::vector<double> weights = m_rowWeights, columnWeights = m_columnWeights;
    weights.resize(static_cast<std::size_t>(rows), 1.0);
    columnWeights.resize(static_cast<std::size_t>(columns), 1.0);
    // Beside an upright colour scale the panels have less than the whole width.
    const double total = plotLayout()->columnCount() > 1 ? m_panels->outerRect().width() : width - 2.0 * kMargin;
    share(total - m_panels->columnSpacing() * (columns - 1.0), across, columnWeights,
          [this](int column, double stretch) { m_panels->setColumnStretchFactor(column, stretch); });
    share(m_panels->outerRect().height() - m_panels->rowSpacing() * (rows - 1.0), down, weights,
          [this](int row, double stretch) { m_panels->setRowStretchFactor(row, stretch); });
}

void PlotView::paint(QCPPainter& painter, int width, int height) {
    rebuild(width, 0);
    arrange(width, height);
    toPainter(&painter, width, height);
}

std::unique_ptr<PlotView> makePlot(analysis::PlotData data, const Theme& theme) {
    return std::make_unique<PlotView>(std::move(data), theme);
}

}  // namespace lpes::widgets
