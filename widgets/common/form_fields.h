#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>

class QComboBox;
class QLabel;
class QLineEdit;
class QSpinBox;

class QWidget;

/// What the forms of a search and of a comparison have in common. GUI thread only.
namespace lpes::widgets {

/// Scrolling past the field does not change it: the wheel turns it only while it has the focus.
void keepFromWheel(QWidget& field);

/// A whole number from low to high, which its tool tip says.
[[nodiscard]] QSpinBox* countField(QWidget* parent, const QString& name, int low, int high, const QString& tip);
/// Disables a count that has no effect and gives the reason as its tool tip; empty: its own again.
void showUnused(QSpinBox& field, const QString& why);
/// Locked, a value can still be read and copied.
void lockCount(QSpinBox& field, bool locked);

/// A free text of a form.
[[nodiscard]] QLineEdit* textField(QWidget* parent, const QString& name, const QString& tip);
/// Frames the field and gives the reason as its tool tip; empty: its own again.
void refuseText(QLineEdit& field, const QString& why);
/// The same for a line or for a list of choices that can be typed into, with or without the frame.
void refuseField(QWidget& field, const QString& why, bool framed);

/// One of a few names: the device that a job runs on, an optimizer.
[[nodiscard]] QComboBox* choiceField(QWidget* parent, const QString& name, const QString& tip);
/// The same where another text may be typed; what it is for is its tool tip unless it is refused.
[[nodiscard]] QComboBox* openChoiceField(QWidget* parent, const QString& name, const QString& tip);
/// Keeps what was chosen, in an open choice whatever was typed.
void setChoices(QComboBox& field, const QStringList& names);
/// One that is not among the choices is offered as well: a run may come from another machine.
void choose(QComboBox& field, const QString& name);
void lockChoice(QComboBox& field, bool locked);

/// A whole number from 0 to 2^64 − 1; nothing for any other text ("-1", "12a").
[[nodiscard]] std::optional<std::uint64_t> parseSeed(const QString& words);

/// A label of plain words that break over lines.
[[nodiscard]] QLabel* wordyLabel(QWidget* parent, const QString& accessibleName);

}  // namespace lpes::widgets
