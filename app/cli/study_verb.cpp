#include <memory>
#include <sstream>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/search_options.h"
#include "app/cli/verb.h"
#include "core/studies/search_series.h"
#include "core/studies/search_setup.h"

namespace lpes::cli {

namespace {

struct StudyVerb {
    explicit StudyVerb(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"study", {}, {}, {}, true};
    std::string kind;
    studies::StudySettings settings;
    bool dryRun = false;

    /// What one of the searches looks at is no mistake.
    Result<void> checkSearches() const {
        const auto parts = studies::studyParts(settings);
        if (!parts) return fail(parts.error());
        std::vector<studies::SearchRunSettings> searches;
        for (const studies::StudyPart& part : *parts) searches.push_back(part.search);
        return studies::checkUsed(searches);
    }

    Result<int> run() {
        auto parsed = studies::parseStudyKind(flags.text("KIND").value_or(""));
        if (!parsed) return fail(parsed.error());
        if (auto chosen = chooseSearchBase(flags, settings.search); !chosen) return fail(chosen.error());
        if (auto set = flags.apply(&settings.search.origins); !set) return fail(set.error());
        settings.kind = *parsed;
        settings.search.origins["study"] = "flag";
        if (auto used = checkSearches(); !used) return fail(used.error());
        printSettings(studies::toJson(settings), verb.output);
        if (dryRun) {
            return conductForecast(
                verb.output,
                [this](ProgressObserver& observer, std::stop_token stop) {
                    return studies::forecastStudy(settings, observer, stop);
                },
                studyForecastText);
        }
        return conductStudy(
            verb,
            [this](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::runStudy(settings, store, observer, stop);
            },
            studyText);
    }
};

SettingFlags::Setter toList(std::vector<std::string>& target) {
    return [&target](const std::string&, const std::string& text) -> Result<void> {
        target.clear();
        std::istringstream stream(text);
        for (std::string one; std::getline(stream, one, ',');) target.push_back(one);
        return {};
    };
}

}  // namespace

void addStudyVerb(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand(
        "study", "Several searches that differ in one thing, with held-out scores and paired tests; resumable");
    auto state = std::make_shared<StudyVerb>(*verb);
    state->flags
        .add(
            "KIND", "",
            "curves, kinds of curve; points, numbers of control points; resample, other search items each time; seeds, "
            "the same search with other seeds; convergence, optimizers with several seeds",
            toText(state->kind))
        ->required();
    const auto add = [&](const char* name, const char* placeholder, const char* help, SettingFlags::Setter setter) {
        state->flags.add(name, placeholder, help, std::move(setter))->group("Study");
    };
    add("--values", "LIST",
        "What is compared, separated by commas: of curves kinds [bezier,linear,monotone,step,free], of points "
        "numbers [2,3,4,6,8], of convergence optimizers [genetic,cma-es,random]",
        toList(state->settings.values));
    add("--repeats", "N",
        "Searches with other seeds of each value [1; convergence: 3]; of seeds and resample searches in all [5]",
        toOptionalNumber<int>(state->settings.repeats, 1, 1000));
    studies::SearchRunSettings& search = state->settings.search;
    addComputeOptions(state->flags, search.compute);
    addWorkersOption(state->flags, search.compute);
    addTaskOptions(state->flags, search.task);
    addSearchOptions(state->flags, search);
    addGuardrailOptions(state->flags, search.guardrail);
    verb->add_flag(
        "--dry-run", state->dryRun,
        "Effective settings, and what the searches will take, from a calibration of some seconds; nothing is "
        "written");
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->footer(
        "\nThe other options are those of search. All searches have the same selection and report items, and all but "
        "those of\n"
        "resample the same search items. With --model demo and no --task the demo study's search is the base.");
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

}  // namespace lpes::cli
