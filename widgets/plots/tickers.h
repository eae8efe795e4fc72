#pragma once

#include <functional>
#include <limits>

#include "widgets/plots/qcustomplot_shim.h"

namespace lpes::widgets {

/// Whole numbers only, in steps of 1, 2, 5, 10, …: layers, records, generations.
class IntegerTicker : public QCPAxisTicker {
  public:
    /// No tick above `highest`, where an axis reaches beyond its last datum.
    explicit IntegerTicker(double highest = std::numeric_limits<double>::infinity()) : m_highest(highest) {}
    void generate(const QCPRange& range, const QLocale& locale, QChar formatChar, int precision, QVector<double>& ticks,
                  QVector<double>* subTicks, QVector<QString>* tickLabels) override;

  protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double tickStep) override;

  private:
    double m_highest;
};

/// Ticks at 1, 2 and 5 times the powers of ten within a logarithmic range, or at the powers alone where that is many.
[[nodiscard]] QSharedPointer<QCPAxisTicker> logTicker(const QCPRange& range);

/// Ticks of another axis with words of its own: two axes that share one range then have their ticks at one height.
class LabelTicker : public QCPAxisTicker {
  public:
    explicit LabelTicker(std::function<QString(double)> label) : m_label(std::move(label)) {}

  protected:
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;

  private:
    std::function<QString(double)> m_label;
};

}  // namespace lpes::widgets
