#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "core/base/result.h"

namespace lpes::cli {

/// What the chosen verb does once the whole command line is understood: the exit code, or why it failed.
using Action = std::function<Result<int>()>;

// Each adds its verbs to `app` and, when one of them is on the command line, puts its work into `action`.
void addInspectVerb(CLI::App& app, Action& action);
void addTextVerbs(CLI::App& app, Action& action);  ///< tokenize, score, generate
void addEvalVerb(CLI::App& app, Action& action);
void addCompareVerbs(CLI::App& app, Action& action);   ///< compare, bench
void addSearchVerbs(CLI::App& app, Action& action);    ///< search, resume
void addAnalysisVerbs(CLI::App& app, Action& action);  ///< attn, deviation
void addProfileVerb(CLI::App& app, Action& action);
void addExportVerbs(CLI::App& app, Action& action);  ///< export, import
void addPlotVerbs(CLI::App& app, Action& action);    ///< plot, report
void addTrainVerb(CLI::App& app, Action& action);    ///< train moice
void addTaskVerb(CLI::App& app, Action& action);     ///< task show, task check
void addStudyVerb(CLI::App& app, Action& action);    ///< study
void addSuiteVerb(CLI::App& app, Action& action);
void addRemoteVerb(CLI::App& app, Action& action);  ///< remote serve, remote job: the far end of search --host
void addDbVerb(CLI::App& app, Action& action);

}  // namespace lpes::cli
