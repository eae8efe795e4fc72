#pragma once

#include "widgets/plots/plot_builder.h"

namespace lpes::widgets {

/// Range of the map's colours in percent; logarithmic when a few cells would leave the rest dark.
struct ColorRange {
    QCPRange range{0.0, 1.0};
    bool logarithmic = false;
};

/// What the attention plot's full form and its short form for docks are made of. Shares are drawn in percent.
[[nodiscard]] ColorRange colorRange(const analysis::AttentionPlot& data);
void styleColorScale(PlotBuilder& build, QCPColorScale* scale, const ColorRange& colors);
[[nodiscard]] std::size_t recordCount(const analysis::AttentionPlot& data);
[[nodiscard]] bool hasMap(const analysis::AttentionPlot::Position& position);
void styleRecordAxis(PlotBuilder& build, QCPAxisRect* panel, std::size_t records);
/// The mark at the record that holds the answer.
[[nodiscard]] QCPScatterStyle evidenceMark(const Theme& theme);
/// Layer × record of one position.
void drawMap(PlotBuilder& build, QCPAxisRect* panel, const analysis::AttentionPlot::Position& position,
             const ColorRange& colors, QCPColorScale* scale, const QString& name);
/// All series' shares by record at the position with this index; the axis reaches from 0 to 1.2 × highest.
void drawLines(PlotBuilder& build, QCPAxisRect* panel, const analysis::AttentionPlot& data, std::size_t index,
               const std::vector<SeriesStyle>& styles, double highest);

/// One row of panels for a dock that is too low for the full form: the lines, and maps beside them where the width
/// leaves the lines most of the room.
void buildAttentionDock(PlotBuilder& build, const analysis::AttentionPlot& data, double highest);

}  // namespace lpes::widgets
