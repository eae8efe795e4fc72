#include "app/controllers/search_rules.h"

#include <QLocale>
#include <algorithm>
#include <limits>

#include "app/cli/numbers.h"
#include "app/controllers/why_not.h"
#include "core/studies/search_setup.h"
#include "widgets/common/number_field.h"

namespace lpes::app {

using search::Objective;
using widgets::SearchForm;
using widgets::SearchText;

namespace {

constexpr const char* kGuardrailLimit = "--guardrail-limit";
constexpr const char* kRacing = "--racing";
constexpr const char* kTarget = "--target";
/// No rule here hangs on how many layers the model has.
constexpr int kAnyLayers = 32;

// Each of the four judges settings in which nothing but its own text can be at fault.

QString whyNoLimit(const SearchForm& form, const studies::SearchRunSettings& study) {
    const auto limit = optionalNumber(kGuardrailLimit, form.guardrailLimit);
    if (!limit) return whyNot(limit);
    studies::SearchRunSettings asked;
    asked.guardrail = study.guardrail;
    asked.guardrailLimit = *limit;
    return whyNot(studies::checkCounts(asked));
}

QString whyNoRace(const SearchForm& form, const studies::SearchRunSettings& study) {
    const auto racing = optionalNumber(kRacing, form.racing);
    if (!racing) return whyNot(racing);
    studies::SearchRunSettings asked;
    asked.gapPenalty = study.gapPenalty;
    asked.search.racing = *racing;
    const QString why = whyNot(search::checkSettings(asked.search, kAnyLayers));
    return why.isEmpty() ? whyNot(studies::checkCounts(asked)) : why;
}

Result<std::optional<double>> targetOf(const SearchForm& form) {
    return optionalNumber(kTarget, form.target, std::numeric_limits<double>::lowest());
}

QString whyNoObjectives(const SearchForm& form, const studies::SearchRunSettings& study) {
    const auto objectives = objectivesOf(form.objectives);
    if (!objectives) return whyNot(objectives);
    studies::SearchRunSettings asked;
    asked.guardrail = study.guardrail;
    asked.search.objectives = *objectives;
    asked.search.aboveNoise = study.search.aboveNoise;
    asked.search.gradient.refined = form.refined;
    asked.search.optimizer = optimizerOf(form, study);
    if (whyNoRace(form, study).isEmpty())
        asked.search.racing = optionalNumber(kRacing, form.racing).value_or(std::nullopt);
    asked.search.target = targetOf(form).value_or(std::nullopt);
    const QString why = whyNot(search::checkSettings(asked.search, kAnyLayers));
    return why.isEmpty() ? whyNot(studies::checkCounts(asked)) : why;
}

}  // namespace

Result<std::optional<double>> optionalNumber(const char* option, const QString& words, double low) {
    QString text = words.trimmed();
    if (text.isEmpty() || text == QLatin1String("auto")) return std::optional<double>();
    // With a comma it is a number to the window's other fields, but not to the command line.
    if (widgets::parseNumber(text)) text.replace(QLatin1Char(','), QLatin1Char('.'));
    const auto value = cli::parseNumber<double>(option, text.toStdString(), low);
    if (!value) return fail(value.error());
    return std::optional<double>(*value);
}

QString numberText(const std::optional<double>& value) {
    return value ? QLocale::c().toString(*value, 'g', QLocale::FloatingPointShortest) : QString();
}

Result<std::vector<Objective>> objectivesOf(const QString& words) {
    const QString text = words.trimmed();
    if (text.isEmpty() || text == QLatin1String("none")) return std::vector<Objective>();
    return search::parseObjectives(text.toStdString());
}

search::OptimizerKind optimizerOf(const SearchForm& form, const studies::SearchRunSettings& study) {
    return search::parseOptimizer(form.optimizer.toStdString()).value_or(study.search.optimizer);
}

QStringList objectiveLists() {
    QStringList lists{QString()};
    const std::vector<std::vector<Objective>> all{{Objective::Middle, Objective::Ends},
                                                  {Objective::Middle, Objective::Short},
                                                  {Objective::Ends, Objective::Short},
                                                  {Objective::Middle, Objective::Ends, Objective::Short}};
    for (const auto& list : all) lists << QString::fromStdString(search::objectivesText(list));
    return lists;
}

SearchRules rulesOf(const SearchForm& form, const studies::SearchRunSettings& study) {
    return {optionalNumber(kGuardrailLimit, form.guardrailLimit).value_or(study.guardrailLimit),
            optionalNumber(kRacing, form.racing).value_or(study.search.racing),
            targetOf(form).value_or(study.search.target),
            objectivesOf(form.objectives).value_or(study.search.objectives)};
}

QString whyRefused(SearchText text, const SearchForm& form, const studies::SearchRunSettings& study) {
    switch (text) {
        case SearchText::GuardrailLimit:
            return whyNoLimit(form, study);
        case SearchText::Objectives:
            return whyNoObjectives(form, study);
        case SearchText::Target:
            return whyNot(targetOf(form));
        case SearchText::Racing:
            break;
    }
    return whyNoRace(form, study);
}

QString whyUnused(widgets::SearchNumber number, const SearchForm& form, const studies::SearchRunSettings& study) {
    search::SearchSettings asked = study.search;
    asked.optimizer = optimizerOf(form, study);
    asked.racing = rulesOf(form, study).racing;
    asked.gradient.refined = 1;  // would it be looked at, if it stood there?
    const char* key = number == widgets::SearchNumber::Population ? "population" : "refine";
    const auto unused = search::unusedOptions(asked);
    const auto found = std::ranges::find(unused, key, &search::UnusedOption::key);
    return found == unused.end() ? QString() : QString::fromStdString("No effect " + found->where);
}

}  // namespace lpes::app
