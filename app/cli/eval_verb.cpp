#include <memory>

#include "app/cli/options.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/verb.h"

namespace lpes::cli {

namespace {

struct Eval {
    explicit Eval(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"eval", {}, {}, {}, false};
    studies::EvalSettings settings;

    Result<int> run() {
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto asked = requireModelAndTask(settings.compute, settings.task); !asked) return fail(asked.error());
        if (auto one = checkMethodOptions(flags); !one) return fail(one.error());
        printSettings(studies::toJson(settings), verb.output);
        return conductStudy(
            verb,
            [this](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::runEvaluation(settings, store, observer, stop);
            },
            evalText);
    }
};

}  // namespace

void addEvalVerb(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("eval", "Accuracy by position of one method on a task");
    auto state = std::make_shared<Eval>(*verb);
    addComputeOptions(state->flags, state->settings.compute);
    addTaskOptions(state->flags, state->settings.task);
    addMethodOptions(state->flags, state->settings.method);
    addScoreOption(state->flags, state->settings.score);
    state->flags.add("--agreement", "N",
                     "Generate an answer for the first N items beside teacher forcing, and say how often both scores "
                     "agree; with --score generate it is said of all [0]",
                     toNumber<int>(state->settings.agreementItems, 0));
    state->flags.add("--repeats", "N",
                     "Evaluate N times in other batch compositions and say how much the result moves by rounding [1]",
                     toNumber<int>(state->settings.repeats, 1, 100));
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

}  // namespace lpes::cli
