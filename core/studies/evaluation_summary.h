#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/position_accuracy.h"
#include "core/rope/method_spec.h"
#include "core/store/store.h"
#include "core/studies/item_evaluator.h"
#include "core/tasks/splits.h"

/// What an evaluation says besides its accuracy by position. Each is the JSON that `--json` prints.
namespace lpes::studies {

/// [{"group", "n", "accuracy", "ci_low", "ci_high"}…] in the order of the items, over items that were run at every
/// position; empty where the task has no groups. "accuracy" is a mean over items (micro average). `graded`, here and
/// below: the rule gives more than right and wrong (PromptPlan::graded), which decides on the kind of interval.
[[nodiscard]] nlohmann::json groupsJson(const PreparedTask& task, std::span<const analysis::ItemOutcome> outcomes,
                                        bool graded);

/// [{"from", "to", "n", "accuracy", "ci_low", "ci_high"}…]: prompts by their length in tokens, `from` inclusive, `to`
/// exclusive, in powers of two from 512.
[[nodiscard]] nlohmann::json lengthsJson(std::span<const analysis::ItemOutcome> outcomes, bool graded);

/// {"n", "equal", "equal_interval", "kappa", "kappa_interval", "empty_answers", "teacher_forced", "generated"} over the
/// prompts that were scored both ways: how often the strict score and the benchmark's rule on the generated text
/// (right: 1, wrong: below) say the same, Cohen's kappa (null where one of them never differs), both with {"low",
/// "high"} (analysis::ScoringAgreement), how many answers were empty, and both means. A graded rule has no agreement:
/// equal, kappa and their intervals are null then. Null where no prompt was.
[[nodiscard]] nlohmann::json agreementJson(std::span<const analysis::ItemOutcome> outcomes);

/// What evaluations, comparisons and searches say of a method's outcomes, which `accuracy` sums up: "items",
/// "positions" (positionsJson), "mean_accuracy", "gap" and "mean_answer_nll", each with its "…_interval" {"low",
/// "high"} over items (analysis: meanAccuracyInterval, PositionBias, NllIntervals), groupsJson, lengthsJson,
/// "answers_with_unknown_tokens" (generated answers with tokens outside the vocabulary, which their texts are without),
/// and
/// "bias": {"psi", "psi_interval", "u_shape", "u_shape_interval", "curvature", "curvature_interval", "p_value", "test",
/// "found", "verdict"} (analysis::PositionBias; null where an index is not defined), null where the evidence has one
/// position only. `seed`: of the resamples.
[[nodiscard]] nlohmann::json outcomesJson(const PreparedTask& task, const analysis::AccuracyByPosition& accuracy,
                                          std::span<const analysis::ItemOutcome> outcomes, std::uint64_t seed,
                                          bool graded);

/// Of a result, or one method's part of it, whose "answers_with_unknown_tokens" (outcomesJson) are some: a sentence for
/// the user; empty for anything else.
[[nodiscard]] std::string unknownTokensText(const nlohmann::json& side);

/// {"repeats", "flips", "accuracy_sd":[…by position], "answer_nll_sd":[…], "largest_nll_difference"}: evaluations of
/// the same items in other batch compositions, whose results would be equal without rounding. Null for one evaluation.
[[nodiscard]] nlohmann::json noiseJson(std::span<const std::vector<analysis::ItemOutcome>> repeats,
                                       std::span<const std::string> labels);

/// [{"note", "items"}…]: what the benchmark's own rule left out of prompts, and of how many items.
[[nodiscard]] nlohmann::json notesJson(const PromptPlan& plan);

/// {"searched_on", "provenance"} of a method and the items that have outcomes (none that is too long).
///
/// "searched_on": {"profile", "searched_items", "items", "matched_by"}: how many of them the profile in a file of the
/// method (lpes:FILE, longrope:FILE) was searched or selected on, null where none was or nobody knows. "matched_by"
/// "content": by its provenance, which has the items' content hashes, and so knows them in a renamed, re-ordered or
/// shortened copy of the data, and other data under the same names apart. "ids": it has none, being older; items are
/// told by their ids, which name the data set, and by the seed of generated ones. "scales": the file does not say what
/// it was searched on, but a search of this data base ("run_id") found its scales (searchesThatFound), and what that
/// one saw is known.
///
/// "provenance": is it known what its files were searched on? "recorded" in them, by their "scales", or "unknown" (of a
/// CSV, or a profile made by hand, that no search of this data base found); null for a method without such a file.
///
/// Failed where the items cannot be read back; Database errors.
[[nodiscard]] Result<nlohmann::json> heldOutJson(const rope::MethodSpec& method, ItemHashes& items,
                                                 std::span<const analysis::ItemOutcome> outcomes,
                                                 store::StoreReader& store);
/// A sentence for a result, or one method's part of it, whose "provenance" is "unknown"; empty for anything else.
[[nodiscard]] std::string provenanceText(const nlohmann::json& side);

/// "searched_on" of a search and its own report, whose items are those that have `outcomes` (none that is too long),
/// "profile" being null: data may hold an item several times, and splits are disjoint by id.
[[nodiscard]] Result<nlohmann::json> ownOverlapJson(const tasks::Splits& splits, ItemHashes& items,
                                                    std::span<const analysis::ItemOutcome> outcomes);

/// Either of them as a sentence for the user, which begins with "NOT HELD OUT"; empty for anything else.
[[nodiscard]] std::string overlapText(const nlohmann::json& searched);

}  // namespace lpes::studies
