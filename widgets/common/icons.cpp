#include "widgets/common/icons.h"

#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPalette>

namespace lpes::widgets {

namespace {

/// On a square of 16 × 16.
QPainterPath pathOf(Sign sign) {
    QPainterPath path;
    const auto triangle = [&](double x, double width) {
        path.addPolygon(QPolygonF({{x, 3}, {x + width, 8}, {x, 13}, {x, 3}}));
    };
    const auto arrow = [&](bool left) {
        // A bow with its head: three quarters of a circle would not be told apart at this size.
        QPainterPath bow;
        bow.moveTo(left ? 3.5 : 12.5, 6.5);
        bow.cubicTo(left ? 7 : 9, 3.5, left ? 14 : 2, 5, left ? 12.5 : 3.5, 12.5);
        QPainterPathStroker stroke;
        stroke.setWidth(1.8);
        stroke.setCapStyle(Qt::RoundCap);
        path = stroke.createStroke(bow);
        path.addPolygon(left ? QPolygonF({{1.5, 7}, {7, 8.5}, {3.8, 2.8}, {1.5, 7}})
                             : QPolygonF({{14.5, 7}, {9, 8.5}, {12.2, 2.8}, {14.5, 7}}));
        path.setFillRule(Qt::WindingFill);
    };
    switch (sign) {
        case Sign::Start:
            triangle(4, 9);
            break;
        case Sign::Resume:
            path.addRect(2.5, 3, 2.2, 10);
            triangle(6.5, 7.5);
            break;
        case Sign::Pause:
            path.addRect(3.5, 3, 3.2, 10);
            path.addRect(9.3, 3, 3.2, 10);
            break;
        case Sign::Stop:
            path.addRect(3.5, 3.5, 9, 9);
            break;
        case Sign::Undo:
            arrow(true);
            break;
        case Sign::Redo:
            arrow(false);
            break;
        case Sign::Open:
            path.addPolygon(
                QPolygonF({{1.5, 3}, {6, 3}, {7.5, 4.8}, {13, 4.8}, {13, 6.3}, {4, 6.3}, {1.5, 12}, {1.5, 3}}));
            path.addPolygon(QPolygonF({{4.6, 7.3}, {15.2, 7.3}, {12.6, 13}, {2.1, 13}, {4.6, 7.3}}));
            break;
        case Sign::Save:
            path.addRect(2, 12, 12, 1.8);
            path.addRect(7.1, 2, 1.8, 5.5);
            path.addPolygon(QPolygonF({{4, 6.5}, {12, 6.5}, {8, 10.8}, {4, 6.5}}));
            path.setFillRule(Qt::WindingFill);
            break;
    }
    return path;
}

class SignEngine : public QIconEngine {
  public:
    explicit SignEngine(Sign sign) : m_sign(sign) {}
    QIconEngine* clone() const override { return new SignEngine(m_sign); }
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        const QPalette palette = QGuiApplication::palette();
        const auto group = mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active;
        const double side = std::min(rect.width(), rect.height());
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->translate(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2);
        painter->scale(side / 16.0, side / 16.0);
        painter->fillPath(pathOf(m_sign), palette.color(group, QPalette::ButtonText));
        painter->restore();
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap picture(size);
        picture.fill(Qt::transparent);
        QPainter painter(&picture);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return picture;
    }

  private:
    const Sign m_sign;
};

}  // namespace

QIcon signIcon(Sign sign) {
    return QIcon(new SignEngine(sign));
}

}  // namespace lpes::widgets
