#include "widgets/plots/header_element.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace lpes::widgets {
namespace {

constexpr double kSampleWidth = 26.0, kSampleGap = 5.0, kEntryGap = 16.0;

}  // namespace

bool HeaderElement::Entry::hasSample() const {
    return line.style() != Qt::NoPen || patch.style() != Qt::NoBrush || !marker.isNone();
}

QStringList wrapText(const QString& text, const QFont& font, double width) {
    const QFontMetricsF metrics(font);
    QStringList lines;
    for (const QString& paragraph : text.split(QLatin1Char('\n'))) {
        QString line;
        for (QString word : paragraph.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
            const QString longer = line.isEmpty() ? word : QString(line % QLatin1Char(' ') % word);
            if (metrics.horizontalAdvance(longer) <= width) {
                line = longer;
                continue;
            }
            if (!line.isEmpty()) lines << line;
            while (word.size() > 1 && metrics.horizontalAdvance(word) > width) {
                qsizetype fits = 1;
                while (fits < word.size() && metrics.horizontalAdvance(word.left(fits + 1)) <= width) ++fits;
                lines << word.left(fits);
                word = word.mid(fits);
            }
            line = word;
        }
        if (!line.isEmpty()) lines << line;
    }
    return lines;
}

HeaderElement::HeaderElement(QCustomPlot* plot, const Theme& theme) : QCPLayoutElement(plot), m_theme(theme) {
    setMargins(QMargins(0, 0, 0, 0));
    setAutoMargins(QCP::msNone);
}

void HeaderElement::setTitle(const QString& title, const QString& subtitle) {
    m_title = title;
    m_subtitle = subtitle;
}

void HeaderElement::addLines(const QString& text, const QFont& font, const QColor& color, double& y, int width) {
    const QFontMetricsF metrics(font);
    for (const QString& line : wrapText(text, font, width)) {
        m_lines.push_back({line, font, color, QPointF(0, y + metrics.ascent())});
        y += metrics.height();
    }
}

void HeaderElement::setWidth(int width) {
    m_lines.clear();
    m_samples.clear();
    double y = 0.0;
    addLines(m_title, m_theme.font(2, true), m_theme.text, y, width);
    addLines(m_subtitle, m_theme.font(-1), m_theme.mutedText, y, width);

    const QFont font = m_theme.font(-1);
    const QFontMetricsF metrics(font);
    double x = 0.0, rowHeight = 0.0;
    if (!m_entries.empty() && y > 0.0) y += 5.0;
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        const bool sample = m_entries[i].hasSample();
        const double textLeft = sample ? kSampleWidth + kSampleGap : 0.0;
        const QStringList lines = wrapText(m_entries[i].text, font, std::max(20.0, width - textLeft));
        double textWidth = 0.0;
        for (const QString& line : lines) textWidth = std::max(textWidth, metrics.horizontalAdvance(line));
        if (x > 0.0 && x + textLeft + textWidth > width) {
            x = 0.0;
            y += rowHeight;
            rowHeight = 0.0;
        }
        m_samples.push_back({i, QRectF(x, y, kSampleWidth, metrics.height())});
        for (qsizetype k = 0; k < lines.size(); ++k) {
            m_lines.push_back(
                {lines[k], font, sample ? m_theme.text : m_theme.mutedText,
                 QPointF(x + textLeft, y + static_cast<double>(k) * metrics.height() + metrics.ascent())});
        }
        rowHeight =
            std::max(rowHeight, static_cast<double>(std::max<qsizetype>(1, lines.size())) * metrics.height() + 1);
        x += textLeft + textWidth + kEntryGap;
    }
    m_height = static_cast<int>(std::ceil(y + rowHeight)) + 4;
}

void HeaderElement::draw(QCPPainter* painter) {
    const QPointF origin = outerRect().topLeft();
    for (const Sample& sample : m_samples) {
        const Entry& entry = m_entries[sample.entry];
        const QRectF box = sample.box.translated(origin);
        if (entry.patch.style() != Qt::NoBrush) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(entry.patch);
            painter->drawRect(box.adjusted(2, 2.5, -2, -2.5));
        }
        if (entry.line.style() != Qt::NoPen) {
            painter->setPen(entry.line);
            painter->setBrush(Qt::NoBrush);
            painter->drawLine(QLineF(box.left(), box.center().y(), box.right(), box.center().y()));
        }
        if (!entry.marker.isNone()) {
            entry.marker.applyTo(painter, entry.line);
            entry.marker.drawShape(painter, box.center());
        }
    }
    for (const Line& line : m_lines) {
        painter->setFont(line.font);
        painter->setPen(QPen(line.color));
        painter->drawText(origin + line.baseline, line.text);
    }
}

}  // namespace lpes::widgets
