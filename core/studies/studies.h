#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/cluster/ranks.h"
#include "core/store/store.h"
#include "core/studies/model_setup.h"
#include "core/studies/run_settings.h"

/// The use-cases that write a run. Each is a plain function that blocks, reports progress, answers `stop` within a
/// second, and leaves the data base consistent whatever happens. Called on one thread; they start workers of their own.
namespace lpes::studies {

/// What a study leaves: the object that `--json` prints (cli.md), also stored with the run.
struct StudyOutcome {
    std::int64_t runId = 0;
    bool stoppedEarly = false;  ///< stopped by the user; `result` then holds what there is, and the run can be resumed
    nlohmann::json result;
    int failedParts = 0;  ///< of a suite: benchmarks that failed, which resuming tries again; 0 when it was the user
                          ///< who stopped it
};

/// `eval`: accuracy by position of one method. "fitness", of each position and in all, is what a search with this score
/// would maximise on these items, with equal weights and without a gap penalty; null where no item was scored.
[[nodiscard]] Result<StudyOutcome> runEvaluation(const EvalSettings& settings, store::StoreWriter& store,
                                                 ProgressObserver& observer, std::stop_token stop);

/// `compare`: several methods on the same items, in turns: accuracy by position, gap, paired tests against the first
/// one, latency, memory, passes. An item that is too long for one method is left out for all.
[[nodiscard]] Result<StudyOutcome> runComparison(const CompareSettings& settings, store::StoreWriter& store,
                                                 ProgressObserver& observer, std::stop_token stop,
                                                 const LoadedModel* loaded = nullptr);

/// `resume` of a comparison: every finished outcome is reused; time is measured on what is computed now. BadInput and
/// Usage as resumeSearch; BadInput when a file behind a method no longer holds what was compared.
[[nodiscard]] Result<StudyOutcome> resumeComparison(std::int64_t runId, store::StoreWriter& store,
                                                    ProgressObserver& observer, std::stop_token stop,
                                                    const LoadedModel* loaded = nullptr);

/// `search`: genetic search, selection, report, attention and deviation of baseline and winner; the profile is stored
/// with the run. `loaded`: a model in memory that is used when it is the settings' own (openBench). `ranks`: other
/// processes of this program that evaluate as well (serveSearch); the history is the same as without. When one of them
/// is lost the run ends as interrupted, with isLostPeer. "layers_reused" of the result is LayerReuse::summary of this
/// sitting (layer_reuse.h), or null; unlike all else but the times it depends on workers and interruptions.
/// "prefixes_shared" {"tokens", "computed"}: tokens of the search items that were scored by all evaluations, and those
/// of them that were computed because no other prompt of the pass begins with the same; null without sharePrefixes.
[[nodiscard]] Result<StudyOutcome> runSearch(const SearchRunSettings& settings, store::StoreWriter& store,
                                             ProgressObserver& observer, std::stop_token stop,
                                             const LoadedModel* loaded = nullptr, cluster::Ranks* ranks = nullptr);

/// `resume`: goes on with a stopped, interrupted or failed search; every finished item outcome is reused, and the
/// history becomes what an uninterrupted run would have had. `workers` and `ranks` may differ from before. BadInput
/// when the model file or the items are no longer the same (fingerprints); Usage when the run is no search or is
/// finished.
[[nodiscard]] Result<StudyOutcome> resumeSearch(std::int64_t runId, std::optional<int> workers,
                                                store::StoreWriter& store, ProgressObserver& observer,
                                                std::stop_token stop, const LoadedModel* loaded = nullptr,
                                                cluster::Ranks* ranks = nullptr);

/// Effective settings, candidates, tokens and the model's memory, without loading weights or writing anything.
[[nodiscard]] Result<nlohmann::json> planSearch(const SearchRunSettings& settings, std::stop_token stop = {});
/// `search --dry-run`: planSearch, and what the search will take at most, from a calibration of some seconds with the
/// run's own passes, threads and workers; nothing is left behind. Adds {"prompts", "tokens", "seconds", "stages":
/// [{"stage", "candidates", "prompts", "tokens", "seconds", "derivation"}…], "memory": {"program_bytes",
/// "loaded_bytes", "weight_bytes", "activation_bytes", "cache_bytes", "reuse_bytes", "total_bytes", "measured_bytes"},
/// "calibration": {"seconds", "passes", "workers", "all_workers": [{"tokens", "seconds"}…]}, "paper": {…}}; the paper's
/// is arithmetic for its setting, not this run's (paper_forecast.h). Refuses what the search would refuse; answers a
/// stop with kStoppedMessage.
[[nodiscard]] Result<nlohmann::json> forecastSearch(const SearchRunSettings& settings, ProgressObserver& observer,
                                                    std::stop_token stop);

/// `attn`: attention by position of one method. Usage for `queries` that are neither "last" nor "all".
[[nodiscard]] Result<StudyOutcome> runAttention(const AttentionSettings& settings, store::StoreWriter& store,
                                                ProgressObserver& observer, std::stop_token stop);

/// `deviation`: representation structure deviation per layer against the baseline.
[[nodiscard]] Result<StudyOutcome> runDeviation(const DeviationSettings& settings, store::StoreWriter& store,
                                                ProgressObserver& observer, std::stop_token stop);

}  // namespace lpes::studies
