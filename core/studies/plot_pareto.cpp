#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/search/genetic_search.h"
#include "core/studies/run_view.h"

namespace lpes::studies {

namespace {

using analysis::ParetoPlot;
using search::Objective;
using Place = std::pair<int, int>;  ///< generation, index

std::string labelOf(Objective objective, const std::string& score) {
    if (objective == Objective::Short) return "log-likelihood of short texts (nats per token)";
    return fmt::format("evidence {}: {}", objective == Objective::Middle ? "in the middle" : "at the ends",
                       fitnessLabel(score));
}

/// Numbers in the front of the candidates so far, as the result and `export --pick` count them.
std::map<Place, std::int64_t> frontNumbers(const std::vector<store::CandidateRow>& rows) {
    search::SearchOutcome outcome;
    for (const store::CandidateRow& row : rows) {
        if (row.state != store::CandidateRow::State::Evaluated || row.objectives.empty()) continue;
        search::CandidateRecord record;
        record.candidate.generation = row.generation;
        record.candidate.index = row.index;
        record.evaluation.objectives = row.objectives;
        outcome.candidates.push_back(std::move(record));
    }
    std::map<Place, std::int64_t> numbers;
    for (const search::CandidateRecord& record : search::paretoFront(outcome))
        numbers.emplace(Place(record.candidate.generation, record.candidate.index), std::ssize(numbers) + 1);
    return numbers;
}

/// The member that the run's profile is made of; none before there is one.
Place pickedPlace(const nlohmann::json& result) {
    const nlohmann::json best = result.value("best", nlohmann::json());
    if (!best.is_object() || !result.value("profile", nlohmann::json()).is_object()) return {-1, -1};
    return {best.value("generation", -1), best.value("index", -1)};
}

}  // namespace

Result<analysis::PlotData> paretoPlot(store::StoreReader& store, const RunView& view) {
    const auto spelled = settingOr<std::string>(view.settings, "objectives", "");
    if (view.run.kind != "search" || spelled.empty())
        return noData(view, "pareto", "only searches with --objectives have a front");
    const auto objectives = search::parseObjectives(spelled);
    if (!objectives) return fail(objectives.error());
    auto candidates = store.candidates(view.run.id);
    if (!candidates) return fail(candidates.error());
    auto generations = store.generations(view.run.id);
    if (!generations) return fail(generations.error());

    ParetoPlot plot;
    plot.title = "Objectives of the candidates and the front of those that no other dominates";
    plot.subtitle = view.subtitle(settingOr<std::int64_t>(view.settings, "search_items", 0));
    const auto score = settingOr<std::string>(view.settings, "score", "nll");
    plot.yLabel = labelOf((*objectives)[0], score);
    plot.xLabel = labelOf((*objectives)[1], score);
    if (objectives->size() > 2) plot.colorLabel = labelOf((*objectives)[2], score);
    const auto numbers = frontNumbers(*candidates);
    const Place picked = pickedPlace(view.result);
    for (const store::CandidateRow& row : *candidates) {
        if (row.state != store::CandidateRow::State::Evaluated || row.objectives.size() != objectives->size()) continue;
        const Place place(row.generation, row.index);
        const auto number = numbers.find(place);
        const auto variant = std::ranges::find(view.variants, row.variantId, &store::VariantRow::id);
        plot.members.push_back({row.objectives[1], row.objectives[0], objectives->size() > 2 ? row.objectives[2] : 0.0,
                                number == numbers.end() ? 0 : number->second, place == picked,
                                variant != view.variants.end() && changesNothing(*variant)});
    }
    for (const store::GenerationRow& row : *generations) {
        if (row.hypervolume) plot.generations.push_back({row.generation, row.frontSize, *row.hypervolume});
    }
    if (plot.members.empty()) return noData(view, "pareto", "no candidate has been evaluated yet");
    return plot;
}

}  // namespace lpes::studies
