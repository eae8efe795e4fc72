#pragma once

#include <QStringList>
#include <map>
#include <string>

#include "core/studies/task_setup.h"
#include "widgets/panels/task_form.h"

/// Between a form's task and the core's. GUI thread only.
namespace lpes::app {

/// Gives the fields the core's names and its check of what is typed, and opens the dialog that looks for data. `panel`
/// is what the dialog belongs to.
void offerTasks(widgets::TaskFields& fields, QWidget& panel, const QStringList& scores);

/// What a form begins with, without a score.
[[nodiscard]] widgets::TaskForm taskFormOf(const studies::TaskSpec& spec);

/// The items that the form asks for. What it has no field for is the study's where it is the study's task, the core's
/// default for another one; a text that needles are hidden in makes the haystack "essay".
[[nodiscard]] studies::TaskSpec taskSpecOf(const widgets::TaskForm& form, const studies::TaskSpec& study);

/// Origin "window" for every key in which the two differ.
void markTask(const studies::TaskSpec& before, const studies::TaskSpec& after,
              std::map<std::string, std::string>& origins);

/// False, with the reason at its field, when the data that is named is not there.
[[nodiscard]] bool requireData(widgets::TaskFields& fields);

}  // namespace lpes::app
