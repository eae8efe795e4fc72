#include <algorithm>
#include <cmath>

#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

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

// Range of the map's colours in percent; logarithmic when a few cells would leave the rest dark.
struct ColorRange {
    QCPRange range{0.0, 1.0};
    bool logarithmic = false;
};

ColorRange colorRange(const AttentionPlot& data) {
    std::vector<double> cells;
    for (const AttentionPlot::Series& series : data.series) {
        for (const Position& position : series.positions) {
            for (const std::vector<double>& row : position.shareByLayer) {
                for (const double share : row) {
                    if (std::isfinite(share) && share >= 0.0) cells.push_back(share * kPercent);
                }
            }
        }
    }
    if (cells.empty()) return {};
    std::sort(cells.begin(), cells.end());
    const double highest = cells.back();
    const double median = cells[cells.size() / 2];
    const double low = cells[cells.size() / 50];
    if (highest <= 0.0) return {};
    if (median > 0.0 && highest > 12.0 * median) {
        return {{std::max({low, highest * 1e-4, 1e-12}), highest}, true};
    }
    return {{0.0, highest}, false};
}

std::size_t recordCount(const AttentionPlot& data) {
    std::size_t records = 0;
    for (const AttentionPlot::Series& series : data.series) {
        for (const Position& position : series.positions) records = std::max(records, position.share.size());
    }
    return records;
}

bool hasMap(const Position& position) {
    return !position.shareByLayer.empty() && !position.shareByLayer.front().empty();
}

void styleRecordAxis(PlotBuilder& build, QCPAxisRect* panel, std::size_t records) {
    QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
    bottom->setTicker(QSharedPointer<IntegerTicker>::create(static_cast<double>(records) - 1.0));
    bottom->ticker()->setTickCount(build.compact() ? 3 : 5);
    // Room for the whole evidence mark at the first and the last record.
    const double room = (build.compact() ? 0.04 : 0.015) * static_cast<double>(records);
    bottom->setRange(-0.5 - room, static_cast<double>(records) - 0.5 + room);
}

QCPScatterStyle evidenceMark(const Theme& theme) {
    return {QCPScatterStyle::ssTriangleInverted, QPen(theme.text, theme.axisWidth), QBrush(theme.text),
            theme.markerSize};
}

void drawMap(PlotBuilder& build, QCPAxisRect* panel, const Position& position, const ColorRange& colors,
             QCPColorScale* scale, const QString& name) {
    const auto layers = static_cast<int>(position.shareByLayer.size());
    const auto records = static_cast<int>(position.share.size());
    auto* map = new QCPColorMap(panel->axis(QCPAxis::atBottom), panel->axis(QCPAxis::atLeft));
    map->data()->setSize(records, layers);
    map->data()->setRange(QCPRange(0, std::max(records - 1, 1)), QCPRange(0, std::max(layers - 1, 1)));
    for (int layer = 0; layer < layers; ++layer) {
        const std::vector<double>& row = position.shareByLayer[static_cast<std::size_t>(layer)];
        for (int record = 0; record < records; ++record) {
            const double share = row[static_cast<std::size_t>(record)] * kPercent;
            // Below the scale is its darkest colour: the logarithm of 0 has none.
            map->data()->setCell(record, layer,
                                 std::isfinite(share) ? std::clamp(share, colors.range.lower, colors.range.upper)
                                                      : std::numeric_limits<double>::quiet_NaN());
            build.readout(
                panel, record, layer,
                QString(name % QStringLiteral(": record ") % QString::number(record) % QStringLiteral(", layer ") %
                        QString::number(layer) % QStringLiteral(" · ") % shortNumber(share) % QStringLiteral(" %")));
        }
    }
    map->setInterpolate(false);
    map->setTightBoundary(false);
    map->setAntialiased(false);
    map->setColorScale(scale);
    const double top = layers * 0.09 + 0.3;
    panel->axis(QCPAxis::atLeft)->setRange(-0.5, layers - 0.5 + top);
    panel->axis(QCPAxis::atLeft)->grid()->setVisible(false);
    panel->axis(QCPAxis::atBottom)->grid()->setVisible(false);
    panel->axis(QCPAxis::atLeft)->setTicker(QSharedPointer<IntegerTicker>::create(layers - 1.0));
    panel->axis(QCPAxis::atLeft)->ticker()->setTickCount(4);
    build.line(panel, {{position.goldIndex, layers - 0.5 + top / 2.0}}, Qt::NoPen, evidenceMark(build.theme()));
}

void drawLines(PlotBuilder& build, QCPAxisRect* panel, const AttentionPlot& data, std::size_t index,
               const std::vector<SeriesStyle>& styles, double highest) {
    const Theme& theme = build.theme();
    for (std::size_t s = 0; s < data.series.size(); ++s) {
        if (index >= data.series[s].positions.size()) continue;
        const Position& position = data.series[s].positions[index];
        Points points;
        for (std::size_t record = 0; record < position.share.size(); ++record) {
            points.emplace_back(static_cast<double>(record), position.share[record] * kPercent);
            build.readout(
                panel, static_cast<double>(record), position.share[record] * kPercent,
                QString(text(data.series[s].name) % QStringLiteral(": record ") % QString::number(record) %
                        QStringLiteral(" · ") % shortNumber(position.share[record] * kPercent) % QStringLiteral(" %")));
        }
        QCPScatterStyle marker = styles[s].marker;
        marker.setSize(theme.markerSize * 0.6);
        if (points.size() > 60) marker = QCPScatterStyle(QCPScatterStyle::ssNone);
        build.line(panel, points, styles[s].pen, marker);
        if (s == 0) {
            QPen dotted(theme.mutedText, theme.axisWidth);
            dotted.setDashPattern({2, 3});
            build.vertical(panel, position.goldIndex, dotted, QStringLiteral("grid"));
            build.line(panel, {{position.goldIndex, highest * 1.1}}, Qt::NoPen, evidenceMark(theme));
        }
    }
    panel->axis(QCPAxis::atLeft)->setRange(0.0, highest * 1.2);
    panel->axis(QCPAxis::atLeft)->ticker()->setTickCount(4);
    panel->axis(QCPAxis::atLeft)->setSubTicks(false);
}

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
    const ColorRange colors = colorRange(data);
    QCPColorScale* scale = nullptr;
    if (maps) {
        scale = build.colorScale(QStringLiteral("share of attention by layer (%)"));
        if (colors.logarithmic) {
            scale->setDataScaleType(QCPAxis::stLogarithmic);
            scale->axis()->setTicker(logTicker(colors.range));
        }
        scale->setGradient(viridis(theme.grid));
        scale->setDataRange(colors.range);
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
    const int blocks =
        grid.transposed ? static_cast<int>(positions) : static_cast<int>((positions + kColumns - 1) / kColumns);
    const int mapRows = maps && !grid.transposed ? static_cast<int>(data.series.size()) : 0;
    build.bodyHeight(blocks * (135 + 130 * mapRows) + (maps ? 70 : 25));

    for (std::size_t s = 0; s < data.series.size(); ++s) {
        build.legend(text(data.series[s].name), styles[s].pen, styles[s].marker);
    }
    build.legend(QStringLiteral("the record that holds the answer"), Qt::NoPen, evidenceMark(theme));
}

}  // namespace lpes::widgets
