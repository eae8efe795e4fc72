#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "app/cli/output.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/output_check.h"
#include "core/studies/studies.h"

/// The course of every verb that writes a run into the data base.
namespace lpes::cli {

struct RunVerb {
    std::string name;  ///< "search": for the lock's holder and for hints
    std::filesystem::path database;
    OutputOptions output;
    std::filesystem::path profileOut;  ///< where a search's profile goes; empty: the data base only
    bool resumable = false;
    std::filesystem::path reportOut = {};  ///< where a finished run's report goes (report_file.h); empty: nowhere
    std::vector<studies::CommandInput> inputs = {};  ///< what neither of the two may replace, beside the data base
};

/// Before anything is computed: may profile and report be written where they are wanted (checkOutput,
/// checkReportFile)?
[[nodiscard]] Result<void> checkOutputs(const RunVerb& verb);

using StudyWork = std::function<Result<studies::StudyOutcome>(store::StoreWriter&, ProgressObserver&, std::stop_token)>;
using StudyText = std::function<std::string(const nlohmann::json&)>;

/// Opens the data base as its writer, runs the study with progress and signals, prints its result, writes the profile
/// where one is asked for. 0, or 130 when the user stopped it (what is finished is stored; a search says how to
/// resume).
[[nodiscard]] Result<int> conductStudy(const RunVerb& verb, const StudyWork& work, const StudyText& text);

/// "resume with: lpes resume 3 --db FILE", to be pasted into a shell.
[[nodiscard]] std::string resumeHint(const RunVerb& verb, std::int64_t runId);
/// Writes the newest profile of a run. Failed when it has none.
[[nodiscard]] Result<void> writeProfile(store::StoreReader& reader, std::int64_t runId,
                                        const std::filesystem::path& file);
/// The line that says where a finished search's profile is.
[[nodiscard]] std::string profileLine(const RunVerb& verb, std::int64_t runId);

using Forecast = std::function<Result<nlohmann::json>(ProgressObserver&, std::stop_token)>;

/// The course of `--dry-run`: no data base; progress, signals and the printed result as conductStudy. 0, or 130 when
/// the user stopped it.
[[nodiscard]] Result<int> conductForecast(const OutputOptions& output, const Forecast& work, const StudyText& text);

}  // namespace lpes::cli
