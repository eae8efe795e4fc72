#include "app/cli/remote_run.h"

#include <fmt/format.h>

#include "app/cli/options.h"
#include "app/cli/progress_printer.h"
#include "app/cli/result_text.h"
#include "app/cli/signals.h"
#include "core/studies/run_settings.h"

namespace lpes::cli {

namespace {

using remote::RemoteEnd;

Result<void> writeProfileOf(const RunVerb& verb, std::int64_t runId) {
    if (verb.profileOut.empty()) return {};
    auto reader = store::StoreReader::open(verb.database);
    if (!reader) return fail(reader.error());
    return writeProfile(**reader, runId, verb.profileOut);
}

Result<int> tellDetached(const RunVerb& verb, const std::string& host, std::int64_t runId) {
    const nlohmann::json answer{{"run_id", runId}, {"state", "running"}, {"host", host}};
    const std::string text = fmt::format("Run {} goes on on {}; {}\n", runId, host, resumeHint(verb, runId));
    if (auto printed = printAnswer(verb.output, answer, text); !printed) return fail(printed.error());
    return 0;
}

}  // namespace

void addRemoteOptions(SettingFlags& flags, CLI::App& verb, RemoteOptions& options) {
    constexpr const char* kGroup = "Another machine";
    flags
        .add("--host", "USER@MACHINE",
             "Run the search on a machine that ssh reaches and where lpes is installed. The model is one of that "
             "machine, a path being relative to the home folder there; data files of this one are copied there. Rows "
             "come home while it runs, a lost connection is made again, Ctrl-C stops it there",
             toText(options.host.name))
        ->group(kGroup);
    flags
        .add("--remote-lpes", "PROGRAM", "--host: lpes there, where a shell does not find it by its name [lpes]",
             toText(options.host.program))
        ->group(kGroup);
    verb.add_flag("--detach", options.detach,
                  "--host: leave the search once its run has begun; lpes resume RUN comes back to it")
        ->group(kGroup);
}

Result<void> checkRemoteOptions(const SettingFlags& flags, const RemoteOptions& options, const RunVerb& verb,
                                bool dryRun) {
    if (!flags.text("--host")) {
        const bool named = flags.text("--remote-lpes").has_value();
        if (!named && !options.detach) return {};
        return fail(ErrorCode::Usage, fmt::format("{} is for searches on another machine; name one with --host",
                                                  named ? "--remote-lpes" : "--detach"));
    }
    if (dryRun) {
        return fail(ErrorCode::Usage,
                    fmt::format("--dry-run measures the machine that it runs on; run it there: ssh {} lpes search "
                                "--dry-run …",
                                options.host.name));
    }
    if (options.detach && !verb.profileOut.empty()) {
        return fail(ErrorCode::Usage,
                    "--out is written when a search has ended, and --detach does not wait for that; give --out to "
                    "lpes resume");
    }
    return remote::checkHost(options.host);
}

remote::RemoteOrder remoteOrder(const RemoteOptions& options, const RunVerb& verb,
                                const studies::SearchRunSettings& settings) {
    remote::RemoteOrder order;
    order.host = options.host;
    order.database = verb.database;
    order.settings = studies::toJson(settings);
    order.dataKeys = studies::dataKeys();
    order.detach = options.detach;
    return order;
}

Result<int> conductRemoteSearch(const RunVerb& verb, const remote::RemoteOrder& order) {
    if (auto fine = checkOutputs(verb); !fine) return fail(fine.error());
    ProgressPrinter progress(verb.output.progress);
    auto outcome = remote::runRemoteSearch(order, progress, stopOnSignal());
    progress.finishLine();
    if (!outcome) return fail(outcome.error());
    if (outcome->end == RemoteEnd::Detached) return tellDetached(verb, order.host.name, outcome->runId);
    if (outcome->runId == 0) {
        printMessage("lpes: stopped before the run began; nothing is stored");
        return kExitStopped;
    }
    const bool finished = outcome->end == RemoteEnd::Finished;
    if (finished) {
        if (auto written = writeProfileOf(verb, outcome->runId); !written) return fail(written.error());
    }
    const bool told = outcome->result.contains("history");  // a job that was killed behind its end printed nothing
    std::string answer = told ? searchText(outcome->result) : std::string();
    if (finished) answer += profileLine(verb, outcome->runId);
    auto printed = printAnswer(verb.output, outcome->result, answer);
    if (!finished) {
        printMessage(fmt::format("lpes: run {} is stopped, and its rows are here; {}", outcome->runId,
                                 resumeHint(verb, outcome->runId)));
        return kExitStopped;
    }
    if (!printed) return fail(printed.error());
    return 0;
}

}  // namespace lpes::cli
