#include <algorithm>
#include <cmath>

#include "widgets/plots/attention_parts.h"

namespace lpes::widgets {
namespace {

using analysis::AttentionPlot;
using analysis::SeriesRole;
using Position = AttentionPlot::Position;

// Logical pixels: below these a panel cannot be read.
constexpr int kLoneLine = 240, kLine = 105, kMap = 115, kAxis = 52, kMapAxis = 34, kScale = 62;

// Which positions get a line and which a map, all in one row.
struct Plan {
    std::vector<std::size_t> lines, maps;
};

Plan planFor(int width, std::size_t positions, bool maps) {
    Plan plan;
    const int room = width - kAxis;
    const auto all = static_cast<int>(positions);
    const int lines = std::clamp(room / kLine, 1, all);
    for (int i = 0; i < lines; ++i) {
        plan.lines.push_back(lines == all ? static_cast<std::size_t>(i)
                                          : static_cast<std::size_t>(std::lround(i * (all - 1.0) / (lines - 1.0))));
    }
    if (!maps || lines < all) return plan;
    const int left = room - (all == 1 ? kLoneLine : all * kLine) - kMapAxis - kScale;
    if (left >= all * (kMap + kLine / 2)) {
        plan.maps = plan.lines;
    } else if (left >= kMap) {
        plan.maps = {positions / 2};  // the middle is where evidence is lost
    }
    return plan;
}

// The series whose map is shown where there is room for one: what was changed, not what it is compared with.
const AttentionPlot::Series* mappedSeries(const AttentionPlot& data) {
    const AttentionPlot::Series* chosen = nullptr;
    for (const AttentionPlot::Series& series : data.series) {
        if (!std::any_of(series.positions.begin(), series.positions.end(), hasMap)) continue;
        if (!chosen || series.role != SeriesRole::Baseline) chosen = &series;
    }
    return chosen;
}

const Position* positionAt(const AttentionPlot& data, std::size_t index) {
    for (const AttentionPlot::Series& series : data.series) {
        if (index < series.positions.size()) return &series.positions[index];
    }
    return nullptr;
}

}  // namespace

void buildAttentionDock(PlotBuilder& build, const AttentionPlot& data, double highest) {
    std::size_t positions = 0;
    for (const AttentionPlot::Series& series : data.series) positions = std::max(positions, series.positions.size());
    const AttentionPlot::Series* mapped = mappedSeries(data);
    const Plan plan = planFor(build.width() - 16, positions, mapped != nullptr);
    const std::size_t records = recordCount(data);
    const std::vector<SeriesStyle> styles = stylesOf(build.theme(), data.series);
    const QString record = QStringLiteral("record");
    int column = 0;
    // One line beside its map takes more than half; among several, all panels are alike.
    const double weight = positions == 1 ? 1.7 : 1.0;

    for (const std::size_t index : plan.lines) {
        QCPAxisRect* panel = build.panel(0, column, record, column == 0 ? QStringLiteral("share (%)") : QString());
        build.columnWeight(column, weight);
        styleRecordAxis(build, panel, records);
        panel->axis(QCPAxis::atBottom)->ticker()->setTickCount(plan.lines.size() > 1 ? 3 : 5);
        drawLines(build, panel, data, index, styles, highest);
        if (column > 0) panel->axis(QCPAxis::atLeft)->setTickLabels(false);
        if (const Position* position = positionAt(data, index)) build.caption(panel, text(position->label));
        ++column;
    }
    if (!plan.maps.empty()) {
        const ColorRange colors = colorRange(data);
        QCPColorScale* scale = build.colorScaleBeside(QStringLiteral("share (%)"));
        styleColorScale(build, scale, colors);
        bool first = true;
        for (const std::size_t index : plan.maps) {
            if (index >= mapped->positions.size() || !hasMap(mapped->positions[index])) continue;
            const Position& position = mapped->positions[index];
            QCPAxisRect* panel = build.panel(0, column, record, first ? QStringLiteral("layer") : QString());
            styleRecordAxis(build, panel, records);
            panel->axis(QCPAxis::atBottom)->ticker()->setTickCount(3);
            drawMap(build, panel, position, colors, scale, text(mapped->name));
            if (!first) panel->axis(QCPAxis::atLeft)->setTickLabels(false);
            build.caption(panel, positions == 1
                                     ? text(mapped->name)
                                     : QString(text(position.label) % QStringLiteral(" · ") % text(mapped->name)));
            first = false;
            ++column;
        }
    }
    for (std::size_t s = 0; s < data.series.size(); ++s) {
        build.legend(text(data.series[s].name), styles[s].pen, styles[s].marker);
    }
    build.legend(QStringLiteral("the record that holds the answer"), Qt::NoPen, evidenceMark(build.theme()));
    if (plan.lines.size() < positions) {
        build.note(QString(QString::number(plan.lines.size()) % QStringLiteral(" of ") % QString::number(positions) %
                           QStringLiteral(" positions fit")));
    }
}

}  // namespace lpes::widgets
