#include <fmt/format.h>

#include <memory>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/progress_printer.h"
#include "app/cli/result_text.h"
#include "app/cli/signals.h"
#include "app/cli/verb.h"
#include "core/base/error.h"
#include "core/studies/inspect.h"
#include "core/studies/task_setup.h"
#include "core/text/chat_preset.h"

namespace lpes::cli {

namespace {

/// What the three verbs share.
struct TextVerb {
    explicit TextVerb(CLI::App& verb) : flags(verb) {}
    SettingFlags flags;
    OutputOptions output;
    std::optional<std::string> text, file;
};

struct Tokenize : TextVerb {
    using TextVerb::TextVerb;
    std::string model;
    bool special = false;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto given = requireModel(model, "MODEL"); !given) return fail(given.error());
        auto input = readText(text, file, "--text");
        if (!input) return fail(input.error());
        auto tokens = studies::tokenizeText(model, *input, special);
        if (!tokens) return fail(tokens.error());
        if (auto printed = printAnswer(output, *tokens, tokensText(*tokens)); !printed) return fail(printed.error());
        return 0;
    }
};

struct Score : TextVerb {
    using TextVerb::TextVerb;
    studies::ScoreTextSettings settings;
    std::optional<std::string> ids;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto given = requireModel(settings.model.model, "MODEL"); !given) return fail(given.error());
        if (auto one = checkMethodOptions(flags); !one) return fail(one.error());
        if (ids) {
            if (text || file) return fail(ErrorCode::Usage, "give exactly one of --text, --file and --ids");
            auto parsed = studies::parseIds(*ids);
            if (!parsed) return fail(parsed.error());
            settings.ids = std::move(*parsed);
        } else {
            if (text.has_value() == file.has_value()) {
                return fail(ErrorCode::Usage, "give exactly one of --text, --file and --ids");
            }
            auto input = readText(text, file, "--text");
            if (!input) return fail(input.error());
            settings.text = std::move(*input);
        }
        ProgressPrinter progress(output.progress);
        auto score = studies::scoreText(settings, progress, stopOnSignal());
        progress.finishLine();
        if (!score && model::wasStopped(score.error())) return kExitStopped;
        if (!score) return fail(score.error());
        if (auto printed = printAnswer(output, *score, scoreText(*score)); !printed) return fail(printed.error());
        return 0;
    }
};

struct Generate : TextVerb {
    using TextVerb::TextVerb;
    studies::GenerateSettings settings;
    std::optional<std::string> ids;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto given = requireModel(settings.model.model, "MODEL"); !given) return fail(given.error());
        if (auto one = checkMethodOptions(flags); !one) return fail(one.error());
        if (ids) {
            if (text || file) return fail(ErrorCode::Usage, "give exactly one of --prompt, --file and --ids");
            auto parsed = studies::parseIds(*ids);
            if (!parsed) return fail(parsed.error());
            settings.ids = std::move(*parsed);
        } else {
            auto input = readText(text, file, "--prompt");
            if (!input) return fail(input.error());
            settings.prompt = std::move(*input);
        }
        ProgressPrinter progress(output.progress);
        auto generated = studies::generateText(settings, progress, stopOnSignal());
        progress.finishLine();
        if (!generated && model::wasStopped(generated.error())) return kExitStopped;
        if (!generated) return fail(generated.error());
        const auto& written = generated->at("text");
        auto printed =
            printAnswer(output, *generated,
                        (written.is_string() ? written.get<std::string>() : generated->at("ids").dump()) + "\n");
        if (!printed) return fail(printed.error());
        return generated->value("stopped_early", false) ? kExitStopped : 0;
    }
};

template <class Verb>
std::shared_ptr<Verb> addVerb(CLI::App& app, Action& action, const char* name, const char* help) {
    CLI::App* verb = app.add_subcommand(name, help);
    auto state = std::make_shared<Verb>(*verb);
    addJsonOption(*verb, state->output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
    return state;
}

}  // namespace

void addTextVerbs(CLI::App& app, Action& action) {
    auto tokenize = addVerb<Tokenize>(app, action, "tokenize", "Token ids and pieces of a text");
    addModelPositional(tokenize->flags, tokenize->model);
    addTextOptions(tokenize->flags, tokenize->text, tokenize->file, "--text");
    app.get_subcommand("tokenize")
        ->add_flag("--special", tokenize->special, "Text that spells a special token becomes that token");

    auto score = addVerb<Score>(
        app, action, "score", "Log-probability of every token of a text, perplexity (one window), likely next tokens");
    addModelPositional(score->flags, score->settings.model.model);
    addTextOptions(score->flags, score->text, score->file, "--text");
    score->flags.add("--ids", "LIST", "Token ids separated by commas, taken as they are; no tokenizer is needed then",
                     toOptionalText(score->ids));
    score->flags.add("--top", "K", "Likely next tokens to show after the last one [5]",
                     toNumber<int>(score->settings.top, 0, 1000));
    addMethodOptions(score->flags, score->settings.method);
    addRunningModelOptions(score->flags, score->settings.model, score->settings.threads);
    addProgressOption(*app.get_subcommand("score"), score->output);

    auto generate =
        addVerb<Generate>(app, action, "generate", "Text after a prompt, greedy or sampled, with a KV cache");
    addModelPositional(generate->flags, generate->settings.model.model);
    addTextOptions(generate->flags, generate->text, generate->file, "--prompt");
    generate->flags.add("--ids", "LIST",
                        "Token ids separated by commas, taken as they are; no tokenizer is needed then, and without "
                        "one no end token is known",
                        toOptionalText(generate->ids));
    generate->flags.add("--max-new-tokens", "N",
                        "Tokens at most; an end token ends the text earlier, not with --ids [100]",
                        toNumber<int>(generate->settings.maxNewTokens, 1));
    generate->flags.add("--chat", "PRESET", "Wrap the prompt as a chat turn: " + text::chatPresetNames() + " [none]",
                        [&chat = generate->settings.chat](const std::string&, const std::string& text) -> Result<void> {
                            chat = text == "auto" ? std::string() : studies::namedPreset(text).value_or("");
                            return {};
                        });
    generate->flags.add("--temperature", "T", "0 takes the likeliest token, above 0 samples [0]",
                        toNumber<double>(generate->settings.temperature, 0.0));
    generate->flags.add("--seed", "N", "Seed of the sampling [1]", toNumber<std::uint64_t>(generate->settings.seed));
    addMethodOptions(generate->flags, generate->settings.method);
    addRunningModelOptions(generate->flags, generate->settings.model, generate->settings.threads);
    addProgressOption(*app.get_subcommand("generate"), generate->output);
}

}  // namespace lpes::cli
