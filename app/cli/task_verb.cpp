#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/verb.h"
#include "core/studies/show_prompt.h"
#include "core/tasks/jsonl.h"

namespace lpes::cli {

namespace {

/// The prompt with its evidence in reverse video, for people; a file gets the text alone, byte for byte.
std::string highlighted(const studies::ShownPrompt& shown) {
    const std::string& text = shown.text.text;
    if (::isatty(STDOUT_FILENO) == 0) return text;
    std::vector<tasks::ByteSpan> spans = shown.text.prompt.evidence;
    std::ranges::sort(spans, {}, &tasks::ByteSpan::begin);
    std::string out;
    std::size_t at = 0;
    for (const tasks::ByteSpan& span : spans) {
        if (span.begin < at) continue;
        out +=
            text.substr(at, span.begin - at) + "\x1b[7m" + text.substr(span.begin, span.end - span.begin) + "\x1b[27m";
        at = span.end;
    }
    return out + text.substr(at);
}

void tellAbout(const studies::ShownPrompt& shown) {
    std::string evidence;
    for (const auto& [begin, end] : shown.tokens.evidence) evidence += fmt::format(" {}–{}", begin, end);
    fmt::print(stderr,
               "item {} of {}, position {}, gold index {}: {} tokens and room for {} more{}, evidence at tokens{}\n",
               shown.item, shown.benchmark.name, shown.position, shown.tokens.goldIndex, shown.tokens.prompt.size(),
               shown.tokens.room,
               shown.fits ? "" : fmt::format(", which is too long for the context of {}", shown.contextLength),
               evidence.empty() ? " that are not marked" : evidence);
    if (!shown.tokens.note.empty()) fmt::print(stderr, "{}\n", shown.tokens.note);
    fmt::print(stderr, "answer that is scored: '{}'; template {}\n", shown.text.answer,
               shown.benchmark.templateHash.substr(0, 12));
}

struct ShowTask {
    explicit ShowTask(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    std::string model, item = "0";
    std::optional<std::string> position, score;
    studies::TaskSpec task;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        studies::ComputeSettings compute;
        compute.model = model;
        if (auto asked = requireModelAndTask(compute, task); !asked) return fail(asked.error());
        const auto shown = studies::showPrompt(model, task, item, position, score);
        if (!shown) return fail(shown.error());
        if (!output.json) tellAbout(*shown);
        if (auto printed = printAnswer(output, studies::toJson(*shown), highlighted(*shown)); !printed)
            return fail(printed.error());
        return 0;
    }
};

struct CheckTask {
    explicit CheckTask(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    std::string file;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        const auto report = tasks::checkJsonl(file);
        if (!report) return fail(report.error());
        nlohmann::json faults = nlohmann::json::array();
        std::string text = fmt::format("{}: {} items, {} faults\n", file, report->items, report->faults.size());
        for (const tasks::JsonlFault& fault : report->faults) {
            faults.push_back({{"line", fault.line}, {"field", fault.field}, {"what", fault.what}});
            text += fmt::format("{}: {}\n", file, fault.text());
        }
        if (!report->complete) text += "Reading stopped there; mend these and check again.\n";
        const nlohmann::json answer = {
            {"file", file}, {"items", report->items}, {"complete", report->complete}, {"faults", std::move(faults)}};
        if (auto printed = printAnswer(output, answer, text); !printed) return fail(printed.error());
        return report->faults.empty() ? 0 : exitCode(ErrorCode::BadInput);
    }
};

}  // namespace

void addTaskVerb(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("task", "Look at the items that a task asks");
    verb->require_subcommand(1);

    CLI::App* show = verb->add_subcommand(
        "show", "The exact prompt of an item on standard output; what stands where on standard error");
    auto shown = std::make_shared<ShowTask>(*show);
    shown->flags.add("--model", "MODEL", "Whose tokenizer counts the tokens [$LPES_MODEL]", toText(shown->model),
                     "LPES_MODEL");
    addTaskOptions(shown->flags, shown->task);
    shown->flags.add("--item", "ID", "The item's id, or its number from 0 [0]", toText(shown->item));
    shown->flags.add("--position", "LABEL", "One of --positions; auto: the first [auto]",
                     toOptionalText(shown->position));
    shown->flags.add("--score", "KIND",
                     "As in eval: a generated answer needs more room; auto: the benchmark's own [auto]",
                     toOptionalText(shown->score));
    addJsonOption(*show, shown->output);
    show->callback([shown, &action] { action = [shown] { return shown->run(); }; });

    CLI::App* check = verb->add_subcommand(
        "check", "Check your own items (JSON Lines, core/tasks/README.md): every fault with its line and field");
    auto checked = std::make_shared<CheckTask>(*check);
    checked->flags.add("FILE", "", "The .jsonl or .jsonl.gz file", toText(checked->file))->required();
    addJsonOption(*check, checked->output);
    check->callback([checked, &action] { action = [checked] { return checked->run(); }; });
}

}  // namespace lpes::cli
