#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/run_settings.h"
#include "core/studies/studies.h"

/// Studies of a search (`lpes study`): several searches that differ in one thing, each a run of its own in the data
/// base with its place in the study (`part_of`) in its settings.
namespace lpes::studies {

enum class StudyKind {
    Curves,      ///< levels are kinds of curve
    Points,      ///< levels are numbers of control points
    Resample,    ///< every search sees other search items; selection and report items and the seed are shared
    Seeds,       ///< every search has another seed and the same items
    Convergence  ///< levels are optimizers, each with several seeds
};
[[nodiscard]] std::string studyKindName(StudyKind kind);                  ///< "curves", …
[[nodiscard]] Result<StudyKind> parseStudyKind(const std::string& text);  ///< Usage for anything else

struct StudySettings {
    StudyKind kind = StudyKind::Seeds;
    SearchRunSettings search;         ///< what the searches have in common, and where every setting comes from
    std::vector<std::string> values;  ///< levels of curves, points, convergence; empty: studyValues()
    std::optional<int> repeats;       ///< searches of each level; unset: studyRepeats()
};
/// Levels and searches per level that a study has unless told otherwise.
[[nodiscard]] std::vector<std::string> studyValues(StudyKind kind);
[[nodiscard]] int studyRepeats(StudyKind kind);

/// One of the searches.
struct StudyPart {
    std::string label;  ///< "bezier", "bezier, seed 2", "4 points", "resample 1", …
    std::string level;  ///< what it is a repetition of; the label where each search stands for itself
    SearchRunSettings search;
};
/// Every search of a study, `part_of` left open. All split their items by the settings' seed. Usage for a level that is
/// none or named twice, for levels of a kind that has none, for fewer than two searches, and for what a search's
/// settings refuse (checkCounts).
[[nodiscard]] Result<std::vector<StudyPart>> studyParts(const StudySettings& settings);

/// The search's settings with their origins, and "study", "values" and "repeats". Round-trips.
[[nodiscard]] nlohmann::json toJson(const StudySettings& settings);
[[nodiscard]] Result<StudySettings> studySettingsFromJson(const nlohmann::json& stored);

/// Runs the searches one after another with the model loaded once. Settings and items of all of them are checked before
/// the first one starts. A search that fails is recorded with its reason, and the others go on; the run is then left
/// open for `resume`. The result (study_summary.h says what is in it, besides "run_id", "state", "end_reason",
/// "failed", "seconds", "settings") is computed from the data base, so that report and plots of a study under way say
/// the same of what is finished.
[[nodiscard]] Result<StudyOutcome> runStudy(const StudySettings& settings, store::StoreWriter& store,
                                            ProgressObserver& observer, std::stop_token stop);
/// Goes on where a study was stopped or killed: finished searches are taken as they are, the one that was under way
/// goes on as resumeSearch does. BadInput and Usage as there.
[[nodiscard]] Result<StudyOutcome> resumeStudy(std::int64_t runId, std::optional<int> workers,
                                               store::StoreWriter& store, ProgressObserver& observer,
                                               std::stop_token stop);
/// `study --dry-run`: forecastSearch of the first search, with "study", and "searches": [{"label", "candidates",
/// "prompts", "seconds"}…]; "candidates", "prompts", "tokens" and "seconds" are those of all searches, "stages" those
/// of the first.
[[nodiscard]] Result<nlohmann::json> forecastStudy(const StudySettings& settings, ProgressObserver& observer,
                                                   std::stop_token stop);

}  // namespace lpes::studies
