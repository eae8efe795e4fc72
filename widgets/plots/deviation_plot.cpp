#include <algorithm>
#include <cmath>

#include "widgets/plots/plot_builder.h"
#include "widgets/plots/tickers.h"

namespace lpes::widgets {
namespace {

using analysis::DeviationPlot;

// A linear axis hides everything but the largest layers once values span more than this.
constexpr double kLogFrom = 20.0;

struct Scale {
    bool logarithmic = false;
    QCPRange range;
};

Scale chooseScale(const DeviationPlot& data) {
    Extent all, positive;
    bool negative = false;
    std::size_t zeros = 0, values = 0;
    for (const DeviationPlot::Series& series : data.series) {
        for (std::size_t layer = 0; layer < series.deviation.size(); ++layer) {
            const double value = series.deviation[layer];
            if (!std::isfinite(value)) continue;
            ++values;
            negative = negative || value < 0.0;
            zeros += value == 0.0;
            all.add(value);
            all.add(series.low[layer]);
            all.add(series.high[layer]);
            if (value > 0.0) positive.add(value);
        }
    }
    // A baseline of exact zeros does not belong on a logarithmic axis: half of the data would vanish below it.
    if (!negative && !positive.empty() && zeros * 4 < values && positive.high / positive.low > kLogFrom) {
        Extent decades;
        decades.add(positive.low);
        decades.add(std::max(positive.high, all.high));
        return {true,
                {std::pow(10.0, std::log10(decades.low) - 0.15), std::pow(10.0, std::log10(decades.high) + 0.12)}};
    }
    all.add(0.0);
    QCPRange range = all.padded(0.05);
    if (all.low >= 0.0) range.lower = -0.02 * range.upper;
    return {false, range};
}

}  // namespace

void buildDeviation(PlotBuilder& build, const DeviationPlot& data) {
    build.title(data.title, data.subtitle);
    std::size_t layers = 0;
    Extent values;
    for (const DeviationPlot::Series& series : data.series) {
        layers = std::max(layers, series.deviation.size());
        for (const double value : series.deviation) values.add(value);
    }
    if (values.empty()) return build.empty(QStringLiteral("no layer's deviation has been measured"));

    const Theme& theme = build.theme();
    QCPAxisRect* panel =
        build.panel(0, 0, QStringLiteral("layer"),
                    build.lower(260) ? QStringLiteral("1 − CKA") : QStringLiteral("structure deviation 1 − CKA"));
    QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
    QCPAxis* left = panel->axis(QCPAxis::atLeft);
    bottom->setTicker(QSharedPointer<IntegerTicker>::create());
    bottom->ticker()->setTickCount(build.compact() ? 6 : 10);
    bottom->setRange(-0.7, static_cast<double>(layers) - 0.3);
    build.bodyHeight(build.compact() ? 220 : 270);

    const Scale scale = chooseScale(data);
    if (scale.logarithmic) {
        left->setScaleType(QCPAxis::stLogarithmic);
        panel->axis(QCPAxis::atRight)->setScaleType(QCPAxis::stLogarithmic);
        left->setTicker(QSharedPointer<QCPAxisTickerLog>::create());
        left->setNumberFormat(QStringLiteral("eb"));
        left->setNumberPrecision(0);
    }
    left->setRange(scale.range);

    const std::vector<SeriesStyle> styles = stylesOf(theme, data.series);
    bool banded = false;  // too few prompts have no interval worth the name
    for (std::size_t i = 0; i < data.series.size(); ++i) {
        const DeviationPlot::Series& series = data.series[i];
        Points line, low, high;
        for (std::size_t layer = 0; layer < series.deviation.size(); ++layer) {
            const auto x = static_cast<double>(layer);
            const double value = series.deviation[layer];
            const bool drawn = !scale.logarithmic || value > 0.0;
            line.emplace_back(x, drawn ? value : std::numeric_limits<double>::quiet_NaN());
            low.emplace_back(x, std::max(series.low[layer], scale.range.lower));
            high.emplace_back(x, std::max(series.high[layer], scale.range.lower));
            const bool known = std::isfinite(series.low[layer]) && std::isfinite(series.high[layer]);
            banded = banded || known;
            if (drawn) {
                QString words(text(series.name) % QStringLiteral(": layer ") % QString::number(layer) %
                              QStringLiteral(" · ") % shortNumber(value));
                if (known) {
                    words += QString(QStringLiteral(" [") % shortNumber(series.low[layer]) % QStringLiteral(", ") %
                                     shortNumber(series.high[layer]) % QStringLiteral("]"));
                }
                build.readout(panel, x, value, words);
            }
        }
        QColor fill = styles[i].color;
        fill.setAlphaF(theme.dark ? 0.28F : 0.18F);
        build.band(panel, low, high, fill);
        QCPScatterStyle marker = styles[i].marker;
        marker.setSize(theme.markerSize * (build.compact() ? 0.65 : 0.8));
        build.line(panel, line, styles[i].pen, marker);
        build.legend(text(series.name), styles[i].pen, styles[i].marker);
    }
    if (banded) build.legendPatch(QStringLiteral("bands: 95 % bootstrap interval"), QColor(128, 128, 128, 90));
}

}  // namespace lpes::widgets
