#include "app/cli/run_verb.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/options.h"
#include "app/cli/progress_printer.h"
#include "app/cli/report_file.h"
#include "app/cli/signals.h"
#include "core/base/files.h"
#include "core/base/shell_words.h"
#include "core/model/causal_lm.h"

namespace lpes::cli {

std::string resumeHint(const RunVerb& verb, std::int64_t runId) {
    std::string hint = fmt::format("resume with: lpes resume {}", runId);
    if (verb.database != store::defaultDatabasePath()) hint += " --db " + shellWord(verb.database.string());
    return hint;
}

Result<void> writeProfile(store::StoreReader& reader, std::int64_t runId, const std::filesystem::path& file) {
    auto profiles = reader.profiles(runId);
    if (!profiles) return fail(profiles.error());
    if (profiles->empty()) {
        return fail(ErrorCode::Failed,
                    fmt::format("run {} left no profile; '{}' was not written", runId, file.string()));
    }
    const auto newest =
        std::max_element(profiles->begin(), profiles->end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return writeFileAtomically(file, newest->json);
}

std::string profileLine(const RunVerb& verb, std::int64_t runId) {
    return fmt::format("Profile: {}\n", verb.profileOut.empty()
                                            ? fmt::format("stored with run {}; --out FILE writes it to a file", runId)
                                            : verb.profileOut.string());
}

Result<void> checkOutputs(const RunVerb& verb) {
    std::vector<studies::CommandInput> inputs = verb.inputs;
    inputs.push_back({"--db", verb.database});
    if (!verb.profileOut.empty()) {
        if (auto fine = checkOutput(verb.profileOut, inputs); !fine) return fine;
    }
    return verb.reportOut.empty() ? Result<void>{} : checkReportFile(verb.reportOut, inputs);
}

Result<int> conductStudy(const RunVerb& verb, const StudyWork& work, const StudyText& text) {
    if (auto fine = checkOutputs(verb); !fine) return fail(fine.error());
    auto store = store::StoreWriter::open(verb.database, {"lpes " + verb.name});
    if (!store) return fail(store.error());
    ProgressPrinter progress(verb.output.progress);
    for (const std::string& warning : (*store)->warnings()) progress.warned(warning);

    auto outcome = work(**store, progress, stopOnSignal());
    progress.finishLine();
    if (!outcome && model::wasStopped(outcome.error())) {
        printMessage("lpes: stopped before the run began; nothing is stored");
        return kExitStopped;
    }
    if (!outcome) return fail(outcome.error());
    // The profile first: a reader that is gone must not cost it.
    const bool finished = !outcome->stoppedEarly;
    if (finished && !verb.profileOut.empty()) {
        if (auto written = writeProfile((*store)->reader(), outcome->runId, verb.profileOut); !written) {
            return fail(written.error());
        }
    }
    std::string answer = text(outcome->result);
    if (finished && !verb.reportOut.empty()) {
        auto run = (*store)->reader().run(outcome->runId);
        if (!run) return fail(run.error());
        auto plots = writeReport((*store)->reader(), *run, verb.reportOut);
        if (!plots) return fail(plots.error());
        answer += fmt::format("Report: {}\n", verb.reportOut.string());
    }
    if (finished && verb.name == "search") answer += profileLine(verb, outcome->runId);
    auto printed = printAnswer(verb.output, outcome->result, answer);
    if (!finished && outcome->failedParts > 0) {
        printMessage(fmt::format("lpes: {} of the {} failed, the others are stored; {}", outcome->failedParts,
                                 verb.name == "study" ? "searches" : "benchmarks", resumeHint(verb, outcome->runId)));
        return exitCode(ErrorCode::Failed);
    }
    if (!finished) {
        printMessage(verb.resumable
                         ? fmt::format("lpes: run {} is stopped and stored; {}", outcome->runId,
                                       resumeHint(verb, outcome->runId))
                         : fmt::format("lpes: run {} is stopped; what was finished is stored", outcome->runId));
        return kExitStopped;
    }
    if (!printed) return fail(printed.error());
    return 0;
}

Result<int> conductForecast(const OutputOptions& output, const Forecast& work, const StudyText& text) {
    ProgressPrinter progress(output.progress);
    auto forecast = work(progress, stopOnSignal());
    progress.finishLine();
    if (!forecast && model::wasStopped(forecast.error())) {
        printMessage("lpes: stopped; a dry run stores nothing");
        return kExitStopped;
    }
    if (!forecast) return fail(forecast.error());
    if (auto printed = printAnswer(output, *forecast, text(*forecast)); !printed) return fail(printed.error());
    return 0;
}

}  // namespace lpes::cli
