#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/plots/plot_view.h"

namespace lpes::widgets {

const Readout* PlotView::nearestTo(const QPointF& pixel) const {
    constexpr double kReach = 14.0;
    const Readout* nearest = nullptr;
    double best = kReach;
    for (const Readout& readout : m_readouts) {
        const bool beside = pixel.x() < readout.key->axisRect()->left();
        if (readout.atLabel && !beside) continue;
        const double dx = readout.atLabel ? 0.0 : readout.key->coordToPixel(readout.x) - pixel.x();
        const double dy = readout.value->coordToPixel(readout.y) - pixel.y();
        const double distance = std::hypot(dx, dy);
        if (distance < best) {
            best = distance;
            nearest = &readout;
        }
    }
    return nearest;
}

QString PlotView::readoutAt(const QPointF& pixel) const {
    const Readout* nearest = nearestTo(pixel);
    return nearest ? nearest->text : QString();
}

void PlotView::resizeEvent(QResizeEvent* event) {
    // Built again at every size, so that panels and tick labels fit it.
    m_builtWidth = std::max(event->size().width(), 120);
    m_builtHeight = event->size().height();
    QCustomPlot::resizeEvent(event);
    refresh(true);
}

void PlotView::paintEvent(QPaintEvent* event) {
    QCustomPlot::paintEvent(event);
    QPainter painter(this);
    if (m_faded) {
        QColor veil = m_theme.background;
        veil.setAlphaF(0.4F);
        painter.fillRect(rect(), veil);
    }
    if (hasFocus()) {
        painter.setPen(QPen(palette().color(QPalette::Highlight), 1));
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

void PlotView::mousePressEvent(QMouseEvent* event) {
    m_dragging = event->button() == Qt::LeftButton;
    m_pressedAt = event->position();
    QCustomPlot::mousePressEvent(event);
}

void PlotView::mouseReleaseEvent(QMouseEvent* event) {
    // Asked before anything may be drawn anew, told when all is done: whoever picks may change what is shown.
    constexpr double kStill = 4.0;
    const QPointF moved = event->position() - m_pressedAt;
    const bool click = m_dragging && event->button() == Qt::LeftButton && std::hypot(moved.x(), moved.y()) < kStill;
    const Readout* nearest = click ? nearestTo(event->position()) : nullptr;
    const qint64 member = nearest ? nearest->member : 0;
    QCustomPlot::mouseReleaseEvent(event);
    if (event->buttons() == Qt::NoButton) endDrag();
    if (member > 0) Q_EMIT memberPicked(member);
}

void PlotView::hideEvent(QHideEvent* event) {
    // The release may never arrive.
    endDrag();
    QCustomPlot::hideEvent(event);
}

void PlotView::changeRanges(const std::function<QCPRange(const QCPAxis&)>& changed) {
    // Some axes follow others: all new ranges come from the old ones, or these would be changed twice.
    std::vector<std::pair<QCPAxis*, QCPRange>> ranges;
    for (const Home& home : m_home) ranges.emplace_back(home.axis, changed(*home.axis));
    for (const auto& [axis, range] : ranges) axis->setRange(range);
    replot(rpQueuedReplot);
}

void PlotView::zoomBy(double factor) {
    changeRanges([factor](const QCPAxis& axis) {
        const QCPRange range = axis.range();
        if (axis.scaleType() == QCPAxis::stLogarithmic) {
            const double middle = std::sqrt(range.lower * range.upper);
            const double reach = std::pow(range.upper / range.lower, factor / 2.0);
            return QCPRange(middle / reach, middle * reach);
        }
        return QCPRange(range.center() - range.size() * factor / 2.0, range.center() + range.size() * factor / 2.0);
    });
}

void PlotView::panBy(double across, double up) {
    changeRanges([across, up](const QCPAxis& axis) {
        const QCPRange range = axis.range();
        const double by = axis.axisType() == QCPAxis::atBottom ? across : up;
        if (axis.scaleType() == QCPAxis::stLogarithmic) {
            const double shift = std::pow(range.upper / range.lower, by);
            return QCPRange(range.lower * shift, range.upper * shift);
        }
        return QCPRange(range.lower + range.size() * by, range.upper + range.size() * by);
    });
}

void PlotView::keyPressEvent(QKeyEvent* event) {
    constexpr double kStep = 0.1;
    switch (event->key()) {
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            return zoomBy(0.8);
        case Qt::Key_Minus:
            return zoomBy(1.25);
        case Qt::Key_0:
        case Qt::Key_Home:
            return resetZoom();
        case Qt::Key_Left:
            return panBy(-kStep, 0.0);
        case Qt::Key_Right:
            return panBy(kStep, 0.0);
        case Qt::Key_Up:
            return panBy(0.0, kStep);
        case Qt::Key_Down:
            return panBy(0.0, -kStep);
        default:
            QCustomPlot::keyPressEvent(event);
    }
}

void PlotView::mouseMoveEvent(QMouseEvent* event) {
    QCustomPlot::mouseMoveEvent(event);
    if (event->buttons() != Qt::NoButton) return;
    const QString words = readoutAt(event->position());
    if (words.isEmpty()) {
        QToolTip::hideText();
    } else {
        QToolTip::showText(event->globalPosition().toPoint(), words, this);
    }
}

void PlotView::mouseDoubleClickEvent(QMouseEvent* event) {
    m_dragging = false;
    m_waiting = Waiting::Nothing;
    resetZoom();
    event->accept();
}

}  // namespace lpes::widgets
