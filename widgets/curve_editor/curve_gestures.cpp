#include "widgets/curve_editor/curve_gestures.h"

#include <algorithm>
#include <cmath>

namespace lpes::widgets {
namespace {

using curve::ControlPoint;

constexpr double kDragThreshold = 4.0;
constexpr double kNudge = 0.01, kCoarseNudge = 0.1;
constexpr double kSnapsPerUnit = 20.0;  // Ctrl snaps to 0.05

// 1.34 + 0.01 as it is meant: without the last bits' noise.
double withoutNoise(double value) {
    return std::round(value * 1e9) / 1e9;
}

bool allFinite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace

void CurveEditor::Impl::arrange() {
    scene.setWidth(q.width());
    q.setViewport(q.rect());
    q.updateLayout();
    // A label changes the margins, and these the length that the labels have to fit.
    for (int pass = 0; pass < 2; ++pass) {
        scene.chooseLabels();
        q.updateLayout();
    }
}

void CurveEditor::Impl::rebuild() {
    scene.build(q.width());
    arrange();
    q.replot(rpQueuedReplot);
}

void CurveEditor::Impl::refresh() {
    if (active()) {
        refreshPending = true;
        return;
    }
    refreshPending = false;
    scene.refresh();
    arrange();
    q.replot(rpQueuedReplot);
}

void CurveEditor::Impl::takeDrawable() {
    const auto layers = static_cast<std::size_t>(picture().layers);
    picture().ghosts.clear();
    for (const GhostCurve& ghost : ghosts) {
        if (ghost.scales.size() == layers && allFinite(ghost.scales)) picture().ghosts.push_back(ghost);
    }
    picture().population.clear();
    for (const PopulationCurve& candidate : population) {
        if (candidate.scales.size() == layers && allFinite(candidate.scales)) {
            picture().population.push_back(candidate);
        }
    }
    // The best on top, failures below.
    std::stable_sort(picture().population.begin(), picture().population.end(),
                     [](const PopulationCurve& a, const PopulationCurve& b) {
                         const bool known = std::isfinite(b.fitness);
                         if (!std::isfinite(a.fitness)) return known;
                         return known && a.fitness < b.fitness;
                     });
}

void CurveEditor::Impl::show(const CurveDraft& draft) {
    picture().draft = draft;
    picture().update();
}

void CurveEditor::Impl::describe() {
    const int selected = picture().selected;
    q.setAccessibleDescription(selected < 0 ? QStringLiteral("No control point is selected; Tab chooses the next one.")
                                            : scene.wordsOfPoint(selected));
}

void CurveEditor::Impl::preview(const CurveDraft& draft) {
    if (draft == picture().draft) return;
    show(draft);
    if (gesture == Gesture::Dragging) label(point);
    describe();
    scene.replotCurve();
    Q_EMIT q.draftPreviewed(draft);
}

void CurveEditor::Impl::commit() {
    const bool changed = active() && before != picture().draft;
    stop();
    if (!changed) return;
    // Copies: a receiver may set another draft before the next one is told.
    const CurveDraft from = before, to = picture().draft;
    Q_EMIT q.draftCommitted(from, to, QString(QStringLiteral("move point ") % QString::number(point)));
}

void CurveEditor::Impl::abandon() {
    if (active()) {
        show(before);
        stop();
        describe();
        Q_EMIT q.draftAbandoned();
    } else {
        stop();
    }
}

void CurveEditor::Impl::stop() {
    const bool wasActive = active();
    gesture = Gesture::None;
    keyRest.stop();
    picture().label.clear();
    picture().committed.clear();
    if (wasActive) scene.replotCurve();
    if (refreshPending) refresh();
}

void CurveEditor::Impl::label(int index) {
    const ControlPoint& at = picture().draft.points[static_cast<std::size_t>(index)];
    picture().label = scene.wordsOfPoint(index);
    picture().labelAt = {at.x * picture().span(), at.y};
}

void CurveEditor::Impl::replace(const CurveDraft& after, const QString& what) {
    const CurveDraft old = picture().draft;
    show(after);
    describe();
    refresh();
    Q_EMIT q.draftCommitted(old, after, what);
}

void CurveEditor::Impl::select(int index) {
    if (index == picture().selected) return;
    if (gesture != Gesture::None) commit();
    picture().selected = index;
    describe();
    scene.replotCurve();
    Q_EMIT q.pointSelected(index);
}

void CurveEditor::Impl::press(int index, const QPointF& pixel) {
    select(index);
    gesture = Gesture::Pressed;
    before = picture().draft;
    point = index;
    pressedAt = pixel;
}

void CurveEditor::Impl::drag(const QMouseEvent& event) {
    const QPointF delta = event.position() - pressedAt;
    if (gesture == Gesture::Pressed) {
        if (readOnly || std::hypot(delta.x(), delta.y()) <= kDragThreshold) return;
        gesture = Gesture::Dragging;
        picture().committed = picture().line;
        picture().hoveredLayer = picture().hoveredPoint = -1;
    }
    const ControlPoint start = before.points[static_cast<std::size_t>(point)];
    ControlPoint wanted = scene.fromPixel(scene.toPixel(start) + delta);
    // Back where it was means exactly there, not there but for the rounding of a pixel.
    if (std::abs(delta.x()) < 0.5) wanted.x = start.x;
    if (std::abs(delta.y()) < 0.5) wanted.y = start.y;
    if ((event.modifiers() & Qt::ControlModifier) != 0) {
        wanted.y = std::round(wanted.y * kSnapsPerUnit) / kSnapsPerUnit;
        if (picture().layers > 1) wanted.x = std::round(wanted.x * picture().span()) / picture().span();
    }
    if ((event.modifiers() & Qt::ShiftModifier) != 0) {
        if (std::abs(delta.x()) > std::abs(delta.y())) {
            wanted.y = start.y;
        } else {
            wanted.x = start.x;
        }
    }
    // From the start each time: what one step clamps must not stay with the next.
    preview(withPointMoved(before, point, wanted));
}

void CurveEditor::Impl::nudge(int key, bool coarse) {
    const int index = picture().selected;
    if (gesture != Gesture::Keys) {
        before = picture().draft;
        point = index;
        gesture = Gesture::Keys;
        picture().committed = picture().line;
    }
    ControlPoint wanted = picture().draft.points[static_cast<std::size_t>(index)];
    const double step = coarse ? kCoarseNudge : kNudge;
    if (key == Qt::Key_Up) wanted.y = withoutNoise(wanted.y + step);
    if (key == Qt::Key_Down) wanted.y = withoutNoise(wanted.y - step);
    if (picture().layers > 1 && (key == Qt::Key_Left || key == Qt::Key_Right)) {
        const double layer = withoutNoise(wanted.x * picture().span()) + (key == Qt::Key_Right ? 1.0 : -1.0);
        wanted.x = layer / picture().span();
    }
    keyRest.start();
    preview(withPointMoved(picture().draft, index, wanted));
}

void CurveEditor::Impl::hover(const QPointF& pixel) {
    const int handle = scene.pointAt(pixel), layer = scene.layerAt(pixel);
    QString words = scene.readoutAt(pixel);
    const bool onPlot = QRectF(scene.panel()->rect()).contains(pixel);
    if (!onPlot) words.clear();
    const bool dot = onPlot && layer >= 0 && words == scene.wordsOfLayer(layer);
    const bool changed = picture().hoveredPoint != (onPlot ? handle : -1) ||
                         picture().hoveredLayer != (dot ? layer : -1) || picture().label != words;
    picture().hoveredPoint = onPlot ? handle : -1;
    picture().hoveredLayer = dot ? layer : -1;
    picture().label = words;
    if (dot) {
        picture().labelAt = {static_cast<double>(layer), picture().scales[static_cast<std::size_t>(layer)]};
    } else {
        const ControlPoint at = scene.fromPixel(pixel);
        picture().labelAt = {at.x * picture().span(), at.y};
    }
    if (changed) scene.replotCurve();
    setReadout(words.isEmpty() ? scene.coordinatesAt(pixel) : words);
    if (handle < 0 || readOnly) {
        q.unsetCursor();
    } else {
        const bool upright = handle == 0 || handle == count() - 1 || picture().draft.kind == curve::CurveKind::Free;
        q.setCursor(upright ? Qt::SizeVerCursor : Qt::SizeAllCursor);
    }
}

void CurveEditor::Impl::unhover() {
    const bool shown = picture().hoveredPoint >= 0 || picture().hoveredLayer >= 0 || !picture().label.isEmpty();
    picture().hoveredPoint = picture().hoveredLayer = -1;
    picture().label.clear();
    if (shown) scene.replotCurve();
    setReadout({});
}

void CurveEditor::Impl::setReadout(const QString& words) {
    if (words == readout) return;
    readout = words;
    Q_EMIT q.readoutChanged(words);
}

}  // namespace lpes::widgets
