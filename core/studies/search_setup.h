#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/analysis/scale_variants.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/studies/item_evaluator.h"
#include "core/studies/objectives.h"
#include "core/studies/run_session.h"
#include "core/studies/run_settings.h"
#include "core/tasks/score_kind.h"
#include "core/tasks/splits.h"

/// What a search needs before its first candidate: checked settings, loaded model, items in their splits.
namespace lpes::studies {

/// What a search will do, checked in everything that can be told without weights. The plans and the guardrail stand on
/// the tokenizer of the model that they were made for.
struct SearchPlan {
    SearchRunSettings settings;  ///< with the groups of scales resolved
    tasks::ScoreKind score;
    std::vector<double> weights;  ///< per position
    tasks::Splits splits;
    PromptPlan searchPlan, selectPlan, reportPlan;
    Guardrail guardrail;
    ObjectiveRule objectives;
};

/// A plan with the loaded model; all settings are resolved.
struct PreparedSearch : SearchPlan {
    Workbench bench;
};

/// A search that is not begun yet.
struct SearchOutline {
    OpenedBench bench;
    SearchPlan plan;
};

/// Usage for a number that makes no sense and for settings that do not go together, before anything is loaded.
[[nodiscard]] Result<void> checkCounts(const SearchRunSettings& settings);

/// Usage for an option that the user has given, by its origin, and that none of these searches looks at.
[[nodiscard]] Result<void> checkUsed(std::span<const SearchRunSettings> searches);

/// Items that a generated data set must have for these settings.
[[nodiscard]] std::int64_t itemsNeeded(const SearchRunSettings& settings);

/// Most distinct candidates that the search can evaluate.
[[nodiscard]] std::int64_t mostCandidates(const search::SearchSettings& settings, int numLayers);

/// Prompts that a step of a descent costs on this search split, a slope's counted kSlopeCost times.
[[nodiscard]] std::int64_t promptsOfAStep(const PreparedSearch& prepared);

/// Short texts of the guardrail that every candidate is measured on, and the baseline; none where nothing is.
struct ShortTexts {
    std::int64_t prompts = 0, tokens = 0;
};
[[nodiscard]] ShortTexts shortTextsOf(const SearchPlan& plan);
/// Every candidate's short contexts count in these settings.
[[nodiscard]] bool measuresShortContexts(const SearchRunSettings& settings);
/// The option that wants them, where they are measured.
[[nodiscard]] const char* shortOption(const SearchRunSettings& settings);

/// Bytes that the hidden states may take that candidates hand on to one another; nothing where they hand on none.
[[nodiscard]] std::optional<std::int64_t> reuseBytes(const SearchRunSettings& settings);

/// Variants that are asked the report's items at most: baseline and winner; with several objectives all finalists.
[[nodiscard]] std::int64_t reportedVariants(const SearchRunSettings& settings);

/// The groups of these settings for this model: "kv-head" takes its key/value heads. Usage when bands do not end at its
/// last frequency, and what rope::checkMethod refuses.
[[nodiscard]] Result<curve::ScaleGroups> groupsForModel(const curve::ScaleGroups& groups,
                                                        const model::ModelConfig& config);

/// Which variants of a profile have their deviation measured: noise and shuffling are defined over layers, so of scales
/// by head or band it is the profile alone.
[[nodiscard]] std::span<const analysis::ScaleVariant> deviationVariants(const curve::ScaleGroups& groups);

/// Prompts that the probes at the end of a search run.
struct ProbeCounts {
    std::int64_t attention = 0, deviation = 0, slopes = 0;  ///< prompts
    std::int64_t variants = 0;                              ///< whose deviation is measured
};
[[nodiscard]] ProbeCounts probeCounts(const PreparedSearch& prepared);

/// Opens model and items and makes the splits, unless a resumed run brings its own (`stored`). Everything that a search
/// refuses before it begins is refused here, but for a device that is not there and memory that does not suffice.
/// kStoppedMessage when stopped.
[[nodiscard]] Result<SearchOutline> outlineSearch(const SearchRunSettings& settings, std::stop_token stop,
                                                  const std::optional<tasks::Splits>& stored = std::nullopt,
                                                  const LoadedModel* loaded = nullptr);

/// Loads the model of an outline that was made with `loaded`.
[[nodiscard]] Result<PreparedSearch> loadSearch(SearchOutline outline, ProgressObserver& observer, std::stop_token stop,
                                                const LoadedModel* loaded = nullptr);

/// outlineSearch, and loads the model.
[[nodiscard]] Result<PreparedSearch> prepareSearch(const SearchRunSettings& settings,
                                                   const std::optional<tasks::Splits>& stored,
                                                   ProgressObserver& observer, std::stop_token stop,
                                                   const LoadedModel* loaded = nullptr);

/// The splits that the settings ask for: by their split seed, and of a resample its own search items.
[[nodiscard]] Result<tasks::Splits> makeSearchSplits(const SearchRunSettings& settings, const PreparedTask& task);
[[nodiscard]] Result<void> writeSplits(store::StoreWriter& store, std::int64_t runId, const tasks::Splits& splits);
/// Nothing when the run was killed before its splits were written.
[[nodiscard]] Result<std::optional<tasks::Splits>> readSplits(store::StoreReader& reader, std::int64_t runId);

}  // namespace lpes::studies
