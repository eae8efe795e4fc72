#pragma once

#include <QColor>
#include <QIcon>
#include <QPalette>
#include <QPixmap>

namespace lpes::widgets {

/// What a colour says. It never says it alone: a word or a shape stands beside it.
enum class Meaning { Good, Active, Waiting, Warning, Error, Muted };

/// Readable as text (contrast at least 4.5 : 1) on the palette's window and base colours, light or dark.
[[nodiscard]] QColor semanticColor(const QPalette& palette, Meaning meaning);
[[nodiscard]] bool isDark(const QPalette& palette);

/// WCAG 2.1 contrast ratio of two opaque colours, 1 … 21.
[[nodiscard]] double contrastRatio(const QColor& a, const QColor& b);

/// Small filled shapes, drawn for the colour at hand so that they are seen on dark and light grounds.
enum class Shape { Play, Pause, Resume, Stop, Disc, Ring, Half, Cross, Triangle };
[[nodiscard]] QIcon shapeIcon(Shape shape, const QColor& color, const QColor& disabled);
[[nodiscard]] QPixmap shapePixmap(Shape shape, const QColor& color, int logicalSize);

}  // namespace lpes::widgets
