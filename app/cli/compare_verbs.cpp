#include <memory>

#include "app/cli/options.h"
#include "app/cli/progress_printer.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/signals.h"
#include "app/cli/verb.h"
#include "core/model/causal_lm.h"
#include "core/rope/method_spec.h"
#include "core/studies/method_bench.h"

namespace lpes::cli {

namespace {

/// "a;b;c", refused here when a spelling is wrong, so that a typing error costs no time.
SettingFlags::Setter toMethods(std::vector<std::string>& target) {
    return [&target](const std::string&, const std::string& text) -> Result<void> {
        auto specs = rope::parseMethods(text);
        if (!specs) return fail(specs.error());
        target.clear();
        for (const rope::MethodSpec& spec : *specs) target.push_back(spec.text);
        return {};
    };
}

/// "512,2048".
SettingFlags::Setter toLengths(std::vector<int>& target) {
    return [&target](const std::string& name, const std::string& text) -> Result<void> {
        target.clear();
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t comma = std::min(text.find(',', begin), text.size());
            auto length = parseNumber<int>(name, text.substr(begin, comma - begin), 2, 1 << 28);
            if (!length) return fail(length.error());
            target.push_back(*length);
            begin = comma + 1;
        }
        return {};
    };
}

struct Compare {
    explicit Compare(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"compare", {}, {}, {}, true};
    studies::CompareSettings settings;

    Result<int> run() {
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto asked = requireModelAndTask(settings.compute, settings.task); !asked) return fail(asked.error());
        printSettings(studies::toJson(settings), verb.output);
        return conductStudy(
            verb,
            [this](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::runComparison(settings, store, observer, stop);
            },
            compareText);
    }
};

struct Bench {
    explicit Bench(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    studies::BenchSettings settings;

    Result<int> run() {
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto given = requireModel(settings.compute.model, "--model"); !given) return fail(given.error());
        printSettings(studies::toJson(settings), output);
        ProgressPrinter progress(output.progress);
        auto result = studies::runBench(settings, progress, stopOnSignal());
        progress.finishLine();
        if (!result && model::wasStopped(result.error())) {
            printMessage("lpes: stopped; a bench stores nothing");
            return kExitStopped;
        }
        if (!result) return fail(result.error());
        if (auto printed = printAnswer(output, *result, benchText(*result)); !printed) return fail(printed.error());
        return 0;
    }
};

void addCompare(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand(
        "compare", "Several methods on the same items: accuracy, paired tests, latency, memory, passes");
    auto state = std::make_shared<Compare>(*verb);
    addComputeOptions(state->flags, state->settings.compute);
    addTaskOptions(state->flags, state->settings.task);
    state->flags
        .add("--methods", "LIST",
             "Methods joined by ';'; the others are compared with the first: 'baseline;pi:1.5;lpes:FILE'",
             toMethods(state->settings.methods))
        ->required();
    addScoreOption(state->flags, state->settings.score);
    addGuardrailOptions(state->flags, state->settings.guardrail);
    state->flags.add("--seed", "N", "Of the paired tests' resamples [1]",
                     toNumber<std::uint64_t>(state->settings.seed));
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

void addBench(CLI::App& app, Action& action) {
    CLI::App* verb =
        app.add_subcommand("bench", "Latency, tokens/s and memory of prefill and decoding by method and length");
    auto state = std::make_shared<Bench>(*verb);
    addTimedOptions(state->flags, state->settings.compute);
    state->flags.add("--methods", "LIST",
                     "Methods joined by ';'; ratios are to the first, and beside published ones to LPES [baseline]",
                     toMethods(state->settings.methods));
    state->flags.add("--lengths", "LIST", "Prompt tokens, separated by commas [512,2048]",
                     toLengths(state->settings.lengths));
    state->flags.add("--new-tokens", "N", "Tokens decoded after each prompt [32]",
                     toNumber<int>(state->settings.newTokens, 1, 4096));
    state->flags.add(
        "--seconds", "S",
        "How long to measure each method at each length; at least three rounds, and six have intervals [3]",
        toNumber<double>(state->settings.seconds, 0.001, 86400.0));
    state->flags.add("--seed", "N", "Of the prompts' random ids and the intervals [1]",
                     toNumber<std::uint64_t>(state->settings.seed));
    addJsonOption(*verb, state->output);
    addProgressOption(*verb, state->output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

}  // namespace

void addCompareVerbs(CLI::App& app, Action& action) {
    addCompare(app, action);
    addBench(app, action);
}

}  // namespace lpes::cli
