#pragma once

#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/search/search_settings.h"
#include "core/studies/run_settings.h"
#include "widgets/panels/search_panel.h"

/// Between the texts of a search form and the rules that they stand for. GUI thread only.
namespace lpes::app {

/// A number, of `low` or more, with a point or a comma; empty or "auto", as on the command line: none. `option` is what
/// the error names it by: Usage, in the words of the command line.
[[nodiscard]] Result<std::optional<double>> optionalNumber(const char* option, const QString& words, double low = 0.0);
[[nodiscard]] QString numberText(const std::optional<double>& value);

/// "middle,ends"; empty or "none": no objective, one fitness. Usage for anything else.
[[nodiscard]] Result<std::vector<search::Objective>> objectivesOf(const QString& words);
/// Every list there is, an empty one first.
[[nodiscard]] QStringList objectiveLists();

/// The choices are parseOptimizer's own names.
[[nodiscard]] search::OptimizerKind optimizerOf(const widgets::SearchForm& form,
                                                const studies::SearchRunSettings& study);

struct SearchRules {
    std::optional<double> guardrailLimit, racing, target;
    std::vector<search::Objective> objectives;
};
/// What the form's texts say; in place of one that is refused the study's own.
[[nodiscard]] SearchRules rulesOf(const widgets::SearchForm& form, const studies::SearchRunSettings& study);

/// Why a text of the form is refused, in the words of the command line; empty when it is not. Judged with what else the
/// form says, and with the study where the form has no field.
[[nodiscard]] QString whyRefused(widgets::SearchText text, const widgets::SearchForm& form,
                                 const studies::SearchRunSettings& study);

/// Why a number of the form has no effect ("No effect with --optimizer gradient"); empty when it has one.
[[nodiscard]] QString whyUnused(widgets::SearchNumber number, const widgets::SearchForm& form,
                                const studies::SearchRunSettings& study);

}  // namespace lpes::app
