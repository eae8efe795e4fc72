#include "widgets/curve_editor/curve_items.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/curve/bezier.h"
#include "core/curve/monotone_cubic.h"

namespace lpes::widgets {
namespace {

using curve::ControlPoint;
using curve::CurveKind;

constexpr int kBezierSamples = 160;
constexpr int kMonotoneSamples = 24;  // between two points
// From here on the cloud is drawn without antialiasing: it costs four times as much and nobody sees it.
constexpr std::size_t kManyCandidates = 150;

bool finite(const ControlPoint& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
}

// Words in a box that stays inside `room`.
void drawBox(QCPPainter* painter, const QRectF& box, const QStringList& lines, const QFont& font, const QColor& ground,
             const QColor& frame, const QColor& words) {
    const QFontMetricsF metrics(font);
    painter->setAntialiasing(true);
    painter->setPen(QPen(frame, 1.0));
    painter->setBrush(ground);
    painter->drawRoundedRect(box, 3, 3);
    painter->setFont(font);
    painter->setPen(QPen(words));
    double y = box.top() + 3.0 + metrics.ascent();
    for (const QString& line : lines) {
        painter->drawText(QPointF(box.left() + 6.0, y), line);
        y += metrics.height();
    }
}

QSizeF boxSize(const QStringList& lines, const QFont& font) {
    const QFontMetricsF metrics(font);
    double width = 0.0;
    for (const QString& line : lines) width = std::max(width, metrics.horizontalAdvance(line));
    return {width + 12.0, static_cast<double>(lines.size()) * metrics.height() + 6.0};
}

/// Through every control point, so that a jump stands upright.
std::vector<ControlPoint> monotoneLine(const CurveDraft& draft) {
    std::vector<ControlPoint> line{draft.points.front()};
    for (std::size_t k = 1; k < draft.points.size(); ++k) {
        const double from = line.back().x, to = draft.points[k].x;
        for (int i = 1; i < kMonotoneSamples && to > from; ++i) {
            const double depth = from + (to - from) * i / kMonotoneSamples;
            line.push_back({depth, curve::monotoneCubic(draft.points, k - 1, depth)});
        }
        line.push_back(draft.points[k]);
    }
    return line;
}

}  // namespace

void CurvePicture::update() {
    scales = decodedScales(draft, layers);
    line.clear();
    problem.clear();
    if (draft.points.empty()) return;
    if (const auto broken = curve::violation(draft.kind, draft.points, draft.constraints)) {
        problem = text(*broken);
        return;
    }
    if (scales.empty()) {
        problem = QString(
            QStringLiteral("a free curve has one point per layer: this one has ") %
            counted(static_cast<qsizetype>(draft.points.size()), QStringLiteral("point"), QStringLiteral("points")) %
            QStringLiteral(", the model ") % counted(layers, QStringLiteral("layer"), QStringLiteral("layers")));
        return;
    }
    switch (draft.kind) {
        case CurveKind::Bezier:
            for (int i = 0; i <= kBezierSamples; ++i) {
                line.push_back(curve::bezierPoint(draft.points, static_cast<double>(i) / kBezierSamples));
            }
            break;
        case CurveKind::Monotone:
            line = monotoneLine(draft);
            break;
        case CurveKind::Step:
            for (const ControlPoint& point : draft.points) {
                if (!line.empty()) line.push_back({point.x, line.back().y});
                line.push_back(point);
            }
            break;
        case CurveKind::Linear:
        case CurveKind::Free:
            line = draft.points;
            break;
    }
}

SeriesStyle CurvePicture::currentStyle() const {
    const analysis::SeriesRole role = analysis::SeriesRole::Current;
    return seriesStyles(theme, std::span(&role, 1)).front();
}

std::vector<SeriesStyle> CurvePicture::ghostStyles() const {
    // The edited curve comes first, so that no ghost can take its look.
    std::vector<analysis::SeriesRole> roles{analysis::SeriesRole::Current};
    for (const GhostCurve& ghost : ghosts) roles.push_back(ghost.role);
    std::vector<SeriesStyle> styles = seriesStyles(theme, roles);
    styles.erase(styles.begin());
    return styles;
}

Extent CurvePicture::fitness() const {
    Extent extent;
    for (const PopulationCurve& candidate : population) extent.add(candidate.fitness);
    return extent;
}

QColor CurvePicture::fitnessColor(double share) const {
    static QCPColorGradient gradient = viridis(Qt::gray);  // its table is costly to build
    const double low = theme.dark ? 0.25 : 0.0, high = theme.dark ? 1.0 : 0.85;
    return QColor::fromRgb(gradient.color(low + std::clamp(share, 0.0, 1.0) * (high - low), QCPRange(0, 1)));
}

double CurvePicture::handleSize() const {
    return draft.kind == CurveKind::Free ? 6.0 : 10.0;
}

QColor CurvePicture::warning() const {
    return theme.dark ? QColor(0xff, 0x8a, 0x80) : QColor(0xb3, 0x1b, 0x1b);
}

CurveItem::CurveItem(QCustomPlot* plot, QCPAxisRect* panel, const CurvePicture& picture, const QString& layer)
    : QCPAbstractItem(plot), m_picture(picture), m_panel(panel) {
    setClipAxisRect(panel);
    setClipToAxisRect(true);
    setSelectable(false);
    setLayer(layer);
}

QPointF CurveItem::pixel(double layer, double scale) const {
    return {m_panel->axis(QCPAxis::atBottom)->coordToPixel(layer), m_panel->axis(QCPAxis::atLeft)->coordToPixel(scale)};
}

QPointF CurveItem::pixel(const ControlPoint& point) const {
    return pixel(point.x * m_picture.span(), point.y);
}

QPolygonF CurveItem::overLayers(const std::vector<double>& scales) const {
    QPolygonF polygon;
    for (std::size_t layer = 0; layer < scales.size(); ++layer) {
        polygon << pixel(static_cast<double>(layer), scales[layer]);
    }
    return polygon;
}

void RulesItem::draw(QCPPainter* painter) {
    const Theme& theme = m_picture.theme;
    const curve::Constraints& rules = m_picture.draft.constraints;
    const QRectF room = m_panel->rect();
    const auto across = [&](double scale) {
        const double y = pixel(0, scale).y();
        if (y > room.top() && y < room.bottom()) painter->drawLine(QLineF(room.left(), y, room.right(), y));
    };
    painter->setAntialiasing(false);
    if (std::isfinite(rules.scaleMin) && std::isfinite(rules.scaleMax) && rules.scaleMin <= rules.scaleMax) {
        // Lines closer than 4 px would be a grey area.
        const double step = rules.gridStep.value_or(0.0);
        if (std::isfinite(step) && step > 0.0 && pixel(0, 0).y() - pixel(0, step).y() >= 4.0) {
            const QCPRange shown = m_panel->axis(QCPAxis::atLeft)->range();
            const double low = std::max(shown.lower, rules.scaleMin), high = std::min(shown.upper, rules.scaleMax);
            painter->setPen(QPen(theme.fineGrid, theme.axisWidth));
            for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9; k += 1.0) across(k * step);
        }
        painter->setPen(Qt::NoPen);
        painter->setBrush(theme.forbidden);
        const double top = std::clamp(pixel(0, rules.scaleMax).y(), room.top(), room.bottom());
        const double bottom = std::clamp(pixel(0, rules.scaleMin).y(), room.top(), room.bottom());
        painter->drawRect(QRectF(room.topLeft(), QPointF(room.right(), top)));
        painter->drawRect(QRectF(QPointF(room.left(), bottom), room.bottomRight()));
    }
    painter->setPen(QPen(theme.mutedText, theme.axisWidth));
    across(1.0);
}

void PopulationItem::draw(QCPPainter* painter) {
    const Extent fitness = m_picture.fitness();
    painter->setAntialiasing(m_picture.population.size() <= kManyCandidates);
    painter->setBrush(Qt::NoBrush);
    const double alpha = m_picture.population.size() > 60 ? 0.3 : 0.4;
    for (const PopulationCurve& candidate : m_picture.population) {
        QColor color = m_picture.theme.mutedText;
        if (std::isfinite(candidate.fitness)) {
            const double range = fitness.high - fitness.low;
            color = m_picture.fitnessColor(range > 0.0 ? (candidate.fitness - fitness.low) / range : 0.5);
        }
        color.setAlphaF(static_cast<float>(alpha));
        // One pixel of the device: faint, and a wider one takes ten times as long on a screen of 200 %.
        QPen pen(color, 1.0);
        pen.setCosmetic(true);
        painter->setPen(pen);
        painter->drawPolyline(overLayers(candidate.scales));
    }
}

void GhostsItem::draw(QCPPainter* painter) {
    const std::vector<SeriesStyle> styles = m_picture.ghostStyles();
    const double spacing = pixel(1, 1).x() - pixel(0, 1).x();
    const auto every = static_cast<qsizetype>(std::ceil(14.0 / std::max(spacing, 0.1)));
    painter->setAntialiasing(true);
    for (std::size_t i = 0; i < m_picture.ghosts.size(); ++i) {
        const QPolygonF line = overLayers(m_picture.ghosts[i].scales);
        painter->setPen(styles[i].pen);
        painter->setBrush(Qt::NoBrush);
        painter->drawPolyline(line);
        QCPScatterStyle marker = styles[i].marker;
        marker.setSize(m_picture.theme.markerSize * 0.75);
        marker.applyTo(painter, styles[i].pen);
        for (qsizetype layer = 0; layer < line.size(); layer += every) marker.drawShape(painter, line[layer]);
    }
}

void DraftItem::draw(QCPPainter* painter) {
    const SeriesStyle style = m_picture.currentStyle();
    painter->setAntialiasing(true);
    drawCommitted(painter);
    drawPolygon(painter, style);
    QPolygonF line;
    for (const ControlPoint& point : m_picture.line) line << pixel(point);
    painter->setPen(style.pen);
    painter->setBrush(Qt::NoBrush);
    painter->drawPolyline(line);
    drawDots(painter, style);
    drawHandles(painter, style);
    drawLabel(painter);
    drawProblem(painter);
}

void DraftItem::drawCommitted(QCPPainter* painter) const {
    if (m_picture.committed.empty()) return;
    QPolygonF line;
    for (const ControlPoint& point : m_picture.committed) line << pixel(point);
    QPen dashed(m_picture.theme.mutedText, m_picture.theme.axisWidth);
    dashed.setDashPattern({3, 3});
    painter->setPen(dashed);
    painter->setBrush(Qt::NoBrush);
    painter->drawPolyline(line);
}

void DraftItem::drawPolygon(QCPPainter* painter, const SeriesStyle& style) const {
    // Without a curve the polygon shows where the points are; beside straight lines it would only repeat them.
    if (m_picture.problem.isEmpty() && m_picture.draft.kind != CurveKind::Bezier) return;
    QColor faint = m_picture.problem.isEmpty() ? style.color : m_picture.warning();
    faint.setAlphaF(0.75F);
    QPen dashed(faint, m_picture.theme.axisWidth);
    dashed.setDashPattern({4, 4});
    QPolygonF polygon;
    for (const ControlPoint& point : m_picture.draft.points) {
        if (finite(point)) polygon << pixel(point);
    }
    painter->setPen(dashed);
    painter->setBrush(Qt::NoBrush);
    painter->drawPolyline(polygon);
}

void DraftItem::drawDots(QCPPainter* painter, const SeriesStyle& style) const {
    const QPolygonF dots = overLayers(m_picture.scales);
    const double spacing = pixel(1, 1).x() - pixel(0, 1).x();
    const double size = std::clamp(spacing * 0.6, 2.0, m_picture.draft.kind == CurveKind::Free ? 3.5 : 5.0);
    painter->setPen(Qt::NoPen);
    painter->setBrush(style.color);
    for (const QPointF& dot : dots) painter->drawEllipse(dot, size / 2, size / 2);
    if (m_picture.hoveredLayer >= 0 && m_picture.hoveredLayer < dots.size()) {
        painter->setPen(QPen(style.color, 1.5));
        painter->setBrush(m_picture.theme.background);
        painter->drawEllipse(dots[m_picture.hoveredLayer], 5.0, 5.0);
        painter->setPen(Qt::NoPen);
        painter->setBrush(style.color);
        painter->drawEllipse(dots[m_picture.hoveredLayer], 2.5, 2.5);
    }
}

void DraftItem::drawHandles(QCPPainter* painter, const SeriesStyle& style) const {
    const std::vector<ControlPoint>& points = m_picture.draft.points;
    const curve::Constraints& rules = m_picture.draft.constraints;
    const bool small = m_picture.draft.kind == CurveKind::Free;
    const double half = m_picture.handleSize() / 2;
    const auto handle = [&](int index) {
        const auto at = static_cast<std::size_t>(index);
        const ControlPoint& point = points[at];
        if (!finite(point)) return;
        const bool wrong = point.y < rules.scaleMin || point.y > rules.scaleMax ||
                           (at > 0 && point.x < points[at - 1].x) || (at == 0 && point.x != 0.0) ||
                           (at + 1 == points.size() && point.x != 1.0);
        const QColor color = wrong ? m_picture.warning() : style.color;
        const bool selected = index == m_picture.selected;
        const double size = half + (index == m_picture.hoveredPoint ? 1.0 : 0.0) + (selected && small ? 1.0 : 0.0);
        const QPointF centre = pixel(point);
        const auto shape = [&](double grown) {
            if (small) {
                painter->drawEllipse(centre, size + grown, size + grown);
            } else {
                painter->drawRect(QRectF(centre.x() - size - grown, centre.y() - size - grown, 2 * (size + grown),
                                         2 * (size + grown)));
            }
        };
        painter->setBrush(Qt::NoBrush);
        if (selected && m_picture.focused) {
            painter->setPen(QPen(color, 1.0));
            shape(3.0);
        }
        painter->setPen(QPen(color, small ? 1.0 : 1.5));
        painter->setBrush(selected ? color : m_picture.theme.background);
        shape(-0.5);
    };
    for (int index = 0; index < static_cast<int>(points.size()); ++index) {
        if (index != m_picture.selected) handle(index);
    }
    if (m_picture.selected >= 0 && m_picture.selected < static_cast<int>(points.size())) handle(m_picture.selected);
}

QRectF DraftItem::freest(const QList<QRectF>& places, const QRectF& room, const QPointF& anchor) const {
    QRectF best;
    double leastHidden = std::numeric_limits<double>::infinity();
    for (QRectF place : places) {
        place.moveLeft(std::max(room.left(), std::min(place.left(), room.right() - place.width())));
        place.moveTop(std::max(room.top(), std::min(place.top(), room.bottom() - place.height())));
        double hidden = place.adjusted(-8, -8, 8, 8).contains(anchor) ? 100.0 : 0.0;
        for (const ControlPoint& point : m_picture.draft.points) {
            if (finite(point) && place.adjusted(-8, -8, 8, 8).contains(pixel(point))) hidden += 1.0;
        }
        if (hidden < leastHidden) {
            leastHidden = hidden;
            best = place;
        }
    }
    return best;
}

void DraftItem::drawLabel(QCPPainter* painter) const {
    if (m_picture.label.isEmpty()) return;
    const Theme& theme = m_picture.theme;
    const QFont font = theme.font(-1);
    const QRectF room = QRectF(m_panel->rect()).adjusted(2, 2, -2, -2);
    const QStringList lines = wrapText(m_picture.label, font, std::max(room.width() - 12.0, 40.0));
    const QSizeF size = boxSize(lines, font);
    const QPointF from = pixel(m_picture.labelAt.x(), m_picture.labelAt.y());
    // Above to the right first: the pointer's arrow hangs down.
    QList<QRectF> places;
    for (const double y : {from.y() - 10.0 - size.height(), from.y() + 16.0}) {
        for (const double x : {from.x() + 10.0, from.x() - 10.0 - size.width(), from.x() - size.width() / 2}) {
            places << QRectF(QPointF(x, y), size);
        }
    }
    const QRectF box = freest(places, room, from);
    drawBox(painter, box, lines, font, theme.background, theme.axis, theme.text);
}

void DraftItem::drawProblem(QCPPainter* painter) const {
    const bool empty = m_picture.draft.points.empty();
    if ((m_picture.problem.isEmpty() && !empty) || (empty && m_picture.readOnly)) return;
    const Theme& theme = m_picture.theme;
    const QFont font = theme.font();
    const QRectF room = QRectF(m_panel->rect()).adjusted(8, 8, -8, -8);
    const QString words = empty ? QStringLiteral("No curve to edit yet.") : m_picture.problem;
    const QStringList lines = wrapText(words, font, std::max(room.width() - 12.0, 40.0));
    const QColor color = empty ? theme.mutedText : m_picture.warning();
    const QSizeF size = boxSize(lines, font);
    QList<QRectF> places;
    for (const double y : {room.top(), room.bottom() - size.height()}) {
        for (const double x : {room.left(), room.right() - size.width(), room.center().x() - size.width() / 2}) {
            places << QRectF(QPointF(x, y), size);
        }
    }
    drawBox(painter, freest(places, room, QPointF(-1e6, -1e6)), lines, font, theme.background, color, color);
}

}  // namespace lpes::widgets
