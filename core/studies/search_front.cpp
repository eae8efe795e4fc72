#include "core/studies/search_front.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/studies/evaluation_summary.h"
#include "core/studies/json_rows.h"
#include "core/studies/search_recorder.h"

namespace lpes::studies {

namespace {

using nlohmann::json;
using search::Objective;
using SplitResult = SearchFitness::SplitResult;

json sideJson(const PreparedSearch& prepared, const SplitResult& split) {
    json side = outcomesJson(prepared.bench.task, split.accuracy, split.outcomes, prepared.settings.search.seed,
                             prepared.reportPlan.graded());
    side["skipped_too_long"] = split.accuracy.skippedTooLong;
    return side;
}

json namedObjectives(const std::vector<Objective>& objectives, const std::vector<double>& values) {
    json named = json::object();
    for (std::size_t m = 0; m < objectives.size() && m < values.size(); ++m)
        named[search::objectiveName(objectives[m])] = values[m];
    return named;
}

/// Of the members that were asked the held-out items, by their place in the front; read side by side.
std::map<std::size_t, analysis::Comparison> heldoutComparisons(const PreparedSearch& prepared,
                                                               const std::vector<FrontMember>& front,
                                                               const SplitResult& baseline) {
    std::vector<std::size_t> places;
    std::vector<analysis::Comparison> comparisons;
    for (std::size_t i = 0; i < front.size(); ++i) {
        if (!front[i].report) continue;
        places.push_back(i);
        comparisons.push_back(analysis::compareOutcomes(baseline.outcomes, front[i].report->outcomes,
                                                        static_cast<int>(prepared.bench.task.positions.size()),
                                                        prepared.settings.search.seed));
    }
    analysis::adjustTogether(comparisons);
    std::map<std::size_t, analysis::Comparison> byPlace;
    for (std::size_t i = 0; i < places.size(); ++i) byPlace.emplace(places[i], std::move(comparisons[i]));
    return byPlace;
}

json memberHeldout(const PreparedSearch& prepared, const FrontMember& member, const SplitResult& baseline,
                   const analysis::Comparison& comparison) {
    json heldout = heldoutJson(prepared, baseline, *member.report, comparison);
    heldout.erase("baseline");
    heldout["p_holm"] = optionalJson(comparison.nllHolm);
    const std::vector<Objective>& objectives = prepared.objectives.objectives();
    // Short texts are no split of the items: what they say is said already.
    const bool shorts = !objectives.empty() && objectives.back() == Objective::Short;
    const double shortNll = shorts ? -member.record.evaluation.objectives.back() : 0.0;
    heldout["objectives"] =
        namedObjectives(objectives, prepared.objectives.values(member.report->byPosition, shortNll));
    return heldout;
}

}  // namespace

std::vector<search::CandidateRecord> finalistsOf(const search::SearchOutcome& outcome,
                                                 const SearchRunSettings& settings) {
    if (settings.search.objectives.empty()) return search::bestDistinct(outcome, settings.finalists);
    return search::spreadOf(search::paretoFront(outcome), settings.finalists);
}

json heldoutJson(const PreparedSearch& prepared, const SplitResult& baseline, const SplitResult& best,
                 const analysis::Comparison& comparison) {
    const json interval = intervalJson(comparison.nll.interval);
    return {{"baseline", sideJson(prepared, baseline)},
            {"best", sideJson(prepared, best)},
            {"p_value", optionalJson(comparison.nll.pValue)},
            {"nll_difference", comparison.nll.meanDifference},
            {"nll_difference_low", interval["low"]},
            {"nll_difference_high", interval["high"]},
            {"score_difference", testJson(comparison.score)},
            {"mcnemar_p_by_position", optionalsJson(comparison.mcnemarByPosition)},
            {"better", comparison.better},
            {"verdict", comparison.verdict}};
}

std::span<const curve::ControlPoint> pointsOf(const search::Candidate& candidate, int groups, int group) {
    const std::size_t size = candidate.points.size() / static_cast<std::size_t>(groups);
    return std::span(candidate.points).subspan(static_cast<std::size_t>(group) * size, size);
}

json candidateJson(const search::CandidateRecord& record, double fitness, const curve::ScaleGroups& groups) {
    const search::Candidate& candidate = record.candidate;
    json points = json::array();
    for (int group = 0; group < groups.count(); ++group)
        points.push_back(pointsJson(pointsOf(candidate, groups.count(), group)));
    return {{"fitness", fitness},
            {"generation", candidate.generation},
            {"index", candidate.index},
            {"scales",
             groups.perLayer() ? json(candidate.scales) : json(curve::layerRows(candidate.scales, groups.count()))},
            {"control_points", groups.perLayer() ? points.front() : points}};
}

json frontJson(const PreparedSearch& prepared, const std::vector<FrontMember>& front, const SplitResult* baseline) {
    json out = json::array();
    const auto comparisons =
        baseline ? heldoutComparisons(prepared, front, *baseline) : std::map<std::size_t, analysis::Comparison>();
    for (const FrontMember& member : front) {
        const search::Evaluation& evaluation = member.record.evaluation;
        json one = candidateJson(member.record, evaluation.fitness, prepared.settings.search.groups);
        one["number"] = out.size() + 1;
        one["by_position"] = evaluation.byPosition;
        one["objectives"] = namedObjectives(prepared.objectives.objectives(), evaluation.objectives);
        const auto shorts = one["objectives"].find(search::objectiveName(Objective::Short));
        one["perplexity"] = shorts == one["objectives"].end() ? json() : json(std::exp(-shorts->get<double>()));
        one["picked"] = member.picked;
        const auto compared = comparisons.find(out.size());
        one["heldout"] =
            compared != comparisons.end() ? memberHeldout(prepared, member, *baseline, compared->second) : json();
        out.push_back(std::move(one));
    }
    return out;
}

void takePickedVerdict(json& heldout, const json& front) {
    for (const json& member : front) {
        if (member.at("picked") != true || !member.at("heldout").is_object()) continue;
        for (const char* key : {"p_holm", "better", "verdict"}) heldout[key] = member.at("heldout").at(key);
    }
}

}  // namespace lpes::studies
