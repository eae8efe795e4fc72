#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/run_settings.h"
#include "core/studies/studies.h"

/// A declared set of benchmarks, each asked of the same methods: the tables of a paper in one run.
namespace lpes::studies {

/// One benchmark of a suite.
struct SuiteBenchmark {
    std::string label;  ///< heads its column
    TaskSpec task;
    std::optional<std::string> score;            ///< unset: the benchmark's own
    std::optional<std::string> sharedPositions;  ///< the file's, for a benchmark that says none and can move evidence
};

struct SuiteSettings {
    std::string name;
    std::string file;  ///< that it was read from, for messages; not stored
    ComputeSettings compute;
    std::vector<std::string> methods;  ///< at least one; the first is what the others are compared with
    MethodHashes methodHashes;         ///< resolved when the suite begins; every benchmark asks these
    std::vector<SuiteBenchmark> benchmarks;
    /// [benchmarks] Of each one's data and prompts, settled when the suite begins; what has not begun by then asks
    /// others no more than what has.
    std::vector<std::string> dataHashes;
    /// Of the guardrail's exams, by their names, settled with them.
    std::map<std::string, std::string> guardrailHashes;
    /// Labels of benchmarks that have an item in common, by its content; settled when the suite begins.
    std::vector<std::pair<std::string, std::string>> sharedItems;
    GuardrailSettings guardrail;
    std::uint64_t seed = 1;  ///< of the paired tests' and intervals' resamples
    std::map<std::string, std::string> origins;
};

/// Reads a suite file (JSON, core/studies/SUITES.md): {"format": "lpes-suite", "version": 1, "name", "model", "dtype",
/// "device", "threads_per_worker", "seed", "methods": […], "positions", "limit", "chat", "bos", "truncation",
/// "benchmarks": [{"label", "task", "data", …every key of a task…, "score"}…]}. "positions" to "truncation" beside
/// "benchmarks" are what benchmarks have that do not say otherwise ("positions" where evidence can be moved). Paths are
/// relative to the file's folder, a model's where it has a slash. BadInput with the file and the key for anything that
/// is not understood, and for a value that is wrong whatever the model and the data are.
[[nodiscard]] Result<SuiteSettings> readSuite(const std::filesystem::path& file);
/// As it is stored with the run, every setting with its origin; paths are absolute. Round-trips.
[[nodiscard]] nlohmann::json toJson(const SuiteSettings& settings);
[[nodiscard]] Result<SuiteSettings> suiteFromJson(const nlohmann::json& stored);

/// Runs every benchmark as a comparison of its own in the data base, one after another, with the model loaded once. All
/// items and methods are checked before the weights are read; BadInput with file and key for what the file has wrong. A
/// benchmark that fails is recorded with its reason, and the others go on; Failed when all of them fail. The guardrail
/// is measured in the first benchmark that does not.
[[nodiscard]] Result<StudyOutcome> runSuite(const SuiteSettings& settings, store::StoreWriter& store,
                                            ProgressObserver& observer, std::stop_token stop,
                                            const LoadedModel* loaded = nullptr);
/// Why the averages of a suite's "table" have no interval; empty where nothing keeps them from having one.
[[nodiscard]] std::string averageNote(const nlohmann::json& table);
/// Stands behind the figures of a suite's table of which heldOutNote speaks.
inline constexpr const char* kNotHeldOutMark = "*";
/// That figures of a suite's "table" are of items that a profile was searched on, with the mark that stands behind
/// them; empty where none is.
[[nodiscard]] std::string heldOutNote(const nlohmann::json& table);
/// Is it one of a suite's benchmarks, which the suite itself takes up again?
[[nodiscard]] bool isPartOfSuite(const store::RunRow& run);
/// The state of a suite or a study in words, from its result: "unfinished: 1 of 3 benchmarks failed" where nobody
/// stopped it, which the data base calls stopped because it can be resumed.
[[nodiscard]] std::string stateText(const nlohmann::json& result);
/// Goes on where a suite was stopped or killed: finished benchmarks are taken as they are, the one that was under way
/// goes on behind its last finished prompt. BadInput as resumeComparison, before any of them.
[[nodiscard]] Result<StudyOutcome> resumeSuite(std::int64_t runId, store::StoreWriter& store,
                                               ProgressObserver& observer, std::stop_token stop,
                                               const LoadedModel* loaded = nullptr);

}  // namespace lpes::studies
