#include "core/studies/search_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "core/studies/short_contexts.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

json indexPairs(const std::vector<std::pair<int, int>>& pairs) {
    json out = json::array();
    for (const auto& [generation, index] : pairs) out.push_back({generation, index});
    return out;
}

}  // namespace

json pointsJson(std::span<const curve::ControlPoint> points) {
    json out = json::array();
    for (const curve::ControlPoint& point : points) out.push_back({point.x, point.y});
    return out;
}

Result<AskedPrompts> askedOf(store::StoreReader& store, std::int64_t variantId) {
    auto outcomes = store.outcomes(variantId, "search");
    if (!outcomes) return fail(outcomes.error());
    AskedPrompts asked;
    std::set<std::string> items;
    for (const store::OutcomeRow& row : *outcomes) {
        if (row.skippedTooLong) continue;
        ++asked.prompts;
        items.insert(row.itemId);
    }
    asked.items = std::ssize(items);
    const auto texts = store.outcomes(variantId, kGuardrailSplit);
    if (!texts) return fail(texts.error());
    asked.shortTexts = std::ssize(*texts);
    return asked;
}

SearchRecorder::SearchRecorder(store::StoreWriter& store, RunProgress& progress, std::int64_t runId,
                               const search::SearchSettings& settings, Costs costs)
    : m_store(store), m_progress(progress), m_runId(runId), m_settings(settings), m_costs(costs) {}

Result<void> SearchRecorder::descentStarted(int generation) {
    plan(generation - 1);
    m_progress.setStage(fmt::format("descent to generation {} of {}", generation, m_settings.maxGenerations));
    return {};
}

Result<void> SearchRecorder::generationStarted(int generation, const std::vector<search::CandidateRecord>& bred,
                                               int toEvaluate) {
    m_planned += toEvaluate;
    if (!m_settings.memo) {
        m_planned += std::ranges::count_if(bred, [](const auto& record) { return record.duplicateOf.has_value(); });
    }
    plan(generation);
    m_progress.setStage(fmt::format("generation {} of {}", generation, m_settings.maxGenerations));
    return {};
}

/// `generation`: the last whose candidates are known. Later ones have as many as they can; what turns out to be a
/// duplicate leaves the plan then.
void SearchRecorder::plan(int generation) {
    const std::int64_t later = std::max(0, m_settings.maxGenerations - generation);
    std::int64_t candidates = m_planned + later * search::candidatesOf(m_settings, 1);
    if (m_settings.maxEvals) candidates = std::min(candidates, *m_settings.maxEvals);
    const std::int64_t steps =
        std::int64_t{m_settings.gradient.steps} * search::descentsUpTo(m_settings, m_settings.maxGenerations);
    m_progress.setTotal(candidates * m_costs.candidate + steps * m_costs.step + m_costs.rest);
}

Result<void> SearchRecorder::candidateFinished(const search::CandidateRecord& record) {
    auto variant = m_store.ensureVariant(m_runId, "candidate", record.candidate.scales);
    if (!variant) return fail(variant.error());
    if (record.evaluation.givenUp && !record.duplicateOf) {
        const auto asked = askedOf(m_store.reader(), *variant);
        if (!asked) return fail(asked.error());
        m_progress.addSkipped(m_costs.candidate - asked->together());
    }
    return write(record, *variant);
}

Result<void> SearchRecorder::generationFinished(const search::GenerationRecord& record) {
    store::GenerationRow row;
    row.generation = record.generation;
    row.best = record.best;
    row.mean = record.mean;
    row.worst = record.worst;
    row.stddev = record.stddev;
    row.diversity = record.diversity;
    row.evaluations = record.evaluations;
    row.frontSize = record.frontSize;
    row.hypervolume = record.hypervolume;
    row.populationJson = indexPairs(record.population).dump();
    return m_store.recordGeneration(m_runId, row);
}

Result<void> SearchRecorder::write(const search::CandidateRecord& record, std::int64_t variantId) {
    store::CandidateRow row;
    row.generation = record.candidate.generation;
    row.index = record.candidate.index;
    row.variantId = variantId;
    row.pointsJson = pointsJson(record.candidate.points).dump();
    row.state = record.evaluation.failed         ? store::CandidateRow::State::Failed
                : record.evaluation.infeasible() ? store::CandidateRow::State::Infeasible
                : record.evaluation.givenUp      ? store::CandidateRow::State::GivenUp
                : record.duplicateOf             ? store::CandidateRow::State::Duplicate
                                                 : store::CandidateRow::State::Evaluated;
    row.fitness = record.evaluation.fitness;
    row.byPosition = record.evaluation.byPosition;
    row.reason = record.evaluation.reason;
    row.objectives = record.evaluation.objectives;
    if (record.duplicateOf) std::tie(row.duplicateGeneration, row.duplicateIndex) = *record.duplicateOf;
    return m_store.recordCandidate(m_runId, row);
}

}  // namespace lpes::studies
