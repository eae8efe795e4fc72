#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/studies/search_fitness.h"
#include "core/studies/search_setup.h"

// Private to core/studies: what a search says of its winner on held-out items, and of a Pareto front.
namespace lpes::studies {

/// Candidates that are scored again on the selection split, best first: the best distinct ones; with several objectives
/// a part of the front that covers it, the best fitness among them.
[[nodiscard]] std::vector<search::CandidateRecord> finalistsOf(const search::SearchOutcome& outcome,
                                                               const SearchRunSettings& settings);

/// {"baseline", "best": positions, mean accuracy with its interval, bias, groups, lengths of each, "p_value",
/// "nll_difference", …, "verdict"}; p values are null where there are too few items (analysis::Comparison). A search
/// with several objectives adds takePickedVerdict's. A finished search adds "searched_on" to "best": ownOverlapJson.
[[nodiscard]] nlohmann::json heldoutJson(const PreparedSearch& prepared, const SearchFitness::SplitResult& baseline,
                                         const SearchFitness::SplitResult& best,
                                         const analysis::Comparison& comparison);

/// Scales and control points as a profile has them: by layer, or a row for each layer and a list for each group.
[[nodiscard]] nlohmann::json candidateJson(const search::CandidateRecord& record, double fitness,
                                           const curve::ScaleGroups& groups);
/// The control points of one group's curve.
[[nodiscard]] std::span<const curve::ControlPoint> pointsOf(const search::Candidate& candidate, int groups, int group);

struct FrontMember {
    search::CandidateRecord record;
    bool picked = false;                               ///< the one that the run's profile is made of
    std::optional<SearchFitness::SplitResult> report;  ///< unless it was not asked the report's items
};
/// [{"number" (from 1), candidateJson, "by_position", "objectives": {"middle": …}, "perplexity" (of short texts, or
/// null), "picked", "heldout": null or heldoutJson without its baseline, with "objectives" and "p_holm", Holm's
/// adjustment over the members that were asked, by which "better" and "verdict" are}…].
[[nodiscard]] nlohmann::json frontJson(const PreparedSearch& prepared, const std::vector<FrontMember>& front,
                                       const SearchFitness::SplitResult* baseline);
/// Gives the held-out comparison of a run's profile ("heldout") the "p_holm", "better" and "verdict" that the picked
/// member of frontJson has: the profile was tested as one of several, and has one verdict.
void takePickedVerdict(nlohmann::json& heldout, const nlohmann::json& front);

}  // namespace lpes::studies
