#include <algorithm>
#include <map>
#include <set>

#include "core/studies/plot_queries.h"
#include "core/studies/run_view.h"

namespace lpes::studies {

using nlohmann::json;

Result<RunPopulation> populationOf(store::StoreReader& store, const store::RunRow& run) {
    RunPopulation population;
    if (run.kind != "search") return population;
    auto candidates = store.candidates(run.id);
    if (!candidates) return fail(candidates.error());
    auto generations = store.generations(run.id);
    if (!generations) return fail(generations.error());
    auto variants = store.variants(run.id);
    if (!variants) return fail(variants.error());
    std::map<std::int64_t, const store::VariantRow*> byId;
    for (const store::VariantRow& variant : *variants) byId[variant.id] = &variant;
    // A finished search chose on the selection split, which need not be the best on the search split.
    const json result = parseObject(run.resultJson);
    std::vector<double> chosen;
    if (const auto best = result.find("best"); best != result.end() && best->is_object()) {
        chosen = scalesOf(*best);
    }
    std::set<std::pair<int, int>> kept;
    const int complete = generations->empty() ? -1 : generations->back().generation;
    if (!generations->empty()) {
        const json pairs = json::parse(generations->back().populationJson, nullptr, false);
        for (const json& pair : pairs.is_array() ? pairs : json::array()) {
            if (const std::vector<double> place = numbers(pair); place.size() == 2) {
                kept.emplace(static_cast<int>(place[0]), static_cast<int>(place[1]));
            }
        }
    }
    for (const store::CandidateRow& row : *candidates) {
        if (row.state == store::CandidateRow::State::Failed) {
            ++population.failed;
            population.lastFailure = row.reason;
        }
        if (row.state != store::CandidateRow::State::Evaluated) continue;
        ++population.evaluated;
        const auto variant = byId.find(row.variantId);
        if (variant == byId.end()) continue;
        const RunPopulation::Member member{row.generation, row.index, variant->second->scales, row.fitness};
        if (chosen.empty() ? !population.best || member.fitness > population.best->fitness : member.scales == chosen) {
            population.best = member;
        }
        if (changesNothing(*variant->second)) population.baselineFitness = member.fitness;
        if (row.generation > complete || kept.contains({row.generation, row.index})) {
            population.members.push_back(member);
        }
    }
    if (!population.best) return population;
    auto model = store.model(run.modelId);
    if (!model) return fail(model.error());
    const std::size_t scales = population.best->scales.size();
    const curve::ScaleGroups groups = groupsOf(parseObject(run.settingsJson), scales, model->layers);
    for (int group = 0; group < groups.count(); ++group)
        population.groupNames.push_back(curve::groupName(groups, group));
    return population;
}

}  // namespace lpes::studies
