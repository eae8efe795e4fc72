#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/verb.h"
#include "core/base/files.h"
#include "core/exporters/longrope_csv.h"
#include "core/exporters/profile.h"
#include "core/store/store.h"
#include "core/studies/front_query.h"
#include "core/studies/plot_queries.h"

namespace lpes::cli {

namespace {

constexpr std::array<std::string_view, 3> kLaterFormats{"transformers", "vllm", "llama.cpp"};

Result<void> checkFormat(const std::string& to) {
    if (to == "json" || to == "csv" || to == "longrope") return {};
    if (std::find(kLaterFormats.begin(), kLaterFormats.end(), to) != kLaterFormats.end()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("--to {} is not available in this version; available: json, csv, longrope", to));
    }
    return fail(ErrorCode::Usage, fmt::format("--to '{}' is no format; available: json, csv, longrope", to));
}

constexpr std::string_view kRunPrefix = "run:";

/// The profile that a search stored with its run, run:N or run:last; of a front the member that is picked.
Result<exporters::LoadedProfile> storedProfile(const std::string& name, const std::filesystem::path& database,
                                               std::optional<int> pick) {
    auto reader = store::StoreReader::open(database);
    if (!reader) return fail(reader.error());
    const std::string run = name.substr(kRunPrefix.size());
    auto row = run == "last" ? (*reader)->lastRun("search") : studies::findRun(**reader, run);
    if (!row) return fail(row.error());
    if (pick) {
        auto picked = studies::profileOfFront(**reader, *row, *pick);
        if (!picked) return fail(picked.error());
        return exporters::LoadedProfile{std::move(*picked), {}};
    }
    auto profiles = (*reader)->profiles(row->id);
    if (!profiles) return fail(profiles.error());
    if (profiles->empty()) {
        return fail(ErrorCode::Usage, fmt::format("run {} is {} and has no profile; only a finished search has one",
                                                  row->id, store::runStateName(row->state)));
    }
    return exporters::profileFromJson(profiles->back().json, name);
}

/// Reads a profile and, when a model is named, checks that it fits it, and says how many frequencies the model has.
Result<exporters::Profile> readChecked(const std::string& file, const std::filesystem::path& database,
                                       const std::string& model, bool takeIdentity, std::optional<int> pick = {},
                                       int* frequencies = nullptr) {
    const bool stored = file.starts_with(kRunPrefix);
    if (pick && !stored) {
        return fail(
            ErrorCode::Usage,
            fmt::format("--pick chooses from the front of a run, and '{}' is a file; name run:N or run:last", file));
    }
    auto loaded = stored ? storedProfile(file, database, pick) : exporters::readProfile(file);
    if (!loaded) return fail(loaded.error());
    std::vector<std::string> warnings = loaded->warnings;
    if (!model.empty()) {
        auto opened = studies::openModel(model, false);
        if (!opened) return fail(opened.error());
        const exporters::ProfileModel identity = studies::profileModel(opened->weights->config());
        auto fits = exporters::checkFits(loaded->profile, identity);
        if (!fits) return fail(fits.error());
        warnings.insert(warnings.end(), fits->begin(), fits->end());
        if (frequencies != nullptr) *frequencies = identity.frequencies;
        if (takeIdentity) loaded->profile.model = identity;
    }
    for (const std::string& warning : warnings) printMessage("lpes: warning: " + warning);
    return std::move(loaded->profile);
}

/// What reading a profile reads.
std::vector<studies::CommandInput> inputsOf(const std::string& file, const std::filesystem::path& database,
                                            const std::string& model) {
    std::vector<studies::CommandInput> inputs;
    if (file.starts_with(kRunPrefix)) {
        inputs.push_back({"--db", database});
    } else {
        inputs.push_back({"PROFILE", file});
    }
    if (!model.empty()) studies::addModelInput(inputs, "--model", model);
    return inputs;
}

struct Export {
    explicit Export(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    std::string file, to, model;
    std::filesystem::path database;
    std::optional<std::string> out;
    std::optional<int> pick;
    bool unproven = false;

    [[nodiscard]] Result<std::string> inFormat(const exporters::Profile& profile, int frequencies) const {
        if (to == "csv") return exporters::toCsv(profile);
        if (to == "longrope") return exporters::profileToLongRope(profile, frequencies);
        return exporters::toJson(profile);
    }

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto known = checkFormat(to); !known) return fail(known.error());
        if (!out && output.json && to != "json") {
            return fail(ErrorCode::Usage,
                        fmt::format("--json prints one JSON object; give --out FILE for --to {}", to));
        }
        if (out) {
            if (auto fine = checkOutput(*out, inputsOf(file, database, model)); !fine) return fail(fine.error());
        }
        int frequencies = 0;
        auto profile = readChecked(file, database, model, false, pick, &frequencies);
        if (!profile) return fail(profile.error());
        if (const auto reason = exporters::unprovenReason(*profile); reason && to != "json" && !unproven) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("{}; export it as json, or give --unproven to write {} all the same", *reason, to));
        }
        Result<std::string> written = inFormat(*profile, frequencies);
        if (!written) return fail(written.error());
        const std::string& text = *written;
        if (!out) {
            if (auto printed = printResult(text); !printed) return fail(printed.error());
            return 0;
        }
        if (auto done = writeFileAtomically(*out, text); !done) return fail(done.error());
        auto printed = printAnswer(output, {{"to", to}, {"out", *out}, {"layers", profile->layers()}},
                                   fmt::format("Written to {}\n", *out));
        if (!printed) return fail(printed.error());
        return 0;
    }
};

struct Import {
    explicit Import(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    std::string file, model, out;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto fine = checkOutput(out, inputsOf(file, {}, model)); !fine) return fail(fine.error());
        auto profile = readChecked(file, {}, model, true);
        if (!profile) return fail(profile.error());
        if (auto written = writeFileAtomically(out, exporters::toJson(*profile)); !written)
            return fail(written.error());
        auto printed = printAnswer(
            output, {{"profile", out}, {"layers", profile->layers()}, {"scales", exporters::scalesJson(*profile)}},
            fmt::format("Written to {} ({} layers)\n", out, profile->layers()));
        if (!printed) return fail(printed.error());
        return 0;
    }
};

}  // namespace

void addExportVerbs(CLI::App& app, Action& action) {
    CLI::App* exportVerb = app.add_subcommand("export", "Write a profile in another format");
    auto exporter = std::make_shared<Export>(*exportVerb);
    exporter->flags
        .add("PROFILE", "", "Profile, JSON or CSV; run:N or run:last for the one that a search stored",
             toText(exporter->file))
        ->required();
    exporter->flags
        .add(
            "--to", "FORMAT",
            "json, csv (layer,scale, or layer,group,scale) or longrope (a row of factors per layer; a profile by layer "
            "needs --model)",
            toText(exporter->to))
        ->required();
    exporter->flags.add(
        "--pick", "N", "Member of the front of a search with --objectives; auto: the one that the search picked [auto]",
        toOptionalNumber<int>(exporter->pick, 1));
    exporter->flags.add("--model", "MODEL", "Model that the profile must fit", toText(exporter->model));
    exporter->flags.add("--out", "FILE", "File to write [standard output]", toOptionalText(exporter->out));
    exportVerb->add_flag("--unproven", exporter->unproven,
                         "Write a searched profile whose gain on held-out items is inside the noise into a format that "
                         "does not say so");
    addDatabaseOption(exporter->flags, exporter->database);
    addJsonOption(*exportVerb, exporter->output);
    exportVerb->callback([exporter, &action] { action = [exporter] { return exporter->run(); }; });

    CLI::App* importVerb = app.add_subcommand(
        "import", "Read a CSV (layer,scale or layer,group,scale) or JSON profile and write it as a profile");
    auto importer = std::make_shared<Import>(*importVerb);
    importer->flags.add("FILE", "", "CSV or JSON to read", toText(importer->file))->required();
    importer->flags.add("--model", "MODEL", "Model that it must fit and whose identity the profile takes",
                        toText(importer->model));
    importer->flags.add("--out", "FILE", "Profile to write (JSON)", toText(importer->out))->required();
    addJsonOption(*importVerb, importer->output);
    importVerb->callback([importer, &action] { action = [importer] { return importer->run(); }; });
}

}  // namespace lpes::cli
