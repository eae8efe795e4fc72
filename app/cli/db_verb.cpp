#include <fmt/format.h>

#include <memory>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/verb.h"
#include "core/base/clock.h"
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

    Result<int> list() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        auto reader = store::StoreReader::open(database);
        if (!reader) return fail(reader.error());
        auto runs = (*reader)->runs();
        if (!runs) return fail(runs.error());
        json rows = json::array();
        Table table({"run", "kind", "state", "started", "seconds", "what"});
        for (const store::RunRow& run : *runs) {
            rows.push_back({{"run_id", run.id},
                            {"kind", run.kind},
                            {"state", store::runStateName(run.state)},
                            {"label", run.label},
                            {"seed", run.seed},
                            {"created_ms", run.createdMs},
                            {"ended_ms", run.endedMs == 0 ? json(nullptr) : json(run.endedMs)},
                            {"seconds", run.elapsedSeconds},
                            {"end_reason", run.endReason},
                            {"error", run.error}});
            table.add({fmt::format("{}", run.id), run.kind, std::string(store::runStateName(run.state)),
                       formatUtc(run.createdMs), fmt::format("{:.1f}", run.elapsedSeconds), run.label});
        }
        const std::string text = runs->empty() ? fmt::format("No runs in {}\n", database.string()) : table.text();
        auto printed = printAnswer(output, {{"database", database.string()}, {"runs", std::move(rows)}}, text);
        if (!printed) return fail(printed.error());
        return 0;
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
    CLI::App* db = app.add_subcommand("db", "Look into the data base");
    db->require_subcommand(1);
    db->footer("\nNot in this version: check, backup, export, merge, vacuum.");

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

    for (const char* name : {"check", "backup", "export", "merge", "vacuum"}) addLater(*db, action, name);
}

}  // namespace lpes::cli
