#include <algorithm>

#include "widgets/plots/attention_parts.h"

namespace lpes::widgets {
namespace {

using analysis::AttentionPlot;
using Position = AttentionPlot::Position;

constexpr double kPercent = 100.0;
constexpr std::size_t kColumns = 4;  // panels beside each other before a new block of rows starts

// One column of panels per evidence position, one row for the lines and one per series for its map; transposed where
// the picture is narrow.
struct Grid {
    std::size_t kinds;
    bool transposed;

    [[nodiscard]] int row(std::size_t position, std::size_t kind) const {
        return static_cast<int>(transposed ? position : position / kColumns * kinds + kind);
    }
    [[nodiscard]] int column(std::size_t position, std::size_t kind) const {
        return static_cast<int>(transposed ? kind : position % kColumns);
    }
};

}  // namespace

void buildAttention(PlotBuilder& build, const AttentionPlot& data) {
    build.title(data.title, data.subtitle);
    Extent shares;
    std::size_t positions = 0;
    bool maps = false;
    for (const AttentionPlot::Series& series : data.series) {
        positions = std::max(positions, series.positions.size());
        for (const Position& position : series.positions) {
            for (const double share : position.share) shares.add(share * kPercent);
            maps = maps || hasMap(position);
        }
    }
    if (shares.empty()) return build.empty(QStringLiteral("no attention has been measured"));
    const double highest = shares.high > 0.0 ? shares.high : 1.0;

    const Theme& theme = build.theme();
    const std::size_t records = recordCount(data);
    const std::vector<SeriesStyle> styles = stylesOf(theme, data.series);
    const Grid grid{maps ? 1 + data.series.size() : 1, build.compact()};
    const int blocks =
        grid.transposed ? static_cast<int>(positions) : static_cast<int>((positions + kColumns - 1) / kColumns);
    const int mapRows = maps && !grid.transposed ? static_cast<int>(data.series.size()) : 0;
    const int height = blocks * (135 + 130 * mapRows) + (maps ? 70 : 25);
    if (build.lower(std::max(height * 7 / 10, 280))) return buildAttentionDock(build, data, highest);
    build.bodyHeight(height);

    const ColorRange colors = colorRange(data);
    QCPColorScale* scale = nullptr;
    if (maps) {
        scale = build.colorScale(QStringLiteral("share of attention by layer (%)"));
        styleColorScale(build, scale, colors);
    }

    for (std::size_t p = 0; p < positions; ++p) {
        const bool first = grid.transposed || p % kColumns == 0;
        const bool lastRow = grid.transposed ? p + 1 == positions : p + kColumns >= positions;
        QCPAxisRect* lines =
            build.panel(grid.row(p, 0), grid.column(p, 0), QString(), first ? QStringLiteral("share (%)") : QString());
        styleRecordAxis(build, lines, records);
        drawLines(build, lines, data, p, styles, highest);
        QString caption;
        for (const AttentionPlot::Series& series : data.series) {
            if (p < series.positions.size() && caption.isEmpty()) {
                const AttentionPlot::Position& position = series.positions[p];
                const QString record = QString(QStringLiteral("record ") % QString::number(position.goldIndex));
                caption = build.compact()
                              ? QString(text(position.label) % QLatin1Char('\n') % record)
                              : QString(text(position.label) % QStringLiteral(" (") % record % QLatin1Char(')'));
            }
        }
        build.caption(lines, caption);
        if (lastRow && (grid.transposed || !maps)) {
            build.label(lines, lines->axis(QCPAxis::atBottom), QStringLiteral("record"));
        }
        if (!grid.transposed && maps) lines->axis(QCPAxis::atBottom)->setTickLabels(false);

        for (std::size_t s = 0; maps && s < data.series.size(); ++s) {
            if (p >= data.series[s].positions.size() || !hasMap(data.series[s].positions[p])) continue;
            const bool bottom = lastRow && (grid.transposed || s + 1 == data.series.size());
            const QString name = text(data.series[s].name);
            QCPAxisRect* panel = build.panel(
                grid.row(p, 1 + s), grid.column(p, 1 + s), bottom ? QStringLiteral("record") : QString(),
                first && (s == 0 || !grid.transposed)
                    ? (data.series.size() > 1 && !grid.transposed ? QString(QStringLiteral("layer · ") % name)
                                                                  : QStringLiteral("layer"))
                    : QString());
            styleRecordAxis(build, panel, records);
            if (!bottom && !grid.transposed) panel->axis(QCPAxis::atBottom)->setTickLabels(false);
            if (grid.transposed) {
                build.caption(panel, name);
                if (s > 0) panel->axis(QCPAxis::atLeft)->setTickLabels(false);
            }
            drawMap(build, panel, data.series[s].positions[p], colors, scale, name);
        }
    }
    for (std::size_t s = 0; s < data.series.size(); ++s) {
        build.legend(text(data.series[s].name), styles[s].pen, styles[s].marker);
    }
    build.legend(QStringLiteral("the record that holds the answer"), Qt::NoPen, evidenceMark(theme));
}

}  // namespace lpes::widgets
