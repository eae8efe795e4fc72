#include "core/studies/search_fitness.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/base/random.h"
#include "core/studies/search_recorder.h"
#include "core/studies/slope_evaluator.h"

namespace lpes::studies {

Result<SearchSessions> SearchSessions::make(const Workbench& bench, int workers,
                                            std::vector<model::AnswerSession*> others) {
    SearchSessions sessions;
    std::vector<model::AnswerSession*> all;
    for (int i = 0; i < workers; ++i) {
        sessions.own.push_back(bench.model.lm->newSession(bench.threads));
        sessions.local.push_back(std::make_unique<model::LocalSession>(*sessions.own.back()));
        all.push_back(sessions.local.back().get());
    }
    all.insert(all.end(), others.begin(), others.end());
    auto pool = SessionPool::start(std::move(all));
    if (!pool) return fail(pool.error());
    sessions.pool = std::move(*pool);
    return sessions;
}

SearchFitness::SearchFitness(Context context, const PromptPlan& searchPlan, StoredCandidates before)
    : m_context(std::move(context)),
      m_searchPlan(searchPlan),
      m_slopeItems(entriesByItem(searchPlan)),
      m_before(std::move(before)) {
    RandomStream(m_context.seed, kStreamSlopeItems).shuffle(m_slopeItems);
    if (m_context.reuseBytes) {
        m_reuse = std::make_unique<LayerReuse>(m_context.bench.model.config().numLayers, m_context.groups.count(),
                                               *m_context.reuseBytes);
    }
}

namespace {

Result<search::Evaluation> evaluationOf(Result<SearchFitness::SplitResult> result) {
    if (!result) return fail(result.error());
    search::Evaluation evaluation;
    evaluation.fitness = result->fitness;
    evaluation.byPosition = std::move(result->byPosition);
    evaluation.byItem = std::move(result->byItem);
    return evaluation;
}

search::Evaluation infeasible(ShortContexts::Reading reading) {
    search::Evaluation evaluation;
    evaluation.violation = reading.violation;
    evaluation.reason = std::move(reading.reason);
    return evaluation;
}

}  // namespace

/// Tells progress of every prompt of a candidate once, however often a race looks at it: what it was told of before
/// comes again as reused. thread-safe.
class SearchFitness::Teller final : public ChunkObserver {
  public:
    Teller(SearchFitness& fitness, const search::Candidate& candidate) : m_progress(fitness.m_context.progress) {
        const std::lock_guard lock(fitness.m_telling);
        m_told = &fitness.m_told[{candidate.generation, candidate.index}];
        m_before = *m_told;
    }
    Result<void> chunkDone(std::int64_t computed, std::int64_t reused) override {
        {
            const std::lock_guard lock(m_mutex);
            const std::int64_t again = std::min(m_before, reused);
            m_before -= again;
            reused -= again;
            *m_told += computed + reused;
        }
        return m_progress.chunkDone(computed, reused);
    }
    /// For a candidate that is asked nothing more, of `prompts` in all.
    void skipRest(std::int64_t prompts) { m_progress.addSkipped(prompts - *m_told); }

  private:
    RunProgress& m_progress;
    std::mutex m_mutex;
    std::int64_t* m_told = nullptr;  ///< this candidate's; nobody else evaluates it meanwhile
    std::int64_t m_before = 0;       ///< of those, not seen again yet
};

Result<ShortContexts::Reading> SearchFitness::shortContexts(const search::Candidate& candidate, ChunkObserver& observer,
                                                            std::stop_token stop) {
    if (!m_context.shortContexts.measured()) return ShortContexts::Reading{};
    return m_context.shortContexts.measure(m_context.pool, method(candidate.scales), candidate.scales, observer,
                                           std::move(stop));
}

void SearchFitness::expect(const std::vector<search::Candidate>& candidates) {
    if (!m_reuse) return;
    std::vector<search::Candidate> computed;
    for (const search::Candidate& candidate : candidates) {
        if (!isStored(candidate)) computed.push_back(candidate);
    }
    m_reuse->expect(computed);
}

void SearchFitness::release(const search::Candidate& candidate) {
    if (m_reuse) m_reuse->release(candidate.scales);
}

Result<search::Evaluation> SearchFitness::evaluate(const search::Candidate& candidate, int, std::stop_token stop) {
    auto evaluation = evaluateAll(candidate, std::move(stop));
    release(candidate);
    return evaluation;
}

Result<search::Evaluation> SearchFitness::evaluateAll(const search::Candidate& candidate, std::stop_token stop) {
    Teller teller(*this, candidate);
    const std::int64_t prompts = m_searchPlan.prompts() + m_context.shortContexts.prompts();
    if (const auto it = m_before.failed.find({candidate.generation, candidate.index}); it != m_before.failed.end()) {
        if (const auto variant = m_before.variants.find(candidate.scales); variant != m_before.variants.end()) {
            const auto asked = askedOf(m_context.store.reader(), variant->second);
            if (!asked) return fail(asked.error());
            if (auto told = teller.chunkDone(0, asked->together()); !told) return fail(told.error());
        }
        teller.skipRest(prompts);
        search::Evaluation evaluation;
        evaluation.failed = true;
        evaluation.reason = it->second;
        return evaluation;
    }
    auto reading = shortContexts(candidate, teller, stop);
    if (!reading) return fail(reading.error());
    if (reading->violation > 0.0) {
        teller.skipRest(prompts);
        return infeasible(std::move(*reading));
    }
    auto evaluation =
        evaluationOf(evaluatePart("candidate", candidate.scales, m_searchPlan, "search", teller, stop, std::nullopt));
    if (evaluation) evaluation->objectives = m_context.objectives.values(evaluation->byPosition, reading->nll);
    return evaluation;
}

Result<search::Evaluation> SearchFitness::evaluateFirst(const search::Candidate& candidate, int count, int,
                                                        std::stop_token stop) {
    Teller teller(*this, candidate);
    // Where its look failed in an earlier sitting it fails again, so that the race has the same runners.
    const auto failed = m_before.failed.find({candidate.generation, candidate.index});
    if (failed != m_before.failed.end() && !wasAskedFirst(candidate, count))
        return fail(ErrorCode::Failed, failed->second);
    auto reading = shortContexts(candidate, teller, stop);
    if (!reading) return fail(reading.error());
    if (reading->violation > 0.0) {
        release(candidate);
        return infeasible(std::move(*reading));
    }
    return evaluationOf(evaluatePart("candidate", candidate.scales, m_searchPlan, "search", teller, stop, count));
}

Result<void> SearchFitness::evaluateAgain(const search::Candidate& candidate, int, std::stop_token stop) {
    if (candidate.generation <= m_before.lastGeneration) return m_context.progress.chunkDone(0, m_searchPlan.prompts());
    auto variant = m_context.store.ensureVariant(m_context.runId, "candidate", candidate.scales);
    if (!variant) return fail(variant.error());
    VariantEvaluation::Subject subject{m_context.bench.model.tokenizer(),
                                       m_searchPlan,
                                       method(candidate.scales),
                                       m_context.score,
                                       m_context.store,
                                       *variant,
                                       "search"};
    subject.anew = true;
    auto outcomes = evaluateVariant(std::move(subject), m_context.pool, m_context.progress, std::move(stop),
                                    m_searchPlan.chunks().size());
    if (!outcomes) return fail(outcomes.error());
    return {};
}

bool SearchFitness::isStored(const search::Candidate& candidate) const {
    const std::pair place(candidate.generation, candidate.index);
    return m_before.evaluated.contains(place) || m_before.failed.contains(place);
}

bool SearchFitness::isStoredFirst(const search::Candidate& candidate, int count) const {
    return isStored(candidate) || wasAskedFirst(candidate, count);
}

bool SearchFitness::wasAskedFirst(const search::Candidate& candidate, int count) const {
    const auto variant = m_before.variants.find(candidate.scales);
    if (variant == m_before.variants.end()) return false;
    const auto rows = m_context.store.reader().outcomes(variant->second, "search");
    if (!rows) return false;
    std::set<std::pair<std::string, int>> asked;
    for (const store::OutcomeRow& row : *rows) asked.emplace(row.itemId, row.position);
    const auto chunks = std::span(m_searchPlan.chunks()).first(m_searchPlan.chunksOf(count));
    return std::ranges::all_of(chunks, [&](const std::vector<std::size_t>& chunk) {
        return std::ranges::all_of(chunk, [&](std::size_t index) {
            const PromptPlan::Entry& entry = m_searchPlan.entries()[index];
            return asked.contains({entry.itemId, entry.position});
        });
    });
}

std::vector<std::size_t> SearchFitness::entriesOf(const search::SlopeRequest& request) const {
    std::vector<std::size_t> entries;
    const std::size_t count = std::min(static_cast<std::size_t>(request.items), m_slopeItems.size());
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t item = (static_cast<std::size_t>(request.number) * count + i) % m_slopeItems.size();
        entries.insert(entries.end(), m_slopeItems[item].begin(), m_slopeItems[item].end());
    }
    return entries;
}

Result<search::Slope> SearchFitness::slope(const search::SlopeRequest& request, int, std::stop_token stop) {
    auto variant = m_context.store.ensureVariant(m_context.runId, "descent", request.scales);
    if (!variant) return fail(variant.error());
    auto rows = measureItemSlopes({m_searchPlan, m_context.groups, request.scales, m_context.store, *variant, "search"},
                                  entriesOf(request), m_context.pool, m_context.progress, stop);
    if (!rows) return fail(rows.error());
    return weightedSlope(meanByPosition(*rows, m_context.bench.task.positions.size()), m_context.weights,
                         m_context.gapPenalty);
}

bool SearchFitness::isSlopeStored(const search::SlopeRequest& request) const {
    store::StoreReader& reader = m_context.store.reader();
    const auto variants = reader.variants(m_context.runId);
    if (!variants) return false;
    const auto variant = std::ranges::find(*variants, request.scales, &store::VariantRow::scales);
    if (variant == variants->end()) return false;
    const auto rows = reader.slopes(variant->id, "search");
    return rows && rows->size() >= entriesOf(request).size();
}

rope::PositionMethod SearchFitness::method(const std::vector<double>& scales) const {
    return lpesMethod(m_context.groups, scales);
}

std::vector<double> SearchFitness::scoresByItem(const std::vector<analysis::ItemOutcome>& outcomes) const {
    const double total = std::accumulate(m_context.weights.begin(), m_context.weights.end(), 0.0);
    std::vector<double> scores;
    for (const analysis::ItemOutcome& outcome : outcomes) {
        if (outcome.skippedTooLong) continue;
        if (outcome.position == 0) scores.push_back(0.0);
        const double weight = m_context.weights[static_cast<std::size_t>(outcome.position)] / total;
        scores.back() += weight * m_context.score.score(outcome.score, outcome.nll);
    }
    return scores;
}

Result<SearchFitness::SplitResult> SearchFitness::evaluateSplit(const std::string& name,
                                                                const std::vector<double>& scales,
                                                                const PromptPlan& plan, const std::string& split,
                                                                std::stop_token stop) {
    return evaluatePart(name, scales, plan, split, m_context.progress, std::move(stop), std::nullopt);
}

Result<SearchFitness::SplitResult> SearchFitness::evaluatePart(const std::string& name,
                                                               const std::vector<double>& scales,
                                                               const PromptPlan& plan, const std::string& split,
                                                               ChunkObserver& observer, std::stop_token stop,
                                                               std::optional<int> firstItems) {
    auto variant = m_context.store.ensureVariant(m_context.runId, name, scales);
    if (!variant) return fail(variant.error());
    auto outcomes =
        evaluateVariant({m_context.bench.model.tokenizer(), plan, method(scales), m_context.score, m_context.store,
                         *variant, split, 0, &plan == &m_searchPlan ? m_reuse.get() : nullptr, scales},
                        m_context.pool, observer, stop, firstItems ? plan.chunksOf(*firstItems) : plan.chunks().size());
    if (!outcomes) return fail(outcomes.error());
    SplitResult result;
    result.variantId = *variant;
    result.outcomes = std::move(*outcomes);
    result.byItem = scoresByItem(result.outcomes);
    if (firstItems) {
        // The last pass may reach into items that are not asked for, and not through all their positions.
        result.byItem.resize(static_cast<std::size_t>(*firstItems));
        const auto skipped =
            static_cast<std::size_t>(std::ranges::count_if(result.outcomes, &analysis::ItemOutcome::skippedTooLong));
        result.outcomes.resize(skipped + result.byItem.size() * m_context.bench.task.positions.size());
    }
    result.accuracy = analysis::accuracyByPosition(result.outcomes, m_context.bench.task.labels);
    for (const analysis::PositionResult& position : result.accuracy.positions) {
        result.byPosition.push_back(m_context.score.score(position.accuracy, position.answerNll));
    }
    result.fitness = search::weightedFitness(result.byPosition, m_context.weights, m_context.gapPenalty);
    return result;
}

}  // namespace lpes::studies
