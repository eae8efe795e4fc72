#include "widgets/curve_editor/curve_scene.h"

#include <QElapsedTimer>
#include <QFontMetricsF>
#include <QLinearGradient>
#include <algorithm>
#include <cmath>

#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using curve::ControlPoint;

constexpr int kMargin = 8, kLowBelow = 300;
constexpr double kHitRadius = 9.0, kReadoutReach = 12.0;

const QString& populationLayer() {
    static const QString name = QStringLiteral("population");
    return name;
}

const QString& curveLayer() {
    static const QString name = QStringLiteral("curve");
    return name;
}

QString meaning(double scale) {
    return QString(QStringLiteral("s = ") % shortNumber(scale, 4) % QStringLiteral(" · positions ÷ ") %
                   shortNumber(scale, 4));
}

QString inverse(double scale) {
    return scale > 0.0 ? QString::number(1.0 / scale, 'f', 2) : QString();
}

// The longest of the wordings that fits.
QString fitting(const QStringList& wordings, const QFont& font, double room) {
    for (const QString& words : wordings) {
        if (QFontMetricsF(font).horizontalAdvance(words) <= room) return words;
    }
    return {};
}

bool sameRange(const QCPRange& a, const QCPRange& b) {
    const double tolerance = 1e-9 * std::max(a.size(), b.size());
    return std::abs(a.lower - b.lower) <= tolerance && std::abs(a.upper - b.upper) <= tolerance;
}

}  // namespace

QString tokenCount(double tokens) {
    if (tokens >= 100'000) return QString(QString::number(tokens / 1000.0, 'f', 1) % QStringLiteral(" k"));
    return QString::number(std::lround(tokens));
}

CurveScene::CurveScene(QCustomPlot& plot, const Theme& theme) : m_plot(plot) {
    picture.theme = theme;
    plot.addLayer(populationLayer(), plot.layer(QStringLiteral("grid")));
    plot.addLayer(curveLayer(), plot.layer(QStringLiteral("overlay")));
    for (const QString& name : {populationLayer(), curveLayer()}) plot.layer(name)->setMode(QCPLayer::lmBuffered);
}

void CurveScene::build(int width) {
    const bool first = !m_panel;
    const QCPRange x = first ? QCPRange() : m_panel->axis(QCPAxis::atBottom)->range();
    const QCPRange y = first ? QCPRange() : m_panel->axis(QCPAxis::atLeft)->range();
    const bool keep = !first && !(sameRange(x, m_homeX) && sameRange(y, m_homeY));
    m_second = nullptr;
    m_plot.clearItems();
    m_plot.plotLayout()->clear();
    qDeleteAll(m_plot.findChildren<QCPMarginGroup*>(QString(), Qt::FindDirectChildrenOnly));
    m_plot.plotLayout()->setMargins(QMargins(kMargin, kMargin, kMargin, kMargin));
    m_plot.setBackground(QBrush(picture.theme.background));
    m_compact = compact(width);

    PlotBuilder builder(m_plot, picture.theme, width);
    m_header = &builder.header();
    m_panel = builder.panel(0, 0, QStringLiteral("layer"), QString());
    QCPAxis* bottom = m_panel->axis(QCPAxis::atBottom);
    QCPAxis* left = m_panel->axis(QCPAxis::atLeft);
    bottom->setTicker(QSharedPointer<IntegerTicker>::create(picture.layers - 1.0));
    bottom->ticker()->setTickCount(m_compact ? 6 : 10);
    m_homeX = homeX();
    m_homeY = homeY();
    bottom->setRange(keep ? x : m_homeX);
    left->setRange(keep ? y : m_homeY);
    buildDepth();
    buildMeaning(builder);
    QObject::connect(
        bottom, qOverload<const QCPRange&, const QCPRange&>(&QCPAxis::rangeChanged), bottom,
        [this, bottom](const QCPRange& now, const QCPRange& before) { limitRange(bottom, now, before, m_homeX); });
    QObject::connect(
        left, qOverload<const QCPRange&, const QCPRange&>(&QCPAxis::rangeChanged), left,
        [this, left](const QCPRange& now, const QCPRange& before) { limitRange(left, now, before, m_homeY); });

    // The items belong to the plot.
    new RulesItem(&m_plot, m_panel, picture, QStringLiteral("background"));
    new PopulationItem(&m_plot, m_panel, picture, populationLayer());
    new GhostsItem(&m_plot, m_panel, picture, QStringLiteral("main"));
    new DraftItem(&m_plot, m_panel, picture, curveLayer());
    buildLegend();
    setWidth(width);
}

// Right: what the scale means, at the left axis's own ticks.
void CurveScene::buildMeaning(PlotBuilder& builder) {
    QCPAxis* left = m_panel->axis(QCPAxis::atLeft);
    QCPAxis* right = m_panel->axis(QCPAxis::atRight);
    const auto show = [left](QCPAxis* axis, std::function<QString(double)> words) {
        axis->setTicks(true);
        axis->setTickLabels(true);
        axis->setTicker(QSharedPointer<LabelTicker>::create(std::move(words)));
        axis->ticker()->setTickCount(left->ticker()->tickCount());
        axis->setSubTicks(false);
        axis->setLabelPadding(5);
        axis->setRange(left->range());
    };
    if (picture.trainedContext <= 0) return show(right, inverse);
    const int context = picture.trainedContext;
    show(right, [context](double scale) { return scale > 0.0 ? tokenCount(scale * context) : QString(); });
    if (m_compact) return;
    m_second = m_panel->addAxis(QCPAxis::atRight);
    builder.styleAxis(m_second);
    m_second->grid()->setVisible(false);
    show(m_second, inverse);
    m_second->setBasePen(Qt::NoPen);
    m_second->setTickPen(Qt::NoPen);
    m_second->setTickLabelColor(picture.theme.mutedText);
    QObject::connect(left, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), m_second,
                     qOverload<const QCPRange&>(&QCPAxis::setRange));
}

void CurveScene::buildDepth() {
    QCPAxis* bottom = m_panel->axis(QCPAxis::atBottom);
    QCPAxis* top = m_panel->axis(QCPAxis::atTop);
    const double span = picture.span();
    // The box of panel() ties the top axis to the bottom one; here it counts in depths instead of layers.
    QObject::disconnect(bottom, nullptr, top, nullptr);
    QObject::connect(bottom, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), top,
                     [top, span](const QCPRange& range) { top->setRange(range.lower / span, range.upper / span); });
    top->setRange(bottom->range().lower / span, bottom->range().upper / span);
    top->setTicks(true);
    top->setTickLabels(true);
    auto ticker = QSharedPointer<QCPAxisTickerFixed>::create();
    ticker->setTickStep(0.25);
    ticker->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
    top->setTicker(ticker);
    top->setSubTicks(false);
}

void CurveScene::buildLegend() {
    QCPLayoutGrid* grid = m_plot.plotLayout();
    const Theme& theme = picture.theme;
    grid->remove(m_header);
    m_header = new HeaderElement(&m_plot, theme);
    grid->addElement(0, 0, m_header);

    const SeriesStyle current = picture.currentStyle();
    const bool hasCurve = !picture.draft.points.empty() || !picture.readOnly;
    if (hasCurve) m_header->addEntry({QStringLiteral("current"), current.pen, QBrush(Qt::NoBrush), current.marker});
    const std::vector<SeriesStyle> ghosts = picture.ghostStyles();
    for (std::size_t i = 0; i < ghosts.size(); ++i) {
        m_header->addEntry({picture.ghosts[i].name, ghosts[i].pen, QBrush(Qt::NoBrush), ghosts[i].marker});
    }
    if (!picture.population.empty()) {
        QLinearGradient colors(0, 0, 1, 0);
        colors.setCoordinateMode(QGradient::ObjectMode);
        for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) colors.setColorAt(share, picture.fitnessColor(share));
        const Extent fitness = picture.fitness();
        QString words = counted(static_cast<qsizetype>(picture.population.size()), QStringLiteral("candidate"),
                                QStringLiteral("candidates"));
        if (!fitness.empty()) {
            words += QString(QStringLiteral(", fitness ") % shortNumber(fitness.low) % QStringLiteral(" to ") %
                             shortNumber(fitness.high));
        }
        m_header->addEntry({words, QPen(Qt::NoPen), QBrush(colors), QCPScatterStyle(QCPScatterStyle::ssNone)});
    }
    if (m_compact) return;
    if (hasCurve && picture.draft.kind == curve::CurveKind::Bezier) {
        QPen dashed(current.color, theme.axisWidth);
        dashed.setDashPattern({4, 4});
        m_header->addEntry({QStringLiteral("control points"), dashed, QBrush(Qt::NoBrush),
                            QCPScatterStyle(QCPScatterStyle::ssSquare, QPen(current.color, 1.5),
                                            QBrush(theme.background), theme.markerSize + 2.0)});
    }
    m_header->addEntry({QStringLiteral("s = 1: unchanged"), QPen(theme.mutedText, theme.axisWidth), QBrush(Qt::NoBrush),
                        QCPScatterStyle(QCPScatterStyle::ssNone)});
    const curve::Constraints& rules = picture.draft.constraints;
    m_header->addEntry({QString(QStringLiteral("not allowed: outside ") % shortNumber(rules.scaleMin) %
                                QStringLiteral(" to ") % shortNumber(rules.scaleMax)),
                        QPen(Qt::NoPen), QBrush(theme.dark ? QColor(0x45, 0x48, 0x4d) : QColor(0xd8, 0xd8, 0xd8)),
                        QCPScatterStyle(QCPScatterStyle::ssNone)});
}

void CurveScene::refresh() {
    QCPAxis* left = m_panel->axis(QCPAxis::atLeft);
    const bool home = sameRange(left->range(), m_homeY);
    m_homeY = homeY();
    if (home) left->setRange(m_homeY);
    buildLegend();
}

void CurveScene::setWidth(int width) {
    m_header->setWidth(std::max(10, width - 2 * kMargin));
}

void CurveScene::chooseLabels() {
    const QFont font = picture.theme.font();
    const double high = m_panel->height() + 6.0, wide = m_panel->width();
    const auto label = [&](QCPAxis* axis, const QStringList& wordings, double room) {
        axis->setLabel(fitting(wordings, font, room));
    };
    const QStringList context{QStringLiteral("effective context (tokens)"), QStringLiteral("context (tokens)"),
                              QStringLiteral("context")};
    label(m_panel->axis(QCPAxis::atLeft), {QStringLiteral("scale s"), QStringLiteral("s")}, high);
    label(m_panel->axis(QCPAxis::atRight), picture.trainedContext > 0 ? context : QStringList{QStringLiteral("1/s")},
          high);
    if (m_second) label(m_second, {QStringLiteral("1/s")}, high);
    // Where every line of pixels counts, both horizontal axes share one.
    const QStringList depth{QStringLiteral("relative depth"), QStringLiteral("depth")};
    const bool low = m_plot.height() < kLowBelow;
    label(m_panel->axis(QCPAxis::atBottom),
          low ? QStringList{QStringLiteral("layer (above: relative depth)"), QStringLiteral("layer")}
              : QStringList{QStringLiteral("layer")},
          wide);
    label(m_panel->axis(QCPAxis::atTop), low ? QStringList() : depth, wide);
}

void CurveScene::resetView() {
    m_homeX = homeX();
    m_homeY = homeY();
    m_panel->axis(QCPAxis::atBottom)->setRange(m_homeX);
    m_panel->axis(QCPAxis::atLeft)->setRange(m_homeY);
}

QCPRange CurveScene::homeX() const {
    const double last = picture.span();
    return {-0.5 - 0.01 * last, last + 0.5 + 0.01 * last};
}

QCPRange CurveScene::homeY() const {
    Extent scales;
    scales.add(1.0);
    scales.add(picture.draft.constraints.scaleMin);
    scales.add(picture.draft.constraints.scaleMax);
    for (const ControlPoint& point : picture.draft.points) scales.add(point.y);
    for (const GhostCurve& ghost : picture.ghosts) {
        for (const double scale : ghost.scales) scales.add(scale);
    }
    return scales.padded(0.06);
}

void CurveScene::limitRange(QCPAxis* axis, const QCPRange& wanted, const QCPRange& before, const QCPRange& home) {
    // Far out or far away nothing is left to see, and far in the pixels run out of digits.
    const double size = wanted.size();
    if (size < home.size() / 100.0 || size > home.size() * 3.0) {
        if (before.size() >= home.size() / 100.0 && before.size() <= home.size() * 3.0) axis->setRange(before);
        return;
    }
    const double centre = std::clamp(wanted.center(), home.lower, home.upper);
    if (centre != wanted.center()) axis->setRange(centre - size / 2.0, centre + size / 2.0);
}

void CurveScene::replotCurve() {
    QElapsedTimer timer;
    timer.start();
    m_plot.layer(curveLayer())->replot();
    m_lastReplotMs = static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void CurveScene::replotPopulation() {
    m_plot.layer(populationLayer())->replot();
}

QPointF CurveScene::toPixel(const ControlPoint& point) const {
    return {m_panel->axis(QCPAxis::atBottom)->coordToPixel(point.x * picture.span()),
            m_panel->axis(QCPAxis::atLeft)->coordToPixel(point.y)};
}

ControlPoint CurveScene::fromPixel(const QPointF& pixel) const {
    return {m_panel->axis(QCPAxis::atBottom)->pixelToCoord(pixel.x()) / picture.span(),
            m_panel->axis(QCPAxis::atLeft)->pixelToCoord(pixel.y())};
}

int CurveScene::pointAt(const QPointF& pixel) const {
    int found = -1;
    double best = 0.0;
    for (int i = 0; i < static_cast<int>(picture.draft.points.size()); ++i) {
        const ControlPoint& point = picture.draft.points[static_cast<std::size_t>(i)];
        if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
        const QPointF away = toPixel(point) - pixel;
        if (std::max(std::abs(away.x()), std::abs(away.y())) > kHitRadius) continue;
        // Of points that cover each other the one on top, and the selected one is on top of all.
        const double distance = std::hypot(away.x(), away.y()) - (i == picture.selected ? 0.5 : 0.0);
        if (found < 0 || distance <= best) {
            found = i;
            best = distance;
        }
    }
    return found;
}

int CurveScene::layerAt(const QPointF& pixel) const {
    int found = -1;
    double best = kReadoutReach;
    for (int layer = 0; layer < static_cast<int>(picture.scales.size()); ++layer) {
        const QPointF away = toPixel({layer / picture.span(), picture.scales[static_cast<std::size_t>(layer)]}) - pixel;
        const double distance = std::hypot(away.x(), away.y());
        if (distance < best) {
            found = layer;
            best = distance;
        }
    }
    return found;
}

QString CurveScene::wordsOfLayer(int layer) const {
    const double scale = picture.scales[static_cast<std::size_t>(layer)];
    return QString(QStringLiteral("layer ") % QString::number(layer) % QStringLiteral(" · ") % meaning(scale));
}

QString CurveScene::wordsOfPoint(int index) const {
    const ControlPoint& point = picture.draft.points[static_cast<std::size_t>(index)];
    return QString(QStringLiteral("control point ") % QString::number(index) % QStringLiteral(" · layer ") %
                   shortNumber(point.x * (picture.layers - 1)) % QStringLiteral(" · depth ") % shortNumber(point.x) %
                   QStringLiteral(" · s = ") % shortNumber(point.y, 4));
}

QString CurveScene::readoutAt(const QPointF& pixel) const {
    const int layer = layerAt(pixel), point = pointAt(pixel);
    const auto distance = [&](const ControlPoint& to) {
        const QPointF away = toPixel(to) - pixel;
        return std::hypot(away.x(), away.y());
    };
    if (layer >= 0 && point >= 0) {
        const double scale = picture.scales[static_cast<std::size_t>(layer)];
        const bool dot = distance({layer / picture.span(), scale}) <=
                         distance(picture.draft.points[static_cast<std::size_t>(point)]) + 0.5;
        return dot ? wordsOfLayer(layer) : wordsOfPoint(point);
    }
    if (layer >= 0) return wordsOfLayer(layer);
    if (point >= 0) return wordsOfPoint(point);
    QString words;
    double best = kReadoutReach;
    for (const GhostCurve& ghost : picture.ghosts) {
        for (int i = 0; i < static_cast<int>(ghost.scales.size()); ++i) {
            const double scale = ghost.scales[static_cast<std::size_t>(i)];
            const double away = distance({i / picture.span(), scale});
            if (away >= best) continue;
            best = away;
            words = QString(ghost.name % QStringLiteral(": layer ") % QString::number(i) % QStringLiteral(" · ") %
                            meaning(scale));
        }
    }
    return words;
}

QString CurveScene::coordinatesAt(const QPointF& pixel) const {
    if (!QRectF(m_panel->rect()).contains(pixel)) return {};
    const ControlPoint at = fromPixel(pixel);
    QString words = QString(QStringLiteral("layer ") % QString::number(at.x * picture.span(), 'f', 1) %
                            QStringLiteral(" · s = ") % QString::number(at.y, 'f', 2));
    if (at.y > 0.0) words += QString(QStringLiteral(" · 1/s = ") % inverse(at.y));
    if (at.y > 0.0 && picture.trainedContext > 0) {
        words += QString(QStringLiteral(" · effective context ") % tokenCount(at.y * picture.trainedContext) %
                         QStringLiteral(" tokens"));
    }
    return words;
}

}  // namespace lpes::widgets
