#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/cli/numbers.h"
#include "app/cli/options.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/verb.h"
#include "core/studies/moice_study.h"

namespace lpes::cli {

namespace {

/// "10000,17500".
SettingFlags::Setter toBases(std::optional<std::vector<double>>& target) {
    return [&target](const std::string& name, const std::string& text) -> Result<void> {
        std::vector<double> bases;
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t comma = std::min(text.find(',', begin), text.size());
            auto base = parseNumber<double>(name, text.substr(begin, comma - begin), 1.0, 1e12);
            if (!base) return fail(base.error());
            bases.push_back(*base);
            begin = comma + 1;
        }
        target = std::move(bases);
        return {};
    };
}

struct TrainMoice {
    explicit TrainMoice(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"train", {}, {}, {}, true};
    studies::TrainMoiceSettings settings;

    Result<int> run() {
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto given = requireModel(settings.model.model, "--model"); !given) return fail(given.error());
        // What else it may replace, routers and checkpoints of its own, the training itself decides.
        if (auto writable = checkOutput(settings.out, {{"--db", verb.database}}); !writable)
            return fail(writable.error());
        return conductStudy(
            verb,
            [this](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::trainMoice(settings, store, observer, stop);
            },
            trainText);
    }
};

void addRecipe(SettingFlags& flags, studies::TrainMoiceSettings& settings) {
    flags.add("--steps", "N", "Optimiser steps in all; with --resume there may be more than at first [7]",
              toOptionalNumber<int>(settings.steps, 1, 1'000'000));
    flags.add("--sequences-per-step", "N", "Sequences whose gradients make one step [128]",
              toOptionalNumber<int>(settings.sequencesPerStep, 1, 1 << 24));
    flags.add("--max-length", "N", "Tokens of a sequence [4608, or the model's context where that is shorter]",
              toOptionalNumber<int>(settings.maxLength, 2, 1 << 28));
    flags.add("--lr", "X", "Learning rate, constant [0.0001]", toOptionalNumber<double>(settings.learningRate, 0.0));
    flags.add("--aux", "X", "Weight of the auxiliary loss; without effect where every expert is kept [0.3]",
              toOptionalNumber<double>(settings.auxCoefficient, 0.0));
    flags.add("--top-k", "K", "Experts kept for each token and head [all]",
              toOptionalNumber<int>(settings.topK, 1, 256));
    flags.add("--bases", "LIST",
              "RoPE base of each expert [10000,17500,18000,19000,20000,22500,25000, each times the "
              "model's own base/10000]",
              toBases(settings.bases));
    flags.add("--weight-decay", "X", "AdamW's weight decay [0]", toOptionalNumber<double>(settings.weightDecay, 0.0));
    flags.add("--beta1", "X", "AdamW's first beta [0.9]", toOptionalNumber<double>(settings.beta1, 0.0, 1.0));
    flags.add("--beta2", "X", "AdamW's second beta [0.999]", toOptionalNumber<double>(settings.beta2, 0.0, 1.0));
    flags.add("--epsilon", "X", "AdamW's epsilon [1e-8]", toOptionalNumber<double>(settings.epsilon, 0.0));
    flags.add("--max-grad-norm", "X", "Longer gradients are shortened to this norm; 0: never [1]",
              toOptionalNumber<double>(settings.maxGradNorm, 0.0));
    flags.add("--seed", "N", "Seed of the first router and of the order of the sequences [1]",
              toOptionalNumber<std::uint64_t>(settings.seed));
}

}  // namespace

void addTrainVerb(CLI::App& app, Action& action) {
    CLI::App* train = app.add_subcommand("train", "Train what a method needs: the routers of MoICE");
    train->require_subcommand(1);
    CLI::App* verb = train->add_subcommand("moice", "Train the routers of MoICE on text; the model stays as it is");
    auto state = std::make_shared<TrainMoice>(*verb);
    studies::TrainMoiceSettings& settings = state->settings;
    state->flags.add("--model", "MODEL", "Folder in Hugging Face layout, .gguf file, or demo [$LPES_MODEL]",
                     toText(settings.model.model), "LPES_MODEL");
    state->flags
        .add("--text", "FILE", R"(Plain text, or .jsonl with a document under "text" on every line)",
             toPath(settings.text))
        ->required();
    state->flags.add("--out", "FILE", "Router to write; the checkpoint is FILE.training", toPath(settings.out))
        ->required();
    verb->add_flag("--resume", settings.resume, "Go on from the checkpoint, with its settings");
    verb->add_flag("--overwrite", settings.overwrite,
                   "Begin anew where --out holds a finished router, replacing it and its checkpoint");
    addRecipe(state->flags, settings);
    addRunningModelOptions(state->flags, settings.model, settings.threads);
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->footer(
        "\nDefaults, in brackets, are the recipe of MoICE's authors (128 sequences a step, 7 steps); on a CPU begin\n"
        "with a short --max-length and few sequences. Each document is cut into consecutive sequences of --max-length\n"
        "tokens, which are shuffled by the seed. After every step the checkpoint is written: a training that is\n"
        "stopped or killed loses at most the step in flight, and --resume, or lpes resume RUN, ends in the same bits.\n"
        "It is a run like others: lpes plot RUN --kind loss draws its curve, lpes report RUN tells of it.");
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
}

}  // namespace lpes::cli
