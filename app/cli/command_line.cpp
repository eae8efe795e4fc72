#include "app/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "app/cli/output.h"
#include "app/cli/ranks.h"
#include "app/cli/signals.h"
#include "app/cli/verb.h"
#include "core/base/log.h"
#include "core/base/version.h"
#include "core/model/torch/torch_runtime.h"

namespace lpes::cli {

namespace {

/// Verbs of the design that this version does not have. They are refused by name, whatever follows them.
constexpr std::array<std::string_view, 4> kLater{"lens", "rope", "transfer", "doctor"};

constexpr const char* kFooter =
    "\nMODEL is a folder in Hugging Face layout, a .gguf file, or demo (the bundled model).\n"
    "Standard output carries the result only: a table, or one JSON object with --json. Progress and logs go to "
    "standard "
    "error.\n"
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 bad input file, 4 unsupported, 5 out of memory, 6 data base,\n"
    "            130 stopped by the user (what was finished is stored).\n"
    "Environment: LPES_DB, LPES_MODEL, LPES_DEVICE and LPES_DTYPE stand in for --db, --model, --device and --dtype;\n"
    "             LPES_RENDER names the program that draws for plot and report, LPES_SSH the one that search --host\n"
    "             runs in place of ssh.\n"
    "Not in this version: lens, rope, transfer, doctor.";

int reportError(const Error& error) {
    printMessage("lpes: " + error.text());
    return exitCode(error.code);
}

int refuseLaterVerb(std::string_view verb) {
    return reportError({ErrorCode::Unsupported,
                        fmt::format("'{}' is not available in this version; lpes --help lists what is", verb),
                        {},
                        {}});
}

int reportParseError(const CLI::App& app, const CLI::ParseError& error) {
    // CLI11 uses exceptions for --help and --version too: their text is a result.
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
        const CLI::App* shown = &app;
        std::string before;
        while (!shown->get_subcommands().empty()) {
            before += (before.empty() ? "" : " ") + shown->get_name();
            shown = shown->get_subcommands().front();
        }
        const bool version = dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr;
        std::string text = version ? std::string(error.what()) : shown->help(before);
        if (!text.ends_with('\n')) text += "\n";
        const auto printed = printResult(text);
        return printed ? 0 : reportError(printed.error());
    }
    std::string where = "lpes";
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        where += " " + at->get_name();
    }
    printMessage(fmt::format("lpes: {} ({} --help shows what is accepted)", error.what(), where));
    return exitCode(ErrorCode::Usage);
}

void addVerbs(CLI::App& app, Action& action) {
    addInspectVerb(app, action);
    addTextVerbs(app, action);
    addEvalVerb(app, action);
    addCompareVerbs(app, action);
    addSearchVerbs(app, action);
    addStudyVerb(app, action);
    addAnalysisVerbs(app, action);
    addProfileVerb(app, action);
    addExportVerbs(app, action);
    addPlotVerbs(app, action);
    addTrainVerb(app, action);
    addTaskVerb(app, action);
    addSuiteVerb(app, action);
    addRemoteVerb(app, action);
    addDbVerb(app, action);
}

bool hasVerb(const CLI::App& app, std::string_view name) {
    const auto verbs = app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
    return !verbs.empty();
}

/// What the user writes is stored and printed as JSON, which is UTF-8.
bool isUtf8(const std::string& text) {
    try {
        (void)nlohmann::json(text).dump();
        return true;
    } catch (const nlohmann::json::exception&) {
        return false;
    }
}

int parseAndRun(int argc, char** argv) {
    CLI::App app{"LPES Studio: a position scale for every layer of a language model, searched and verified.", "lpes"};
    app.set_version_flag(
        "--version", [] { return fmt::format("lpes {} (LibTorch {})", kVersion, model::libTorchVersion()); },
        "Print the versions of lpes and LibTorch and exit");
    app.require_subcommand(1);
    app.footer(kFooter);
    app.get_formatter()->column_width(36);
    app.get_formatter()->label("SUBCOMMAND", "VERB");
    Action action;
    addVerbs(app, action);

    if (argc < 2) {
        printMessage(app.help());
        return exitCode(ErrorCode::Usage);
    }
    for (int i = 1; i < argc; ++i) {
        if (isUtf8(argv[i])) continue;
        return reportError({ErrorCode::Usage,
                            fmt::format("argument {} is not UTF-8; rename the file or correct the text", i),
                            {},
                            {}});
    }
    const std::string_view verb = argv[1];
    if (std::find(kLater.begin(), kLater.end(), verb) != kLater.end()) return refuseLaterVerb(verb);
    if (!verb.starts_with("-") && !hasVerb(app, verb)) {
        return reportError(
            {ErrorCode::Usage, fmt::format("unknown verb '{}'; lpes --help lists the verbs", verb), {}, {}});
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return reportParseError(app, error);
    }
    if (const auto alone = requireAlone(verb); !alone) return reportError(alone.error());
    const Result<int> done = action();
    return done ? *done : reportError(done.error());
}

}  // namespace

int runCommandLine(int argc, char** argv) {
    reserveStandardDescriptors();
    startSignals();
    startLog(LogLevel::Warning);
    try {
        return parseAndRun(argc, argv);
    } catch (const std::bad_alloc&) {
        return reportError(
            {ErrorCode::OutOfMemory, "not enough memory; close other programs or take a smaller model", {}, {}});
    } catch (const std::exception& error) {
        return reportError({ErrorCode::Failed, "the program failed; please report this", error.what(), {}});
    }
}

}  // namespace lpes::cli
