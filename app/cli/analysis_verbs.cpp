#include <fmt/format.h>

#include <memory>

#include "app/cli/options.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/verb.h"

namespace lpes::cli {

namespace {

struct Attention {
    explicit Attention(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"attn", {}, {}, {}, false};
    studies::AttentionSettings settings;

    Result<int> run() {
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto asked = requireModelAndTask(settings.compute, settings.task); !asked) return fail(asked.error());
        if (auto one = checkMethodOptions(flags); !one) return fail(one.error());
        printSettings(studies::toJson(settings), verb.output);
        return conductStudy(
            verb,
            [this](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::runAttention(settings, store, observer, stop);
            },
            attentionText);
    }
};

struct Deviation {
    explicit Deviation(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"deviation", {}, {}, {}, false};
    studies::DeviationSettings settings;
    std::vector<std::string> profiles;

    Result<int> run() {
        settings.variants = {"smooth", "noisy", "shuffled"};
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto asked = requireModelAndTask(settings.compute, settings.task); !asked) return fail(asked.error());
        if (profiles.empty()) return fail(ErrorCode::Usage, "--profile is missing; name one profile or more");
        settings.profiles = profiles;
        settings.origins["profile"] = "flag";
        printSettings(studies::toJson(settings), verb.output);
        return conductStudy(
            verb,
            [this](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::runDeviation(settings, store, observer, stop);
            },
            deviationText);
    }
};

void addAttentionVerb(CLI::App& app, Action& action) {
    CLI::App* verb =
        app.add_subcommand("attn", "Attention of the last prompt token, or of all, by position, per layer and mean");
    auto state = std::make_shared<Attention>(*verb);
    addComputeOptions(state->flags, state->settings.compute);
    addTaskOptions(state->flags, state->settings.task);
    addMethodOptions(state->flags, state->settings.method);
    state->flags.add("--queries", "WHOSE",
                     "last: the share that the last prompt token gives to each record; all: what each of its tokens "
                     "receives on average from itself and every later token, summed over the record [last]",
                     toText(state->settings.queries));
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

void addDeviationVerb(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand(
        "deviation", "Representation structure deviation per layer (1 - linear CKA) of profiles against the baseline");
    auto state = std::make_shared<Deviation>(*verb);
    addComputeOptions(state->flags, state->settings.compute);
    addTaskOptions(state->flags, state->settings.task);
    verb->add_option("--profile", state->profiles, "Profile to compare; may be given several times")
        ->type_name("FILE")
        ->expected(1, 1 << 10)
        ->allow_extra_args(false);
    state->flags.add("--variants", "LIST",
                     "Of smooth (the profile), noisy (same mean and variance), shuffled (its values permuted) "
                     "[smooth,noisy,shuffled]",
                     [target = &state->settings.variants](const std::string&, const std::string& text) -> Result<void> {
                         *target = splitList(text, ',');
                         return {};
                     });
    state->flags.add("--seed", "N", "Seed of noise and shuffling [1]", toNumber<std::uint64_t>(state->settings.seed));
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

}  // namespace

void addAnalysisVerbs(CLI::App& app, Action& action) {
    addAttentionVerb(app, action);
    addDeviationVerb(app, action);
}

}  // namespace lpes::cli
