#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "widgets/plots/plot_builder.h"

namespace lpes::widgets {
namespace {

using analysis::MethodsPlot;
using Method = MethodsPlot::Method;

constexpr int kRowHeight = 24;

/// One of the panels beside each other.
struct Column {
    QString label, shortLabel, what;
    analysis::Estimate Method::*estimate;
    double reference;  ///< where nothing differs from the first; NaN: there is no such place
};

std::vector<Column> columns() {
    return {{QStringLiteral("mean accuracy"), QStringLiteral("accuracy"), QStringLiteral("mean accuracy"),
             &Method::accuracy, MethodsPlot::kUnknown},
            {QStringLiteral("answer NLL, difference to the first (nats per token; lower is better)"),
             QStringLiteral("Δ answer NLL (nats)"), QStringLiteral("answer NLL, difference to the first"),
             &Method::nllDifference, 0.0},
            {QStringLiteral("time, ratio to the first"), QStringLiteral("time ratio"),
             QStringLiteral("time, ratio to the first"), &Method::timeRatio, 1.0}};
}

QString withInterval(const analysis::Estimate& estimate) {
    QString words = shortNumber(estimate.value);
    if (std::isfinite(estimate.low) && std::isfinite(estimate.high)) {
        words += QString(QStringLiteral(" [") % shortNumber(estimate.low) % QStringLiteral(", ") %
                         shortNumber(estimate.high) % QLatin1Char(']'));
    }
    return words;
}

QString readoutOf(const Method& method, const Column& column, bool first) {
    QStringList words{text(method.name)};
    const analysis::Estimate& value = method.*column.estimate;
    if (std::isfinite(value.value)) {
        words << QString(column.what % QLatin1Char(' ') % withInterval(value));
    } else if (first) {
        words << QStringLiteral("what the others are compared with");
    }
    if (column.estimate == &Method::accuracy && std::isfinite(method.gap.value)) {
        words << QString(QStringLiteral("gap between positions ") % withInterval(method.gap));
    }
    if (column.estimate == &Method::nllDifference) {
        if (std::isfinite(method.pHolm))
            words << QString(QStringLiteral("p = ") % shortNumber(method.pHolm, 2) % QStringLiteral(" (Holm)"));
        if (std::isfinite(method.answerNll.value)) {
            words << QString(QStringLiteral("answer NLL ") % withInterval(method.answerNll));
        }
    }
    if (column.estimate == &Method::timeRatio) {
        if (std::isfinite(method.tokensPerSecond)) {
            words << QString(shortNumber(method.tokensPerSecond) % QStringLiteral(" tokens/s"));
        }
        words << counted(method.passes, QStringLiteral("pass"), QStringLiteral("passes"));
        if (std::isfinite(method.peakBytes)) {
            words << QString(QStringLiteral("peak ") % shortNumber(method.peakBytes / (1024.0 * 1024.0)) %
                             QStringLiteral(" MiB"));
        }
    }
    return words.join(QStringLiteral(" · "));
}

QCPRange rangeOf(const MethodsPlot& data, const Column& column) {
    Extent seen;
    for (const Method& method : data.methods) {
        const analysis::Estimate& value = method.*column.estimate;
        seen.add(value.value);
        seen.add(value.low);
        seen.add(value.high);
    }
    if (!std::isfinite(column.reference)) {
        // A fraction begins at 0, with room for the markers at both ends.
        const double top = std::clamp(seen.empty() ? 1.0 : 1.08 * seen.high, 0.1, 1.0);
        return {-0.03 * top, 1.03 * top};
    }
    seen.add(column.reference);
    return seen.padded(0.08);
}

QSharedPointer<QCPAxisTickerText> namesFor(const PlotBuilder& build, const MethodsPlot& data, double room) {
    const QFontMetricsF metrics(build.theme().font(-1));
    auto ticker = QSharedPointer<QCPAxisTickerText>::create();
    for (std::size_t i = 0; i < data.methods.size(); ++i) {
        ticker->addTick(static_cast<double>(data.methods.size() - 1 - i),
                        metrics.elidedText(text(data.methods[i].name), Qt::ElideMiddle, room));
    }
    return ticker;
}

}  // namespace

void buildMethods(PlotBuilder& build, const MethodsPlot& data) {
    build.title(data.title, data.subtitle);
    std::vector<Column> drawn;
    for (const Column& column : columns()) {
        const bool known = std::any_of(data.methods.begin(), data.methods.end(), [&](const Method& method) {
            return std::isfinite((method.*column.estimate).value);
        });
        if (known) drawn.push_back(column);
    }
    if (drawn.empty()) return build.empty(QStringLiteral("no method has been measured"));

    const Theme& theme = build.theme();
    const auto count = static_cast<int>(data.methods.size());
    // A narrow figure has its panels below each other; a narrow dock, which has no height for that, those that fit.
    const bool stacked = build.compact() && !build.lower(static_cast<int>(drawn.size()) * (count * 15 + 44));
    if (build.compact() && !stacked) drawn.resize(std::min<std::size_t>(drawn.size(), build.width() < 330 ? 1 : 2));
    const int body = count * kRowHeight + 60;
    build.bodyHeight(stacked ? static_cast<int>(drawn.size()) * body : std::max(body, 130));
    const double room = std::clamp((build.compact() ? 0.36 : 0.3) * build.width(), 70.0, 260.0);
    const auto names = namesFor(build, data, room);
    const std::vector<SeriesStyle> styles = stylesOf(theme, data.methods);
    for (std::size_t c = 0; c < drawn.size(); ++c) {
        const Column& column = drawn[c];
        const int place = static_cast<int>(c);
        QCPAxisRect* panel = build.panel(stacked ? place : 0, stacked ? 0 : place,
                                         build.width() < 900 ? column.shortLabel : column.label, QString());
        QCPAxis* left = panel->axis(QCPAxis::atLeft);
        left->setRange(-0.6, count - 0.4);
        left->setTicker(names);
        left->setSubTicks(false);
        left->setTickLabels(stacked || c == 0);
        QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
        bottom->setRange(rangeOf(data, column));
        // As many as have room for a number like −0.025 each.
        const double across = stacked ? build.width() : (build.width() - room) / static_cast<double>(drawn.size());
        bottom->ticker()->setTickCount(std::clamp(static_cast<int>(across / 60.0), 2, 6));
        bottom->setSubTicks(false);
        if (std::isfinite(column.reference)) {
            // Above the grid, whose own line at this place would cover it.
            build.vertical(panel, column.reference, QPen(theme.mutedText, theme.axisWidth * 1.2, Qt::DashLine),
                           QStringLiteral("main"));
        }
        for (std::size_t i = 0; i < data.methods.size(); ++i) {
            const Method& method = data.methods[i];
            analysis::Estimate value = method.*column.estimate;
            // The first one differs from itself by nothing, and has no interval for that.
            if (i == 0 && !std::isfinite(value.value)) value.value = column.reference;
            const double y = static_cast<double>(data.methods.size() - 1 - i);
            build.acrossBar(panel, {value.value, y, value.low, value.high}, styles[i]);
            build.readout(panel, value.value, y, readoutOf(method, column, i == 0));
            if (left->tickLabels()) build.labelReadout(panel, y, text(method.name));
        }
    }
    build.note(QStringLiteral("bars: 95 % intervals; differences and ratios are to the first method"));
}

}  // namespace lpes::widgets
