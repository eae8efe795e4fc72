#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/verb.h"
#include "core/base/clock.h"
#include "core/remote/handle.h"
#include "core/store/upgrade.h"
#include "core/studies/plot_queries.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

struct DbVerb {
    explicit DbVerb(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    std::filesystem::path database;
    std::string runName;
    std::vector<std::string> files;
    std::filesystem::path out;

    Result<int> list() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        auto reader = store::StoreReader::open(database);
        if (!reader) return fail(reader.error());
        auto runs = (*reader)->runs();
        if (!runs) return fail(runs.error());
        json rows = json::array();
        Table table({"run", "kind", "state", "started", "seconds", "what"});
        const std::map<std::int64_t, std::string> hosts = hostsOfRuns();
        for (const store::RunRow& run : *runs) {
            const auto host = hosts.find(run.id);
            const bool elsewhere = host != hosts.end();
            rows.push_back({{"run_id", run.id},
                            {"kind", run.kind},
                            {"state", store::runStateName(run.state)},
                            {"label", run.label},
                            {"seed", run.seed},
                            {"created_ms", run.createdMs},
                            {"ended_ms", run.endedMs == 0 ? json(nullptr) : json(run.endedMs)},
                            {"seconds", run.elapsedSeconds},
                            {"end_reason", run.endReason},
                            {"error", run.error},
                            {"host", elsewhere ? json(host->second) : json(nullptr)}});
            table.add({fmt::format("{}", run.id), run.kind, std::string(store::runStateName(run.state)),
                       formatUtc(run.createdMs), fmt::format("{:.1f}", run.elapsedSeconds),
                       elsewhere ? fmt::format("{} (on {}: resume {} goes there)", run.label, host->second, run.id)
                                 : run.label});
        }
        const std::string text = runs->empty() ? fmt::format("No runs in {}\n", database.string()) : table.text();
        auto printed = printAnswer(output, {{"database", database.string()}, {"runs", std::move(rows)}}, text);
        if (!printed) return fail(printed.error());
        return 0;
    }

    /// Where those runs are that can be picked up on another machine.
    std::map<std::int64_t, std::string> hostsOfRuns() const {
        std::map<std::int64_t, std::string> hosts;
        for (const remote::Handle& handle : remote::handlesOf(database)) hosts[handle.runId] = handle.host.name;
        return hosts;
    }

    Result<int> show() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        auto reader = store::StoreReader::open(database);
        if (!reader) return fail(reader.error());
        auto run = studies::findRun(**reader, runName);
        if (!run) return fail(run.error());
        auto described = studies::describeRun(**reader, *run);
        if (!described) return fail(described.error());
        // Whoever reads a run as text wants its parts one under the other.
        const std::string text = described->dump(2, ' ', false, json::error_handler_t::replace) + "\n";
        if (auto printed = printAnswer(output, *described, text); !printed) return fail(printed.error());
        return 0;
    }

    Result<int> extract() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (out.empty()) return fail(ErrorCode::Usage, "--out is missing; name the file that the run is written to");
        auto reader = store::StoreReader::open(database);
        if (!reader) return fail(reader.error());
        auto run = studies::findRun(**reader, runName);
        if (!run) return fail(run.error());
        if (auto written = store::extractRun(database, run->id, out); !written) return fail(written.error());
        const json answer{{"run_id", run->id}, {"file", out.string()}};
        const std::string text = fmt::format("Run {} is in {}; 'lpes db merge' reads it\n", run->id, out.string());
        if (auto printed = printAnswer(output, answer, text); !printed) return fail(printed.error());
        return 0;
    }

    /// Files one after the other: those before one that is refused are merged, and told.
    Result<int> merge() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        for (const std::string& file : files) {
            // Looked at before the data base is opened for writing: a misspelt name must not create one.
            std::error_code missing;
            if (!std::filesystem::exists(file, missing)) {
                return fail(ErrorCode::BadInput, fmt::format("there is no data base '{}'; check the path", file));
            }
        }
        auto store = store::StoreWriter::open(database, {"lpes db merge"});
        if (!store) return fail(store.error());
        json rows = json::array();
        Table table({"file", "run", "here", "kind", "change", "what"});
        std::optional<Error> refused;
        for (const std::string& file : files) {
            auto merged = (*store)->merge(file);
            if (!merged) {
                refused = merged.error();
                break;
            }
            for (const store::MergedRun& run : *merged) {
                const char* change = changeName(run.change);
                rows.push_back({{"file", file},
                                {"from", run.from},
                                {"run_id", run.to},
                                {"kind", run.kind},
                                {"label", run.label},
                                {"change", change},
                                {"ended", run.ended}});
                table.add({file, fmt::format("{}", run.from), fmt::format("{}", run.to), run.kind,
                           run.ended ? change : fmt::format("{}, not ended yet", change), run.label});
            }
        }
        const std::string text = rows.empty() ? std::string("No runs were merged\n") : table.text();
        auto printed = printAnswer(output, {{"database", database.string()}, {"runs", std::move(rows)}}, text);
        if (refused) return fail(*refused);
        if (!printed) return fail(printed.error());
        return 0;
    }

    Result<int> upgrade() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        const auto change = store::upgrade(database);
        if (!change) return fail(change.error());
        const std::string file = database.string();
        json answer{{"database", file}, {"from", store::kSchemaVersion}, {"to", store::kSchemaVersion}};
        std::string text = fmt::format("{} has schema {} already\n", file, store::kSchemaVersion);
        if (*change) {
            answer["from"] = (*change)->from;
            answer["backup"] = (*change)->backup.string();
            text = fmt::format("{} was brought from schema {} to {}; as it was it is kept in {}\n", file,
                               (*change)->from, (*change)->to, answer["backup"].get<std::string>());
        }
        if (auto printed = printAnswer(output, answer, text); !printed) return fail(printed.error());
        return 0;
    }

    static const char* changeName(store::MergedRun::Change change) {
        switch (change) {
            case store::MergedRun::Change::Added:
                return "added";
            case store::MergedRun::Change::Updated:
                return "updated";
            case store::MergedRun::Change::Unchanged:
                return "unchanged";
        }
        return "";
    }
};

/// Parts of the design that this version does not have.
void addLater(CLI::App& db, Action& action, const std::string& name) {
    CLI::App* verb = db.add_subcommand(name)->group("");
    verb->allow_extras();
    verb->callback([name, &action] {
        action = [name]() -> Result<int> {
            return fail(ErrorCode::Unsupported, fmt::format("'db {}' is not available in this version", name));
        };
    });
}

}  // namespace

void addDbVerb(CLI::App& app, Action& action) {
    CLI::App* db = app.add_subcommand(
        "db", "Look into the data base, carry runs from one to another, bring an older one up to date");
    db->require_subcommand(1);
    db->footer("\nNot in this version: check, backup, export, vacuum.");

    CLI::App* listVerb = db->add_subcommand("list", "All runs, newest first");
    auto list = std::make_shared<DbVerb>(*listVerb);
    addDatabaseOption(list->flags, list->database);
    addJsonOption(*listVerb, list->output);
    listVerb->callback([list, &action] { action = [list] { return list->list(); }; });

    CLI::App* showVerb = db->add_subcommand("show", "One run: settings with their origins, result, number of rows");
    auto show = std::make_shared<DbVerb>(*showVerb);
    show->flags.add("RUN", "", "Number of the run, or last", toText(show->runName))->required();
    addDatabaseOption(show->flags, show->database);
    addJsonOption(*showVerb, show->output);
    showVerb->callback([show, &action] { action = [show] { return show->show(); }; });

    CLI::App* extractVerb = db->add_subcommand(
        "extract", "Write one run into a data base of its own, a suite or a study with its parts; also while it runs");
    auto extract = std::make_shared<DbVerb>(*extractVerb);
    extract->flags.add("RUN", "", "Number of the run, or last", toText(extract->runName))->required();
    extract->flags.add("--out", "FILE", "File to write; it must not exist", toPath(extract->out));
    addDatabaseOption(extract->flags, extract->database);
    addJsonOption(*extractVerb, extract->output);
    extractVerb->callback([extract, &action] { action = [extract] { return extract->extract(); }; });

    CLI::App* mergeVerb = db->add_subcommand(
        "merge", "Copy every run of other data bases into this one; what is here already is brought up to date");
    auto merge = std::make_shared<DbVerb>(*mergeVerb);
    mergeVerb->add_option("FILE", merge->files, "Data bases to read; they are left as they are")
        ->required()
        ->type_name("");
    addDatabaseOption(merge->flags, merge->database);
    addJsonOption(*mergeVerb, merge->output);
    mergeVerb->callback([merge, &action] { action = [merge] { return merge->merge(); }; });

    CLI::App* upgradeVerb = db->add_subcommand(
        "upgrade",
        "Bring a data base of an older version up to date, after a backup beside it; whatever writes does so");
    auto upgrade = std::make_shared<DbVerb>(*upgradeVerb);
    addDatabaseOption(upgrade->flags, upgrade->database);
    addJsonOption(*upgradeVerb, upgrade->output);
    upgradeVerb->callback([upgrade, &action] { action = [upgrade] { return upgrade->upgrade(); }; });

    for (const char* name : {"check", "backup", "export", "vacuum"}) addLater(*db, action, name);
}

}  // namespace lpes::cli
