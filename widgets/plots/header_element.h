#pragma once

#include <QStringList>
#include <vector>

#include "widgets/plots/theme.h"

namespace lpes::widgets {

/// What stands above the panels: title, subtitle and a legend that flows over as many rows as it needs, so that it
/// never covers data. Nothing is cut off: long texts wrap. Without a title (a pane says it elsewhere) the legend starts
/// at the top. GUI thread only.
class HeaderElement : public QCPLayoutElement {
  public:
    struct Entry {
        QString text;
        QPen line = QPen(Qt::NoPen);
        QBrush patch = QBrush(Qt::NoBrush);
        QCPScatterStyle marker = QCPScatterStyle(QCPScatterStyle::ssNone);
        [[nodiscard]] bool hasSample() const;  ///< false: words alone
    };

    HeaderElement(QCustomPlot* plot, const Theme& theme);

    void setTitle(const QString& title, const QString& subtitle);
    void addEntry(const Entry& entry) { m_entries.push_back(entry); }
    /// Lays everything out for this width.
    void setWidth(int width);
    [[nodiscard]] int height() const { return m_height; }

    [[nodiscard]] QSize minimumOuterSizeHint() const override { return {10, m_height}; }
    [[nodiscard]] QSize maximumOuterSizeHint() const override { return {QWIDGETSIZE_MAX, m_height}; }

  protected:
    void draw(QCPPainter* painter) override;
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(true); }

  private:
    struct Line {
        QString text;
        QFont font;
        QColor color;
        QPointF baseline;  // relative to the element's top left
    };
    struct Sample {
        std::size_t entry;
        QRectF box;
    };
    void addLines(const QString& text, const QFont& font, const QColor& color, double& y, int width);

    Theme m_theme;
    QString m_title, m_subtitle;
    std::vector<Entry> m_entries;
    std::vector<Line> m_lines;
    std::vector<Sample> m_samples;
    int m_height = 0;
};

/// Breaks at spaces, and inside a word that is wider than the line by itself.
[[nodiscard]] QStringList wrapText(const QString& text, const QFont& font, double width);

}  // namespace lpes::widgets
