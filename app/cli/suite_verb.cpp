#include <memory>

#include "app/cli/options.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/verb.h"
#include "core/studies/suite_study.h"

namespace lpes::cli {

namespace {

struct SuiteVerb {
    explicit SuiteVerb(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"suite", {}, {}, {}, true};
    std::string file, out;
    studies::SuiteSettings settings;

    Result<int> run() {
        // The file first: options stand above it.
        const auto named = flags.text("FILE");
        auto read = studies::readSuite(named.value_or(""));
        if (!read) return fail(read.error());
        settings = std::move(*read);
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto given = requireModel(settings.compute.model, "--model"); !given) return fail(given.error());
        verb.reportOut = out;
        nlohmann::json shown = studies::toJson(settings);
        verb.inputs = studies::inputsOf(shown);
        verb.inputs.push_back({"FILE", *named});
        shown.erase("benchmarks");  // the file has them, and so has the data base
        printSettings(shown, verb.output);
        return conductStudy(
            verb,
            [this](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::runSuite(settings, store, observer, stop);
            },
            suiteText);
    }
};

}  // namespace

void addSuiteVerb(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand(
        "suite", "A declared set of benchmarks, each asked of the same methods; resumable (core/studies/SUITES.md)");
    auto state = std::make_shared<SuiteVerb>(*verb);
    state->flags.add("FILE", "", "The suite file (JSON)", toText(state->file))->required();
    addComputeOptions(state->flags, state->settings.compute);
    addGuardrailOptions(state->flags, state->settings.guardrail);
    state->flags.add("--out", "FILE", "Report with the suite's tables to write when it is finished, .html",
                     toText(state->out));
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

}  // namespace lpes::cli
