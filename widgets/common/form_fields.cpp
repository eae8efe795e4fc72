#include "widgets/common/form_fields.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>

#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

class WheelKeeper : public QObject {
  public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override {
        auto* field = qobject_cast<QWidget*>(watched);
        if (event->type() == QEvent::Wheel && field && !field->hasFocus()) {
            event->ignore();
            return true;
        }
        return QObject::eventFilter(watched, event);
    }
};

}  // namespace

void keepFromWheel(QWidget& field) {
    field.setFocusPolicy(Qt::StrongFocus);
    field.installEventFilter(new WheelKeeper(&field));
}

QSpinBox* countField(QWidget* parent, const QString& name, int low, int high, const QString& tip) {
    auto* box = new QSpinBox(parent);
    box->setRange(low, high);
    box->setAccessibleName(name);
    const QString range = QString(tip % QStringLiteral(" (") % QString::number(low) % QStringLiteral(" to ") %
                                  QString::number(high) % QLatin1Char(')'));
    box->setProperty("tip", range);
    box->setToolTip(range);
    box->setMinimumWidth(60);
    keepFromWheel(*box);
    return box;
}

void showUnused(QSpinBox& field, const QString& why) {
    field.setEnabled(why.isEmpty());
    field.setToolTip(why.isEmpty() ? field.property("tip").toString() : why);
}

void lockCount(QSpinBox& field, bool locked) {
    field.setReadOnly(locked);
    field.setButtonSymbols(locked ? QSpinBox::NoButtons : QSpinBox::UpDownArrows);
}

QLineEdit* textField(QWidget* parent, const QString& name, const QString& tip) {
    auto* field = new QLineEdit(parent);
    field->setAccessibleName(name);
    field->setProperty("tip", tip);
    field->setToolTip(tip);
    field->setMinimumWidth(60);
    return field;
}

void refuseText(QLineEdit& field, const QString& why) {
    refuseField(field, why, true);
}

void refuseField(QWidget& field, const QString& why, bool framed) {
    // The frame is that of the line, also of one inside a list of choices.
    QWidget* line = &field;
    if (auto* box = qobject_cast<QComboBox*>(&field)) line = box->lineEdit();
    const QString red = semanticColor(field.parentWidget()->palette(), Meaning::Error).name();
    const QString sheet = why.isEmpty() || !framed
                              ? QString()
                              : QString(QStringLiteral("QLineEdit { border: 2px solid ") % red % QStringLiteral("; }"));
    if (line->styleSheet() != sheet) line->setStyleSheet(sheet);
    field.setToolTip(why.isEmpty() ? field.property("tip").toString() : why);
}

QComboBox* choiceField(QWidget* parent, const QString& name, const QString& tip) {
    auto* box = new QComboBox(parent);
    box->setAccessibleName(name);
    box->setToolTip(tip);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(6);
    box->view()->setAccessibleName(name);
    keepFromWheel(*box);
    return box;
}

QComboBox* openChoiceField(QWidget* parent, const QString& name, const QString& tip) {
    QComboBox* box = choiceField(parent, name, tip);
    box->setProperty("tip", tip);
    box->setEditable(true);
    box->setInsertPolicy(QComboBox::NoInsert);
    box->lineEdit()->setAccessibleName(name);
    return box;
}

void setChoices(QComboBox& field, const QStringList& names) {
    const QString chosen = field.currentText();
    field.clear();
    field.addItems(names);
    // Of a closed choice only a name that it has.
    field.setCurrentText(chosen);
}

void choose(QComboBox& field, const QString& name) {
    if (field.findText(name) < 0) field.addItem(name);
    field.setCurrentText(name);
}

void lockChoice(QComboBox& field, bool locked) {
    field.setEnabled(!locked);
    QPalette legible = field.parentWidget()->palette();
    for (const QPalette::ColorRole role : {QPalette::Text, QPalette::ButtonText}) {
        legible.setColor(QPalette::Disabled, role, semanticColor(legible, Meaning::Muted));
    }
    field.setPalette(legible);
}

std::optional<std::uint64_t> parseSeed(const QString& words) {
    bool ok = false;
    const QString trimmed = words.trimmed();
    const std::uint64_t seed = trimmed.toULongLong(&ok);
    // toULongLong takes "-1" and "+1" as well.
    if (!ok || !trimmed.front().isDigit()) return std::nullopt;
    return seed;
}

QLabel* wordyLabel(QWidget* parent, const QString& accessibleName) {
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setAccessibleName(accessibleName);
    return label;
}

}  // namespace lpes::widgets
