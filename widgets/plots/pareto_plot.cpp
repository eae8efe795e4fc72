#include <algorithm>
#include <array>
#include <cmath>

#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::ParetoPlot;

// Colours are drawn in so many classes: a graph for each, not one for every candidate.
constexpr int kClasses = 12;

bool finite(const ParetoPlot::Member& member) {
    return std::isfinite(member.x) && std::isfinite(member.y);
}

QString readoutOf(const ParetoPlot& data, const ParetoPlot::Member& member) {
    QString words =
        member.number > 0
            ? QString(QStringLiteral("number ") % QString::number(member.number) % QStringLiteral(" of the front"))
            : QStringLiteral("dominated");
    if (member.picked) words += QStringLiteral(", picked");
    if (member.baseline) words += QStringLiteral(", the model as it is");
    words +=
        QString(QStringLiteral(" · ") % shortNumber(member.y, 4) % QStringLiteral(" over ") % shortNumber(member.x, 4));
    if (!data.colorLabel.empty()) words += QString(QStringLiteral(" · colour ") % shortNumber(member.color, 4));
    if (member.number > 0) words += QStringLiteral(" · a click takes it into the editor");
    return words;
}

// The colour of a member: by the third objective, or one for all.
class Colors {
  public:
    Colors(PlotBuilder& build, const ParetoPlot& data) : m_gradient(viridis(build.theme().grid)) {
        for (const ParetoPlot::Member& member : data.members) m_extent.add(member.color);
        m_third = !data.colorLabel.empty() && !m_extent.empty();
        if (!m_third) return;
        m_scale =
            build.lower(260) ? build.colorScaleBeside(text(data.colorLabel)) : build.colorScale(text(data.colorLabel));
        m_scale->setGradient(m_gradient);
        m_scale->setDataRange(range());
    }
    [[nodiscard]] bool third() const { return m_third; }
    [[nodiscard]] int classOf(const ParetoPlot::Member& member) const {
        if (!m_third || !std::isfinite(member.color)) return 0;
        const double share = (member.color - range().lower) / range().size();
        return std::clamp(static_cast<int>(share * kClasses), 0, kClasses - 1);
    }
    [[nodiscard]] QColor color(int place) {
        return QColor::fromRgb(m_gradient.color((place + 0.5) / kClasses, QCPRange(0, 1)));
    }

  private:
    [[nodiscard]] QCPRange range() const {
        return m_extent.high > m_extent.low ? QCPRange(m_extent.low, m_extent.high) : m_extent.padded(0.0);
    }

    QCPColorGradient m_gradient;
    Extent m_extent;
    QCPColorScale* m_scale = nullptr;
    bool m_third = false;
};

void drawMembers(PlotBuilder& build, QCPAxisRect* panel, const ParetoPlot& data, Colors& colors,
                 const SeriesStyle& front) {
    const Theme& theme = build.theme();
    std::array<Points, kClasses> dominated, members;
    Points picked, baseline;
    for (const ParetoPlot::Member& member : data.members) {
        if (!finite(member)) continue;
        const auto place = static_cast<std::size_t>(colors.classOf(member));
        (member.number > 0 ? members : dominated)[place].emplace_back(member.x, member.y);
        if (member.picked) picked.emplace_back(member.x, member.y);
        if (member.baseline) baseline.emplace_back(member.x, member.y);
        build.readout(panel, member.x, member.y, readoutOf(data, member), member.number);
    }
    for (int place = 0; place < kClasses; ++place) {
        QColor color = colors.third() ? colors.color(place) : theme.text;
        QColor faint = color;
        faint.setAlphaF(0.35F);
        const QCPScatterStyle small(QCPScatterStyle::ssCircle, Qt::NoPen, QBrush(faint), theme.markerSize * 0.65);
        const QCPScatterStyle large(QCPScatterStyle::ssCircle, QPen(front.color, 1.2),
                                    QBrush(colors.third() ? color : front.color), theme.markerSize * 1.3);
        const auto at = static_cast<std::size_t>(place);
        if (!dominated[at].empty()) build.path(panel, dominated[at], Qt::NoPen, small);
        if (!members[at].empty()) build.path(panel, members[at], Qt::NoPen, large);
    }
    const QCPScatterStyle ring(QCPScatterStyle::ssCircle, QPen(theme.text, 1.6), Qt::NoBrush, theme.markerSize * 2.2);
    const QCPScatterStyle cross(QCPScatterStyle::ssCross, QPen(theme.text, 1.8), Qt::NoBrush, theme.markerSize * 1.6);
    if (!picked.empty()) build.path(panel, picked, Qt::NoPen, ring);
    if (!baseline.empty()) build.path(panel, baseline, Qt::NoPen, cross);
    build.legend(QStringLiteral("front"), Qt::NoPen,
                 QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(front.color, 1.2),
                                 colors.third() ? QBrush(Qt::NoBrush) : QBrush(front.color), theme.markerSize * 1.3));
    QColor faint = theme.text;
    faint.setAlphaF(0.35F);
    build.legend(QStringLiteral("dominated"), Qt::NoPen,
                 QCPScatterStyle(QCPScatterStyle::ssCircle, Qt::NoPen, QBrush(faint), theme.markerSize * 0.65));
    if (!picked.empty()) build.legend(QStringLiteral("picked"), Qt::NoPen, ring);
    if (!baseline.empty()) build.legend(QStringLiteral("the model as it is"), Qt::NoPen, cross);
}

void drawGrowth(PlotBuilder& build, QCPAxisRect* panel, const ParetoPlot& data, const SeriesStyle& style) {
    Points grown;
    Extent generations, volume;
    volume.add(0.0);
    for (const ParetoPlot::Generation& row : data.generations) {
        grown.emplace_back(row.generation, row.hypervolume);
        generations.add(row.generation);
        volume.add(row.hypervolume);
        build.readout(
            panel, row.generation, row.hypervolume,
            QString(QStringLiteral("generation ") % QString::number(row.generation) % QStringLiteral(": hypervolume ") %
                    shortNumber(row.hypervolume, 4) % QStringLiteral(" · front of ") % QString::number(row.frontSize)));
    }
    build.line(panel, grown, style.pen, style.marker);
    panel->axis(QCPAxis::atLeft)->setRange(volume.padded(0.08));
    QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
    bottom->setTicker(QSharedPointer<IntegerTicker>::create());
    bottom->ticker()->setTickCount(build.compact() ? 5 : 8);
    bottom->setRange(generations.low - 0.4, generations.high + 0.4);
}

}  // namespace

void buildPareto(PlotBuilder& build, const ParetoPlot& data) {
    build.title(data.title, data.subtitle);
    Extent x, y;
    int left = 0;
    for (const ParetoPlot::Member& member : data.members) {
        if (!finite(member)) {
            ++left;
            continue;
        }
        x.add(member.x);
        y.add(member.y);
    }
    if (x.empty()) return build.empty(QStringLiteral("no candidate has been evaluated"));
    const std::vector<analysis::SeriesRole> roles{analysis::SeriesRole::Best};
    const SeriesStyle style = seriesStyles(build.theme(), roles).front();
    bool grows = false;
    for (const ParetoPlot::Generation& row : data.generations) grows = grows || std::isfinite(row.hypervolume);
    // A low dock gives the front everything.
    const bool stacked = build.compact();
    grows = grows && !build.lower(stacked ? 480 : 300);
    build.bodyHeight(stacked && grows ? 480 : 320);
    Colors colors(build, data);
    QCPAxisRect* panel = build.panel(0, 0, text(data.xLabel), text(data.yLabel));
    panel->axis(QCPAxis::atBottom)->setRange(x.padded(0.06));
    panel->axis(QCPAxis::atLeft)->setRange(y.padded(0.06));
    drawMembers(build, panel, data, colors, style);
    if (grows) {
        QCPAxisRect* growth =
            build.panel(stacked ? 1 : 0, stacked ? 0 : 1, QStringLiteral("generation"), QStringLiteral("hypervolume"));
        if (stacked) {
            build.rowWeight(0, 2.0);
        } else {
            build.columnWeight(0, 1.8);
        }
        drawGrowth(build, growth, data, style);
    }
    if (left > 0) {
        build.note(counted(left, QStringLiteral("candidate without a finite figure not drawn"),
                           QStringLiteral("candidates without finite figures not drawn")));
    }
}

}  // namespace lpes::widgets
