#include "widgets/plots/attention_parts.h"

#include <algorithm>
#include <cmath>

#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::AttentionPlot;
using Position = AttentionPlot::Position;

constexpr double kPercent = 100.0;

}  // namespace

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

void styleColorScale(PlotBuilder& build, QCPColorScale* scale, const ColorRange& colors) {
    if (colors.logarithmic) {
        scale->setDataScaleType(QCPAxis::stLogarithmic);
        scale->axis()->setTicker(logTicker(colors.range));
    }
    scale->setGradient(viridis(build.theme().grid));
    scale->setDataRange(colors.range);
}

std::size_t recordCount(const AttentionPlot& data) {
    std::size_t records = 0;
    for (const AttentionPlot::Series& series : data.series) {
        for (const Position& position : series.positions) records = std::max(records, position.share.size());
    }
    return records;
}

bool hasMap(const AttentionPlot::Position& position) {
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

}  // namespace lpes::widgets
