#include <memory>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/progress_printer.h"
#include "app/cli/result_text.h"
#include "app/cli/verb.h"
#include "core/studies/inspect.h"

namespace lpes::cli {

namespace {

struct Inspect {
    explicit Inspect(CLI::App& verb) : flags(verb) {}
    SettingFlags flags;
    OutputOptions output;
    std::string model;
    std::string method = "baseline";
    std::string device = "cpu";

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto given = requireModel(model, "MODEL"); !given) return fail(given.error());
        if (auto one = checkMethodOptions(flags); !one) return fail(one.error());
        ProgressPrinter progress("none");
        auto described = studies::inspectModel(model, method, device, progress);
        if (!described) return fail(described.error());
        if (auto printed = printAnswer(output, *described, inspectText(*described)); !printed)
            return fail(printed.error());
        return 0;
    }
};

}  // namespace

void addInspectVerb(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand(
        "inspect",
        "What a model is: sizes, effective RoPE table per layer with the origin of each value, memory, warnings");
    auto state = std::make_shared<Inspect>(*verb);
    addModelPositional(state->flags, state->model);
    addMethodOptions(state->flags, state->method);
    addDeviceOption(state->flags, state->device);
    addJsonOption(*verb, state->output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

}  // namespace lpes::cli
