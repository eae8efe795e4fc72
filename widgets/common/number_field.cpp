#include "widgets/common/number_field.h"

#include <QFocusEvent>
#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lpes::widgets {
namespace {

QString plain(double value) {
    return QString::number(value, 'g', 6);
}

// 1.34 + 0.01 as it is meant: without the last bits' noise.
double withoutNoise(double value) {
    return QString::number(value, 'g', 12).toDouble();
}

// What a form shows may differ from what it was told by the rounding of a unit conversion.
bool sameNumber(double a, double b) {
    return a == b || std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

std::optional<double> parseNumber(const QString& text) {
    static const QRegularExpression form(
        QStringLiteral("^\\s*[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\\s*$"));
    if (!form.match(text).hasMatch()) return std::nullopt;
    bool understood = false;
    const double value = QLocale::c().toDouble(text.trimmed().replace(QLatin1Char(','), QLatin1Char('.')), &understood);
    if (!understood || !std::isfinite(value)) return std::nullopt;
    return value;
}

NumberField::NumberField(QWidget* parent)
    : QLineEdit(parent), m_low(-std::numeric_limits<double>::max()), m_high(std::numeric_limits<double>::max()) {
    setAlignment(Qt::AlignRight);
    display();
}

void NumberField::setRange(double low, double high) {
    m_low = low;
    m_high = std::max(low, high);
}

void NumberField::setStep(double step) {
    m_step = step;
}

void NumberField::setDecimals(int decimals) {
    m_decimals = std::max(0, decimals);
    if (!isModified()) display();
}

void NumberField::setValue(double value) {
    // The answer to an entry of this field's own must not take away what is said about that entry, and a refresh with
    // nothing new must not take away what is being typed.
    const bool wasEmpty = std::exchange(m_empty, false);
    if (sameNumber(value, m_value) && !wasEmpty) {
        m_value = value;
        if (!isModified()) display();
        return;
    }
    m_value = value;
    setNotice({});
    display();
}

void NumberField::setEmpty() {
    m_empty = true;
    setNotice({});
    setText({});
    setModified(false);
}

void NumberField::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Return:
        case Qt::Key_Enter:
            commit();
            if (isModified()) selectAll();
            event->accept();
            return;
        case Qt::Key_Escape:
            // Escape closes a dialog once there is nothing left to take back here.
            if (!isModified() && m_notice.isEmpty()) break;
            setNotice({});
            display();
            event->accept();
            return;
        case Qt::Key_Up:
        case Qt::Key_Down: {
            event->accept();
            if (isReadOnly()) return;
            const double size = m_step * ((event->modifiers() & Qt::ShiftModifier) ? 10.0 : 1.0);
            const double from = isModified() ? parseNumber(text()).value_or(m_value) : m_value;
            take(withoutNoise(event->key() == Qt::Key_Up ? from + size : from - size));
            return;
        }
        default:
            break;
    }
    QLineEdit::keyPressEvent(event);
}

void NumberField::focusOutEvent(QFocusEvent* event) {
    QLineEdit::focusOutEvent(event);
    // A context menu of the field itself is no leaving.
    if (event->reason() == Qt::PopupFocusReason) return;
    if (!isModified()) return;
    commit();
    if (isModified()) display();  // refused: the value in force is what stands here, the notice says why
}

void NumberField::paintEvent(QPaintEvent* event) {
    QLineEdit::paintEvent(event);
    if (m_notice.isEmpty()) return;
    // Painted over the style's own frame: a style sheet would change the field's size and look.
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(QColor(0xd9, 0x3a, 0x3a), 2.0));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 3, 3);
}

void NumberField::commit() {
    if (!isModified()) {
        setNotice({});
        return;
    }
    const std::optional<double> entered = parseNumber(text());
    if (!entered) {
        setNotice(text().trimmed().isEmpty()
                      ? QString(QStringLiteral("Nothing was entered; ") % plain(m_value) % QStringLiteral(" stays."))
                      : QString(QStringLiteral("“") % text().trimmed() % QStringLiteral("” is not a number; ") %
                                plain(m_value) % QStringLiteral(" stays. Write it like 1.5.")));
        return;
    }
    take(*entered);
}

void NumberField::take(double wanted) {
    const double value = std::clamp(wanted, m_low, m_high);
    const double before = m_value;
    m_value = value;
    display();
    if (value != wanted) {
        setNotice(QString(plain(wanted) %
                          (wanted > value ? QStringLiteral(" is above the highest allowed value; ")
                                          : QStringLiteral(" is below the lowest allowed value; ")) %
                          plain(value) % QStringLiteral(" was taken.")));
    } else {
        setNotice({});
    }
    if (value != before) Q_EMIT valueEdited(value);
}

void NumberField::display() {
    QString shown = QString::number(m_value, 'f', m_decimals);
    if (shown.contains(QLatin1Char('.'))) {
        while (shown.endsWith(QLatin1Char('0'))) shown.chop(1);
        if (shown.endsWith(QLatin1Char('.'))) shown.chop(1);
    }
    if (shown == QLatin1String("-0")) shown = QStringLiteral("0");
    setText(shown);
    setModified(false);
}

void NumberField::setNotice(const QString& notice) {
    if (m_notice == notice) return;
    m_notice = notice;
    setToolTip(notice);
    setAccessibleDescription(notice);
    update();
    Q_EMIT noticeChanged(notice);
}

}  // namespace lpes::widgets
