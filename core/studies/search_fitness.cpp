#include "core/studies/search_fitness.h"

#include <cmath>

namespace lpes::studies {

SearchFitness::SearchFitness(Context context, const PromptPlan& searchPlan, int workers, StoredCandidates before)
    : m_context(std::move(context)), m_searchPlan(searchPlan), m_before(std::move(before)) {
    for (int i = 0; i < workers; ++i)
        m_sessions.push_back(m_context.bench.model.lm->newSession(m_context.bench.threads));
}

Result<search::Evaluation> SearchFitness::evaluate(const search::Candidate& candidate, int worker,
                                                   std::stop_token stop) {
    if (const auto it = m_before.failed.find({candidate.generation, candidate.index}); it != m_before.failed.end()) {
        m_context.progress.addSkipped(m_searchPlan.prompts());
        return search::Evaluation{true, it->second, 0.0, {}};
    }
    auto result = evaluateSplit("candidate", candidate.scales, m_searchPlan, "search", worker, stop);
    if (!result) return fail(result.error());
    return search::Evaluation{false, {}, result->fitness, result->byPosition};
}

bool SearchFitness::isStored(const search::Candidate& candidate) const {
    const std::pair place(candidate.generation, candidate.index);
    return m_before.evaluated.contains(place) || m_before.failed.contains(place);
}

rope::PositionMethod SearchFitness::method(const std::vector<double>& scales) const {
    return lpesMethod(m_context.groups, scales);
}

Result<SearchFitness::SplitResult> SearchFitness::evaluateSplit(const std::string& name,
                                                                const std::vector<double>& scales,
                                                                const PromptPlan& plan, const std::string& split,
                                                                int worker, std::stop_token stop) {
    auto variant = m_context.store.ensureVariant(m_context.runId, name, scales);
    if (!variant) return fail(variant.error());
    auto outcomes = evaluateVariant({session(worker), m_context.bench.model.tokenizer(), plan, method(scales),
                                     m_context.score, m_context.store, *variant, split},
                                    m_context.progress, stop);
    if (!outcomes) return fail(outcomes.error());
    SplitResult result;
    result.variantId = *variant;
    result.outcomes = std::move(*outcomes);
    result.accuracy = analysis::accuracyByPosition(result.outcomes, m_context.bench.task.labels);
    for (const analysis::PositionResult& position : result.accuracy.positions) {
        result.byPosition.push_back(m_context.score.score(position.accuracy, position.answerNll));
    }
    result.fitness = search::weightedFitness(result.byPosition, m_context.weights, m_context.gapPenalty);
    return result;
}

}  // namespace lpes::studies
