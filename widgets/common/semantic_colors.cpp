#include "widgets/common/semantic_colors.h"

#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

namespace lpes::widgets {
namespace {

// Drawn four times as large as shown: sharp at every scaling up to 400 %.
constexpr int kOversampling = 4;

double luminance(const QColor& color) {
    const auto linear = [](double channel) {
        return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

void drawShape(QPainter& painter, Shape shape) {  // in a unit square
    switch (shape) {
        case Shape::Play:
            painter.drawPolygon(QPolygonF({{0.2, 0.1}, {0.9, 0.5}, {0.2, 0.9}}));
            break;
        case Shape::Pause:
            painter.drawRect(QRectF(0.2, 0.15, 0.2, 0.7));
            painter.drawRect(QRectF(0.6, 0.15, 0.2, 0.7));
            break;
        case Shape::Resume:
            painter.drawRect(QRectF(0.1, 0.15, 0.16, 0.7));
            painter.drawPolygon(QPolygonF({{0.36, 0.12}, {0.95, 0.5}, {0.36, 0.88}}));
            break;
        case Shape::Stop:
            painter.drawRect(QRectF(0.18, 0.18, 0.64, 0.64));
            break;
        case Shape::Disc:
            painter.drawEllipse(QRectF(0.15, 0.15, 0.7, 0.7));
            break;
        case Shape::Ring:
        case Shape::Half: {
            const QBrush fill = painter.brush();
            painter.setPen(QPen(fill, 0.13));
            painter.setBrush(Qt::NoBrush);
            painter.drawEllipse(QRectF(0.2, 0.2, 0.6, 0.6));
            painter.setPen(Qt::NoPen);
            painter.setBrush(fill);
            if (shape == Shape::Half) painter.drawPie(QRectF(0.2, 0.2, 0.6, 0.6), 90 * 16, 180 * 16);
            break;
        }
        case Shape::Cross:
            painter.setPen(QPen(painter.brush(), 0.19, Qt::SolidLine, Qt::FlatCap));
            painter.drawLine(QLineF(0.2, 0.2, 0.8, 0.8));
            painter.drawLine(QLineF(0.2, 0.8, 0.8, 0.2));
            break;
        case Shape::Triangle:
            painter.drawPolygon(QPolygonF({{0.5, 0.1}, {0.95, 0.88}, {0.05, 0.88}}));
            break;
    }
}

}  // namespace

bool isDark(const QPalette& palette) {
    return luminance(palette.color(QPalette::Base)) < 0.18;
}

double contrastRatio(const QColor& a, const QColor& b) {
    const double first = luminance(a) + 0.05, second = luminance(b) + 0.05;
    return std::max(first, second) / std::min(first, second);
}

QColor semanticColor(const QPalette& palette, Meaning meaning) {
    struct Pair {
        QRgb light, dark;
    };
    constexpr std::array<Pair, 6> kColors{{
        {0xff00664a, 0xff4fd1a5},  // good
        {0xff00568a, 0xff7cc4f2},  // active
        {0xff6b4a00, 0xffe8b64c},  // waiting
        {0xff8a4100, 0xffffab5e},  // warning
        {0xffa31515, 0xffff9a8f},  // error
        {0xff505050, 0xffb4b8be},  // muted
    }};
    const Pair& pair = kColors[static_cast<std::size_t>(meaning)];
    return QColor::fromRgb(isDark(palette) ? pair.dark : pair.light);
}

QPixmap shapePixmap(Shape shape, const QColor& color, int logicalSize) {
    QPixmap pixmap(logicalSize * kOversampling, logicalSize * kOversampling);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(pixmap.width(), pixmap.height());
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    drawShape(painter, shape);
    painter.end();
    pixmap.setDevicePixelRatio(kOversampling);
    return pixmap;
}

QIcon shapeIcon(Shape shape, const QColor& color, const QColor& disabled) {
    QIcon icon(shapePixmap(shape, color, 16));
    icon.addPixmap(shapePixmap(shape, disabled, 16), QIcon::Disabled);
    return icon;
}

}  // namespace lpes::widgets
