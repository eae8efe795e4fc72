#pragma once

#include <QColor>
#include <QFont>
#include <span>
#include <vector>

#include "core/analysis/plot_data.h"
#include "widgets/plots/qcustomplot_shim.h"

namespace lpes::widgets {

/// Colours, sizes and line widths of all plots. Sizes are in logical pixels of 1/96 inch. A value; any thread that may
/// use QFont.
struct Theme {
    bool dark = false;
    QColor background, text, mutedText, axis, grid, fineGrid, forbidden;
    QString family;          ///< font of every text
    int textPx = 11;         ///< axis labels and legend; tick labels are one smaller, the title two larger
    double dataWidth = 1.0;  ///< data lines: 1 on screen (wider pens are many times slower there), thicker in export
    double axisWidth = 1.0;
    double markerSize = 6.0;

    /// For the screen: the application's font.
    [[nodiscard]] static Theme light();
    [[nodiscard]] static Theme night();
    /// For files: DejaVu Sans at 8 pt, lines of 0.4 mm. Where that font is missing, the application's.
    [[nodiscard]] Theme forExport() const;

    [[nodiscard]] QFont font(int extraPx = 0, bool bold = false) const;
};

/// How one series is told apart: by colour (Okabe–Ito), dash and marker, so that it survives a grey print.
struct SeriesStyle {
    QColor color;
    QPen pen;
    QCPScatterStyle marker;
};

/// Baseline grey dashed squares, current blue discs, best vermillion diamonds; other series, and any second one of the
/// same role, take the remaining colours in order, and the colours again with other markers and dashes: fifteen others
/// are told apart.
[[nodiscard]] std::vector<SeriesStyle> seriesStyles(const Theme& theme, std::span<const analysis::SeriesRole> roles);

/// The styles of a plot's series, in their order.
template <class Series>
std::vector<SeriesStyle> stylesOf(const Theme& theme, const std::vector<Series>& series) {
    std::vector<analysis::SeriesRole> roles;
    for (const Series& one : series) roles.push_back(one.role);
    return seriesStyles(theme, roles);
}

/// viridis (van der Walt and Smith 2015, CC0), at nine support points; values that are not finite take `missing`.
[[nodiscard]] QCPColorGradient viridis(const QColor& missing);

}  // namespace lpes::widgets
