#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/analysis/position_accuracy.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/run_view.h"
#include "core/studies/search_series.h"

// Private to core/studies: what a study of a search found, out of the data base.
namespace lpes::studies {

/// A finished search of a study.
struct StudySearch {
    std::string label, level;
    store::RunRow run;
    nlohmann::json result;                              ///< what it printed
    std::vector<double> scales;                         ///< of the profile that it chose, [L·G] layer by layer
    std::vector<std::string> positions;                 ///< labels
    std::vector<std::string> searchItems;               ///< ids
    std::vector<analysis::ItemOutcome> baseline, best;  ///< held out
};

/// Searches of one level together: each item's outcome at each position is the mean over them.
struct StudyLevel {
    std::string name;
    std::vector<const StudySearch*> searches;
    std::vector<analysis::ItemOutcome> outcomes;  ///< held out
};

struct StudyView {
    StudySettings settings;
    std::vector<StudyPart> parts;      ///< all, finished or not
    std::vector<store::RunRow> begun;  ///< runs of the parts that have begun, in their order
    std::vector<std::string> begunLabels;
    std::vector<StudySearch> searches;  ///< finished ones, in the order of the parts
    std::vector<StudyLevel>
        levels;  ///< those with a finished search; they point into searches: move it, do not copy it
};
/// Database errors, and those of settings that are damaged.
[[nodiscard]] Result<StudyView> viewOfStudy(store::StoreReader& store, std::int64_t runId,
                                            const StudySettings& settings);
[[nodiscard]] Result<StudyView> viewOfStudy(store::StoreReader& store, const store::RunRow& run);

/// {"study", "model", "baseline": {"mean_accuracy", "accuracy_low", "accuracy_high", "gap", "gap_low", "gap_high",
/// "answer_nll", "answer_nll_low", "answer_nll_high"}, "levels": [{"level", "searches", …the same…, "accuracy_sd",
/// "nll_sd", "nll_difference", "nll_low", "nll_high", "p_value", "p_holm", "better", "verdict"}…], "pairs": [{"a", "b",
/// "nll_difference" (b − a), "nll_low", "nll_high", "p_value", "p_holm"}…], "spread": {"searches", "mean_accuracy",
/// "accuracy_sd", "answer_nll", "nll_sd"}, "profiles": [{"level", "searches", "mean", "stddev", "low", "high",
/// "mean_abs_difference", "mean_correlation"}…], "shared_items", "searched_on", "searches": [{"label", "level",
/// "run_id", "state", "error", "seed", "evaluations", "prompts", "seconds", "fitness", "mean_accuracy", …as the
/// baseline's…, "scales"}…]}.
///
/// Intervals are 95 % over the held-out items (analysis: meanAccuracyInterval, PositionBias, NllIntervals), of a level
/// with each item's mean over its searches; null where there is none.
///
/// Tests are paired bootstraps on each item's mean answer NLL over positions, of held-out items that all searches
/// share; p_holm is Holm's adjustment over the levels, or over the pairs, by which "better" and "verdict" are. Standard
/// deviations are over the searches of a level (of the whole study under "spread"), null for a single one. "profiles"
/// are levels of several searches; where each search is a level of its own (resample, seeds) one entry "all" holds all
/// of them. "shared_items": of a resample study the mean share of search items that two searches have in common, else
/// null. "searched_on": null, or ownOverlapJson of the search that saw the most of its report items. What has not
/// finished is in "searches" with its state alone.
[[nodiscard]] Result<nlohmann::json> studySummary(store::StoreReader& store, std::int64_t runId,
                                                  const StudySettings& settings);
[[nodiscard]] nlohmann::json studySummary(const StudyView& study);

/// Plots of a study: the profiles of its levels, best fitness over generations and prompts, held-out scores.
[[nodiscard]] Result<analysis::PlotData> studyCurves(store::StoreReader& store, const RunView& view);
[[nodiscard]] Result<analysis::PlotData> studyConvergence(store::StoreReader& store, const RunView& view);
[[nodiscard]] Result<analysis::PlotData> studyScores(store::StoreReader& store, const RunView& view);

}  // namespace lpes::studies
