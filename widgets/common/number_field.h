#pragma once

#include <QLineEdit>
#include <QString>
#include <optional>

namespace lpes::widgets {

/// A number as the user writes it: "1.5" and "1,5" in every locale, no thousands separators; nothing for anything else
/// (empty, "abc", "1,5.2", "nan"). thread-safe.
[[nodiscard]] std::optional<double> parseNumber(const QString& text);

/// A number written by hand. Free entry: both decimal styles are understood, the shown text uses the point. Enter or
/// leaving the field commits; a value outside the range is clamped and said so, a text that is no number is refused and
/// said so: the field is framed in red, its tooltip and noticeChanged hold the sentence, the old value stays in force.
/// Up and Down step by `step`, with Shift ten times that. GUI thread only.
class NumberField : public QLineEdit {
    Q_OBJECT
  public:
    explicit NumberField(QWidget* parent = nullptr);

    void setRange(double low, double high);
    void setStep(double step);
    /// Digits behind the point that are shown (values keep all of theirs).
    void setDecimals(int decimals);
    /// No signal.
    void setValue(double value);
    /// Shows nothing until the next setValue: there is no value to speak of. No signal.
    void setEmpty();
    [[nodiscard]] double value() const { return m_value; }
    /// Why the last entry was not taken as written; empty when all is well.
    [[nodiscard]] const QString& notice() const { return m_notice; }

  Q_SIGNALS:
    /// The user committed another value.
    void valueEdited(double value);
    void noticeChanged(const QString& notice);

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    void commit();
    void take(double wanted);
    void display();
    void setNotice(const QString& notice);

    double m_value = 0.0, m_low, m_high, m_step = 1.0;
    int m_decimals = 3;
    bool m_empty = false;
    QString m_notice;
};

}  // namespace lpes::widgets
