#include "widgets/curve_editor/curve_editor.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <utility>

#include "widgets/curve_editor/curve_gestures.h"

namespace lpes::widgets {
namespace {

using curve::ControlPoint;

constexpr int kKeyRestMs = 500;

bool isNudge(int key) {
    return key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_Left || key == Qt::Key_Right;
}

bool isOwnKey(int key) {
    return isNudge(key) || key == Qt::Key_Delete || key == Qt::Key_X || key == Qt::Key_Insert || key == Qt::Key_A;
}

bool isModifier(int key) {
    return key == Qt::Key_Shift || key == Qt::Key_Control || key == Qt::Key_Alt || key == Qt::Key_Meta;
}

}  // namespace

CurveEditor::CurveEditor(const Theme& theme, QWidget* parent)
    : QCustomPlot(parent), m(std::make_unique<Impl>(*this, theme)) {
    setLocale(QLocale::c());
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(120, 90);
    setAccessibleName(QStringLiteral("Scale curve over the layers"));
    m->keyRest.setSingleShot(true);
    m->keyRest.setInterval(kKeyRestMs);
    connect(&m->keyRest, &QTimer::timeout, this, [this] { m->commit(); });
    m->rebuild();
    m->describe();
}

CurveEditor::~CurveEditor() = default;

void CurveEditor::setModel(int numLayers, int trainedContext) {
    m->abandon();
    m->picture().layers = std::max(1, numLayers);
    m->picture().trainedContext = trainedContext;
    m->picture().update();
    m->picture().hoveredLayer = -1;
    m->takeDrawable();
    m->scene.build(width());
    m->scene.resetView();
    m->arrange();
    replot(rpQueuedReplot);
}

void CurveEditor::setDraft(const CurveDraft& draft) {
    const bool pending = std::exchange(m->refreshPending, false);
    m->gesture = Impl::Gesture::None;  // what was in progress counts for nothing
    m->stop();
    const CurveDraft old = m->picture().draft;
    m->show(draft);
    if (m->picture().selected >= m->count()) m->picture().selected = -1;
    m->picture().hoveredPoint = m->picture().hoveredLayer = -1;
    m->describe();
    const QCPRange home = m->scene.homeY();
    const bool same =
        old.kind == draft.kind && old.constraints == draft.constraints && !pending && home == m->scene.shownHomeY();
    if (same) {
        m->scene.replotCurve();
    } else {
        m->refresh();
    }
}

const CurveDraft& CurveEditor::draft() const {
    return m->picture().draft;
}

std::vector<double> CurveEditor::scales() const {
    return m->picture().scales;
}

void CurveEditor::setGhosts(std::vector<GhostCurve> ghosts) {
    m->ghosts = std::move(ghosts);
    m->takeDrawable();
    m->refresh();
}

void CurveEditor::setPopulation(std::vector<PopulationCurve> population) {
    m->population = std::move(population);
    m->takeDrawable();
    if (m->active()) m->scene.replotPopulation();
    m->refresh();
}

void CurveEditor::setTheme(const Theme& theme) {
    m->picture().theme = theme;
    m->rebuild();
}

void CurveEditor::setReadOnly(bool readOnly) {
    if (readOnly) m->commit();
    m->readOnly = readOnly;
    m->picture().readOnly = readOnly;
    m->rebuild();
}

int CurveEditor::selectedPoint() const {
    return m->picture().selected;
}

void CurveEditor::selectPoint(int index) {
    m->select(index >= 0 && index < m->count() ? index : -1);
}

bool CurveEditor::inGesture() const {
    return m->active();
}

QString CurveEditor::readoutAt(const QPointF& pixel) const {
    return m->scene.readoutAt(pixel);
}

QPointF CurveEditor::pixelOfPoint(int index) const {
    if (index < 0 || index >= m->count()) return {};
    return m->scene.toPixel(m->picture().draft.points[static_cast<std::size_t>(index)]);
}

analysis::CurvePlot CurveEditor::plotData() const {
    const CurvePicture& picture = m->picture();
    analysis::CurvePlot plot;
    plot.title = "Scale curve";
    plot.trainedContext = picture.trainedContext;
    plot.scaleMin = picture.draft.constraints.scaleMin;
    plot.scaleMax = picture.draft.constraints.scaleMax;
    plot.gridStep = picture.draft.constraints.gridStep.value_or(0.0);
    if (!picture.draft.points.empty()) {
        analysis::CurvePlot::Series current{"current", analysis::SeriesRole::Current, picture.scales, {}, {}};
        for (const ControlPoint& point : picture.draft.points) current.controlPoints.emplace_back(point.x, point.y);
        for (const ControlPoint& point : picture.line) current.line.emplace_back(point.x, point.y);
        plot.series.push_back(std::move(current));
    }
    for (const GhostCurve& ghost : picture.ghosts) {
        plot.series.push_back({ghost.name.toStdString(), ghost.role, ghost.scales, {}, {}});
    }
    return plot;
}

double CurveEditor::lastReplotMs() const {
    return m->scene.lastReplotMs();
}

void CurveEditor::addPoint() {
    m->commit();
    if (m->readOnly) return;
    const std::optional<CurveDraft> more = withPointAdded(m->picture().draft);
    if (!more) return;
    // Points behind the new one have moved up: the same end, or the same neighbour, stays selected.
    const int selected = m->picture().selected;
    const bool last = selected == m->count() - 1 && selected >= 0;
    m->replace(*more, QStringLiteral("add a control point"));
    if (last) m->select(m->count() - 1);
}

void CurveEditor::removeSelectedPoint() {
    m->commit();
    const int index = m->picture().selected;
    if (m->readOnly || index < 0) return;
    if (const auto fewer = withPointRemoved(m->picture().draft, index)) {
        m->replace(*fewer, QString(QStringLiteral("remove point ") % QString::number(index)));
    }
}

void CurveEditor::resetView() {
    m->scene.resetView();
    replot(rpQueuedReplot);
}

bool CurveEditor::event(QEvent* event) {
    switch (event->type()) {
        case QEvent::ShortcutOverride: {
            auto* key = static_cast<QKeyEvent*>(event);
            const bool command = (key->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) != 0;
            // A command (undo above all) finds the nudges done so far committed.
            if (command && !isModifier(key->key()) && m->gesture == Impl::Gesture::Keys) m->commit();
            const bool own = !command && isOwnKey(key->key());
            if (own || (key->key() == Qt::Key_Escape && m->gesture != Impl::Gesture::None)) {
                event->accept();  // single-key shortcuts of the window stay away while the editor has the focus
                return true;
            }
            break;
        }
        case QEvent::FocusIn:
            m->picture().focused = true;
            m->scene.replotCurve();
            break;
        default:
            break;
    }
    return QCustomPlot::event(event);
}

void CurveEditor::resizeEvent(QResizeEvent* event) {
    if (CurveScene::compact(width()) != m->scene.builtCompact()) m->scene.build(width());
    m->arrange();
    QCustomPlot::resizeEvent(event);
}

void CurveEditor::mousePressEvent(QMouseEvent* event) {
    const int point = m->scene.pointAt(event->position());
    if (event->button() != Qt::LeftButton) {
        event->ignore();
        return;
    }
    m->commit();
    if (point < 0) {
        QCustomPlot::mousePressEvent(event);
        return;
    }
    event->accept();
    m->press(point, event->position());
}

void CurveEditor::mouseMoveEvent(QMouseEvent* event) {
    if (m->mouseDown()) {
        m->drag(*event);
        if (m->gesture == Impl::Gesture::Dragging) m->setReadout(m->picture().label);
        event->accept();
        return;
    }
    QCustomPlot::mouseMoveEvent(event);
    if (event->buttons() == Qt::NoButton) {
        m->hover(event->position());
    } else {
        m->unhover();
    }
}

void CurveEditor::mouseReleaseEvent(QMouseEvent* event) {
    if (m->mouseDown()) {
        event->accept();
        if (event->button() != Qt::LeftButton) return;
        m->commit();
        m->hover(event->position());
        return;
    }
    QCustomPlot::mouseReleaseEvent(event);
}

void CurveEditor::mouseDoubleClickEvent(QMouseEvent* event) {
    event->accept();
    if (event->button() == Qt::LeftButton) resetView();
}

void CurveEditor::wheelEvent(QWheelEvent* event) {
    // A zoom would pull the point from under the pointer.
    if (m->mouseDown()) {
        event->accept();
        return;
    }
    QCustomPlot::wheelEvent(event);
}

void CurveEditor::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    const bool command = (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) != 0;
    if (key == Qt::Key_Escape && m->gesture != Impl::Gesture::None) {
        m->abandon();
    } else if (m->mouseDown() && isOwnKey(key)) {
        // One gesture at a time.
    } else if (!command && isNudge(key) && m->picture().selected >= 0 && !m->readOnly) {
        m->nudge(key, (event->modifiers() & Qt::ShiftModifier) != 0);
    } else if (!command && (key == Qt::Key_Delete || key == Qt::Key_X)) {
        removeSelectedPoint();
    } else if (!command && (key == Qt::Key_Insert || key == Qt::Key_A)) {
        addPoint();
    } else {
        QCustomPlot::keyPressEvent(event);
        return;
    }
    event->accept();
}

void CurveEditor::focusOutEvent(QFocusEvent* event) {
    if (m->gesture == Impl::Gesture::Keys) m->commit();
    m->picture().focused = false;
    m->scene.replotCurve();
    QCustomPlot::focusOutEvent(event);
}

void CurveEditor::leaveEvent(QEvent* event) {
    if (!m->mouseDown()) m->unhover();
    QCustomPlot::leaveEvent(event);
}

bool CurveEditor::focusNextPrevChild(bool next) {
    if (m->mouseDown()) return true;
    const int selected = m->picture().selected;
    const int wanted = selected < 0 ? (next ? 0 : m->count() - 1) : selected + (next ? 1 : -1);
    // Beyond either end the focus goes on: the editor is no trap for the keyboard.
    if (wanted < 0 || wanted >= m->count()) return QCustomPlot::focusNextPrevChild(next);
    m->select(wanted);
    return true;
}

}  // namespace lpes::widgets
