#include "widgets/plots/tickers.h"

#include <algorithm>
#include <cmath>

namespace lpes::widgets {

double IntegerTicker::getTickStep(const QCPRange& range) {
    const double exact = std::max(1.0, range.size() / std::max(1, tickCount()));
    const double decade = std::pow(10.0, std::floor(std::log10(exact)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * decade >= exact * 0.999) return factor * decade;
    }
    return 10.0 * decade;
}

int IntegerTicker::getSubTickCount(double tickStep) {
    if (tickStep <= 5.0) return static_cast<int>(std::lround(tickStep)) - 1;
    return 4;
}

void IntegerTicker::generate(const QCPRange& range, const QLocale& locale, QChar formatChar, int precision,
                             QVector<double>& ticks, QVector<double>* subTicks, QVector<QString>* tickLabels) {
    QCPAxisTicker::generate(range, locale, formatChar, precision, ticks, subTicks, tickLabels);
    while (!ticks.isEmpty() && ticks.back() > m_highest) {
        ticks.removeLast();
        if (tickLabels && tickLabels->size() > ticks.size()) tickLabels->removeLast();
    }
    while (subTicks && !subTicks->isEmpty() && subTicks->back() > m_highest) subTicks->removeLast();
}

QSharedPointer<QCPAxisTicker> logTicker(const QCPRange& range) {
    const double decades = std::log10(range.upper / range.lower);
    if (!(decades <= 2.5)) return QSharedPointer<QCPAxisTickerLog>::create();
    auto ticker = QSharedPointer<QCPAxisTickerText>::create();
    for (double decade = std::pow(10.0, std::floor(std::log10(range.lower))); decade <= range.upper; decade *= 10.0) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * decade;
            if (tick >= range.lower * 0.999 && tick <= range.upper * 1.001) {
                ticker->addTick(tick, QLocale::c().toString(tick, 'g', 3));
            }
        }
    }
    return ticker;
}

QString LabelTicker::getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) {
    Q_UNUSED(locale)
    Q_UNUSED(formatChar)
    Q_UNUSED(precision)
    return m_label(tick);
}

}  // namespace lpes::widgets
