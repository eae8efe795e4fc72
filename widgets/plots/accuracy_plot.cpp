#include <QFontMetricsF>
#include <QMap>
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "widgets/plots/plot_builder.h"

namespace lpes::widgets {
namespace {

using analysis::AccuracyPlot;
using Series = AccuracyPlot::Series;

// Where the positions stand on the x axis.
struct Places {
    bool byDepth = true;           // false: in the order given, evenly spaced
    QMap<double, QString> labels;  // x → tick label
    double low = 0.0, high = 1.0, closest = 1.0;

    [[nodiscard]] double of(const AccuracyPlot::Point& point, std::size_t index) const {
        return byDepth ? point.relative : static_cast<double>(index);
    }
};

Places placesOf(const std::vector<Series>& series) {
    Places places;
    for (const Series& one : series) {
        std::set<double> seen;
        for (const AccuracyPlot::Point& point : one.points) {
            places.byDepth = places.byDepth && std::isfinite(point.relative) && seen.insert(point.relative).second;
        }
    }
    for (const Series& one : series) {
        for (std::size_t i = 0; i < one.points.size(); ++i) {
            const AccuracyPlot::Point& point = one.points[i];
            places.labels[places.of(point, i)] =
                QString(text(point.label) % QStringLiteral("\nrecord ") % QString::number(point.goldIndex));
        }
    }
    if (!places.labels.isEmpty()) {
        places.low = places.labels.firstKey();
        places.high = places.labels.lastKey();
    }
    const QList<double> keys = places.labels.keys();
    const double size = std::max(places.high - places.low, 1e-9);
    places.closest = size;
    for (qsizetype i = 1; i < keys.size(); ++i) places.closest = std::min(places.closest, keys[i] - keys[i - 1]);
    return places;
}

// Tick labels that would touch their neighbour lose their second line, then every second label goes.
QSharedPointer<QCPAxisTickerText> ticksFor(const PlotBuilder& build, const Places& places, double pixels,
                                           bool oneLine) {
    const QFontMetricsF metrics(build.theme().font(-1));
    const double perUnit = pixels / (std::max(places.high - places.low, 1e-9) * 1.3);
    const auto fits = [&](const QMap<double, QString>& labels) {
        double end = -1e9;
        for (auto it = labels.begin(); it != labels.end(); ++it) {
            double width = 0.0;
            for (const QString& line : it.value().split(QLatin1Char('\n'))) {
                width = std::max(width, metrics.horizontalAdvance(line));
            }
            const double middle = it.key() * perUnit;
            if (middle - width / 2.0 < end + 5.0) return false;
            end = middle + width / 2.0;
        }
        return true;
    };
    QMap<double, QString> labels = places.labels;
    if (oneLine || !fits(labels)) {
        for (QString& label : labels) label = label.section(QLatin1Char('\n'), 0, 0);
    }
    while (labels.size() > 2 && !fits(labels)) {
        QMap<double, QString> fewer;
        qsizetype index = 0;
        for (auto it = labels.begin(); it != labels.end(); ++it, ++index) {
            if (index % 2 == 0) fewer.insert(it.key(), it.value());
        }
        labels = fewer;
    }
    auto ticker = QSharedPointer<QCPAxisTickerText>::create();
    for (auto it = labels.begin(); it != labels.end(); ++it) ticker->addTick(it.key(), it.value());
    return ticker;
}

constexpr std::size_t kManySeries = 4;

/// "n = 40 per position" when that holds for all series: said once instead of in every entry of a long legend.
QString sameItems(const std::vector<Series>& series) {
    std::optional<std::int64_t> same;
    for (const Series& one : series) {
        for (const AccuracyPlot::Point& point : one.points) {
            if (same.value_or(point.n) != point.n) return {};
            same = point.n;
        }
    }
    return same ? QString(QStringLiteral("n = ") % QString::number(*same) % QStringLiteral(" per position"))
                : QString();
}

QString itemsOf(const Series& series) {
    std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
    for (const AccuracyPlot::Point& point : series.points) {
        low = std::min(low, point.n);
        high = std::max(high, point.n);
    }
    if (series.points.empty()) return QStringLiteral(" (no items)");
    const QString upper = low == high ? QString() : QString(QStringLiteral(" to ") % QString::number(high));
    return QString(QStringLiteral(" (n = ") % QString::number(low) % upper %
                   (series.points.size() > 1 ? QStringLiteral(" per position)") : QStringLiteral(")")));
}

/// "answer NLL 1.17 [0.98, 1.36]", without an interval where there is none.
QString lossOf(const AccuracyPlot::Point& point) {
    const QString value = QString(QStringLiteral("answer NLL ") % shortNumber(point.answerNll.value));
    if (!std::isfinite(point.answerNll.low) || !std::isfinite(point.answerNll.high)) return value;
    return value % QStringLiteral(" [") % shortNumber(point.answerNll.low) % QStringLiteral(", ") %
           shortNumber(point.answerNll.high) % QStringLiteral("]");
}

}  // namespace

void buildAccuracy(PlotBuilder& build, const AccuracyPlot& data) {
    build.title(data.title, data.subtitle);
    Extent nll, accuracy;
    for (const Series& series : data.series) {
        for (const AccuracyPlot::Point& point : series.points) {
            accuracy.add(point.accuracy.value);
            for (const double value : {point.answerNll.value, point.answerNll.low, point.answerNll.high})
                nll.add(value);
        }
    }
    if (accuracy.empty() && nll.empty()) return build.empty(QStringLiteral("no item has been evaluated"));

    const Places places = placesOf(data.series);
    // A dock that is too low for both panels below each other and too narrow for both beside each other shows the
    // accuracy alone; the losses are a hover away.
    const bool low = build.lower(320);
    const bool beside = (low ? build.width() >= 520 : !build.compact()) && places.labels.size() <= 8;
    const bool alone = low && !beside;
    const bool many = data.series.size() > kManySeries;
    const QString xLabel = QStringLiteral("evidence position");
    QCPAxisRect* left = build.panel(0, 0, xLabel, QStringLiteral("accuracy"));
    QCPAxisRect* right =
        alone ? nullptr
              : build.panel(beside ? 0 : 1, beside ? 1 : 0, xLabel, QStringLiteral("answer NLL (nats per token)"));
    build.bodyHeight(beside ? 250 : (build.compact() ? 400 : 430));
    if (!beside && !alone) build.label(left, left->axis(QCPAxis::atBottom), QString());

    const double size = std::max(places.high - places.low, places.labels.size() > 1 ? 1e-9 : 1.0);
    const double pixels = (beside ? build.width() / 2.0 : build.width()) - 70.0;
    for (QCPAxisRect* panel : {left, right}) {
        if (!panel) continue;
        QCPAxis* bottom = panel->axis(QCPAxis::atBottom);
        bottom->setTicker(ticksFor(build, places, pixels, low));
        bottom->setSubTicks(false);
        const double room = (many ? 0.24 : places.labels.size() > 5 ? 0.06 : 0.15) * size;
        bottom->setRange(places.low - room, places.high + room);
    }
    // A fraction is shown from 0 to 1, with room for the markers at both ends.
    left->axis(QCPAxis::atLeft)->setRange(-0.03, 1.03);
    auto fifths = QSharedPointer<QCPAxisTickerFixed>::create();
    fifths->setTickStep(low ? 0.25 : 0.2);
    left->axis(QCPAxis::atLeft)->setTicker(fifths);
    left->axis(QCPAxis::atLeft)->setSubTicks(false);
    if (right) {
        right->axis(QCPAxis::atLeft)->setRange(nll.padded(0.12));
        if (low) right->axis(QCPAxis::atLeft)->ticker()->setTickCount(4);
    }

    const std::vector<SeriesStyle> styles = stylesOf(build.theme(), data.series);
    const auto count = static_cast<double>(data.series.size());
    // Bars at one position stand side by side, within a fifth of the way to the next position; many need more.
    const double share = many ? 0.5 : 0.2;
    const double dodge = std::min(0.03 * size, count > 1 ? share * places.closest / (count - 1) : 0.0);
    const QString items = many ? sameItems(data.series) : QString();
    // Entries of a long legend are cut in their middle: it must leave room for the picture. Hovering reads them whole.
    const QFontMetricsF metrics(build.theme().font(-1));
    const double entry = many ? std::clamp(build.width() / 3.0 - 50.0, 90.0, 260.0) : 1e6;
    for (std::size_t s = 0; s < data.series.size(); ++s) {
        const Series& series = data.series[s];
        std::vector<PlotBuilder::Bar> bars, losses;
        for (std::size_t i = 0; i < series.points.size(); ++i) {
            const AccuracyPlot::Point& point = series.points[i];
            const double x = places.of(point, i);
            const double shifted = x + (static_cast<double>(s) - (count - 1) / 2.0) * dodge;
            bars.push_back({shifted, point.accuracy.value, point.accuracy.low, point.accuracy.high});
            losses.push_back({shifted, point.answerNll.value, point.answerNll.low, point.answerNll.high});
            const QString loss = lossOf(point);
            const QString where =
                QString(text(series.name) % QStringLiteral(": ") % text(point.label) % QStringLiteral(" (record ") %
                        QString::number(point.goldIndex) % QStringLiteral(") · "));
            build.readout(
                left, shifted, point.accuracy.value,
                QString(where % QStringLiteral("accuracy ") % shortNumber(point.accuracy.value) % QStringLiteral(" [") %
                        shortNumber(point.accuracy.low) % QStringLiteral(", ") % shortNumber(point.accuracy.high) %
                        QStringLiteral("] · n = ") % QString::number(point.n) %
                        (right ? QString() : QString(QStringLiteral(" · ") % loss))));
            if (right) build.readout(right, shifted, point.answerNll.value, QString(where % loss));
        }
        build.errorBars(left, bars, styles[s], many ? 3.0 : 6.0);
        if (right) build.errorBars(right, losses, styles[s], many ? 3.0 : 6.0);
        const QString name = metrics.elidedText(text(series.name), Qt::ElideMiddle, entry);
        build.legend(items.isEmpty() ? QString(name % itemsOf(series)) : name, styles[s].pen, styles[s].marker);
    }
    const QString bars = QStringLiteral("bars: 95 % intervals over items");
    build.note(items.isEmpty() ? bars : QString(items % QStringLiteral("; ") % bars));
}

}  // namespace lpes::widgets
