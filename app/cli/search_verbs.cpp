#include <fmt/format.h>

#include <memory>
#include <span>

#include "app/cli/options.h"
#include "app/cli/ranks.h"
#include "app/cli/remote_run.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/search_options.h"
#include "app/cli/verb.h"
#include "core/store/upgrade.h"
#include "core/studies/moice_study.h"
#include "core/studies/plot_queries.h"
#include "core/studies/search_series.h"
#include "core/studies/search_setup.h"
#include "core/studies/suite_study.h"

namespace lpes::cli {

namespace {

/// A search on another machine. One process here follows it: more would start it more than once.
Result<int> conductThere(cluster::Ranks* ranks, const RunVerb& verb, const remote::RemoteOrder& order) {
    if (ranks == nullptr) return conductRemoteSearch(verb, order);
    return fail(
        ErrorCode::Unsupported,
        fmt::format("the search on '{}' is followed by one process; start it without mpirun or srun", order.host.name));
}

struct Search {
    explicit Search(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"search", {}, {}, {}, true};
    studies::SearchRunSettings settings;
    RemoteOptions remote;
    bool dryRun = false;

    Result<int> run(cluster::Ranks* ranks) {
        if (auto chosen = chooseSearchBase(flags, settings); !chosen) return fail(chosen.error());
        if (auto set = flags.apply(&settings.origins); !set) return fail(set.error());
        if (auto used = studies::checkUsed(std::span(&settings, 1)); !used) return fail(used.error());
        if (auto fit = checkRemoteOptions(flags, remote, verb, dryRun); !fit) return fail(fit.error());
        const nlohmann::json shown = studies::toJson(settings);
        verb.inputs = studies::inputsOf(shown);
        printSettings(shown, verb.output);
        if (!remote.host.name.empty()) return conductThere(ranks, verb, remoteOrder(remote, verb, settings));
        if (dryRun) {
            if (ranks != nullptr) ranks->dismiss();
            return conductForecast(
                verb.output,
                [this](ProgressObserver& observer, std::stop_token stop) {
                    return studies::forecastSearch(settings, observer, stop);
                },
                forecastText);
        }
        return conductStudy(
            verb,
            [this, ranks](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
                return studies::runSearch(settings, store, observer, stop, nullptr, ranks);
            },
            searchText);
    }
};

bool isResumable(const std::string& kind) {
    return kind == "search" || kind == "compare" || kind == "suite" || kind == "study" || kind == "train";
}

struct Resume {
    explicit Resume(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    RunVerb verb{"search", {}, {}, {}, true};
    std::string runName;
    std::optional<int> workers;
    bool here = false;

    /// The search on another machine that is meant: one of a run, or one that has no run here yet.
    std::optional<remote::Handle> findHandle(const std::optional<store::RunRow>& run) const {
        if (here) return std::nullopt;
        for (remote::Handle& handle : remote::handlesOf(verb.database)) {
            const bool waiting = handle.runId == 0 && runName == "last";
            if (run && handle.runId == run->id) return std::move(handle);
            if (waiting && (!run || run->createdMs < handle.createdMs)) return std::move(handle);
        }
        return std::nullopt;
    }

    /// Looked up before the data base is opened for writing: a misspelt --db must not create one.
    Result<store::RunRow> find() {
        if (auto upgraded = store::upgrade(verb.database); !upgraded) return fail(upgraded.error());
        auto reader = store::StoreReader::open(verb.database);
        if (!reader) return fail(reader.error());
        if (runName != "last") return studies::findRun(**reader, runName);
        const auto runs = (*reader)->runs();
        if (!runs) return fail(runs.error());
        for (const store::RunRow& run : *runs) {
            if (isResumable(run.kind) && run.state != store::RunState::Finished && !studies::isPartOfSuite(run))
                return run;
        }
        // Nothing is left to resume: what the newest of them says about that is the answer.
        for (const store::RunRow& run : *runs) {
            if (isResumable(run.kind) && !studies::isPartOfSuite(run)) return run;
        }
        return fail(ErrorCode::Usage,
                    fmt::format("the data base '{}' holds no run that can be resumed: no search, "
                                "comparison, suite, study or training; start one first, or name another data "
                                "base with --db",
                                verb.database.string()));
    }

    Result<int> run(cluster::Ranks* ranks) {
        if (auto set = flags.apply(); !set) return fail(set.error());
        auto found = find();
        const auto handle = findHandle(found ? std::optional<store::RunRow>(*found) : std::nullopt);
        if (handle) {
            printMessage(fmt::format("lpes: the search is one of '{}'", handle->host.name));
            return conductThere(ranks, verb, remote::RemoteOrder{handle->host, verb.database, handle, {}, {}, workers});
        }
        if (!found) return fail(found.error());
        const nlohmann::json settings = nlohmann::json::parse(found->settingsJson, nullptr, false);
        if (settings.is_object()) {
            verb.inputs = studies::inputsOf(settings);
            printSettings(settings, verb.output);
        }
        const std::string kind = found->kind;
        if (!isResumable(kind)) {
            return fail(
                ErrorCode::Usage,
                fmt::format("run {} is of the kind '{}', which cannot be resumed; searches, comparisons, suites, "
                            "studies and trainings can",
                            found->id, kind));
        }
        if (kind == "study" ? !verb.profileOut.empty() : kind != "search" && (workers || !verb.profileOut.empty())) {
            return fail(ErrorCode::Usage,
                        fmt::format("{} for searches; leave {} out for a {}",
                                    kind == "study" ? "--out is" : "--workers and --out are",
                                    kind == "study" ? "it" : "them", kind == "train" ? "training" : kind));
        }
        if (kind != "search" && ranks != nullptr) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("run {} is a {}, which one machine does; resume it without mpirun or srun",
                                    found->id, kind == "train" ? "training" : kind));
        }
        verb.name = kind;
        return conductStudy(
            verb,
            [this, kind, ranks, id = found->id](store::StoreWriter& store, ProgressObserver& observer,
                                                std::stop_token stop) {
                if (kind == "suite") return studies::resumeSuite(id, store, observer, stop);
                if (kind == "study") return studies::resumeStudy(id, workers, store, observer, stop);
                if (kind == "train") return studies::resumeTraining(id, store, observer, stop);
                return kind == "compare" ? studies::resumeComparison(id, store, observer, stop)
                                         : studies::resumeSearch(id, workers, store, observer, stop, nullptr, ranks);
            },
            kind == "suite"     ? suiteText
            : kind == "study"   ? studyText
            : kind == "train"   ? trainText
            : kind == "compare" ? compareText
                                : searchText);
    }
};

}  // namespace

void addSearchVerbs(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand(
        "search", "Search for a profile, genetic or with other optimizers, checked on held-out items");
    auto state = std::make_shared<Search>(*verb);
    addComputeOptions(state->flags, state->settings.compute);
    addWorkersOption(state->flags, state->settings.compute);
    addTaskOptions(state->flags, state->settings.task);
    addSearchOptions(state->flags, state->settings);
    addGuardrailOptions(state->flags, state->settings.guardrail);
    state->flags.add("--out", "FILE", "Write the profile here as well; the data base always has it",
                     toPath(state->verb.profileOut));
    verb->add_flag(
        "--dry-run", state->dryRun,
        "Effective settings, and what the search will take: prompts, time and memory from a calibration of some "
        "seconds; nothing is written");
    addRemoteOptions(state->flags, *verb, state->remote);
    addDatabaseOption(state->flags, state->verb.database);
    addJsonOption(*verb, state->verb.output);
    addProgressOption(*verb, state->verb.output);
    verb->footer(
        "\nDefaults are in brackets. With --model demo and no --task the demo study is run, whose own values replace "
        "them\n"
        "where nothing is given: key-value retrieval with 20 pairs of words, population 12, 6 generations, 16 search,\n"
        "16 selection and 40 report items.\n\n"
        "mpirun -n K lpes search ... (or srun, or with resume) searches with K processes, on one machine or several: "
        "rank\n"
        "0 has search and data base, all evaluate, each with --workers candidates at the same time and\n"
        "--threads-per-worker threads, which has to be given. The history is the same for any K. --dry-run forecasts\n"
        "for rank 0's machine alone.");
    verb->callback(
        [state, &action] { action = [state] { return leadOrServe([&](auto* ranks) { return state->run(ranks); }); }; });

    CLI::App* resumeVerb = app.add_subcommand(
        "resume",
        "Go on with a stopped, interrupted or failed search, comparison, suite, study or training, where it ran");
    auto resume = std::make_shared<Resume>(*resumeVerb);
    resume->flags
        .add("RUN", "", "Number of the run, or last (the newest that can be resumed)", toText(resume->runName))
        ->required();
    resume->flags.add("--workers", "N", "Candidates evaluated at the same time; auto: as the run was started [auto]",
                      toOptionalNumber<int>(resume->workers, 1, 1024));
    resume->flags.add("--out", "FILE", "Write the profile here as well; the data base always has it",
                      toPath(resume->verb.profileOut));
    resumeVerb->add_flag("--here", resume->here,
                         "Go on on this machine with a search of another one (--host), whatever becomes of it there");
    addDatabaseOption(resume->flags, resume->verb.database);
    addJsonOption(*resumeVerb, resume->verb.output);
    addProgressOption(*resumeVerb, resume->verb.output);
    resumeVerb->callback([resume, &action] {
        action = [resume] { return leadOrServe([&](auto* ranks) { return resume->run(ranks); }); };
    });
}

}  // namespace lpes::cli
