#include "core/studies/item_evaluator.h"

#include <algorithm>
#include <map>

#include "core/base/clock.h"
#include "core/studies/json_rows.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::studies {

namespace {

/// Longest answer of generation scoring, as the benchmark sets it (methods.md §3.1).
constexpr int kMaxNewTokens = 100;

analysis::ItemOutcome outcomeOf(const PromptPlan::Entry& entry) {
    analysis::ItemOutcome outcome;
    outcome.itemId = entry.itemId;
    outcome.position = entry.position;
    outcome.goldIndex = entry.tokens.goldIndex;
    outcome.goldToken = entry.tokens.goldToken();
    outcome.promptTokens = static_cast<int>(entry.tokens.prompt.size());
    outcome.skippedTooLong = entry.tooLong;
    return outcome;
}

/// Greedy answer, as the benchmark's own loop makes it: up to kMaxNewTokens, ended by an end token.
Result<std::string> generateAnswer(model::ModelSession& session, const text::Tokenizer& tokenizer,
                                   const TokenizedPrompt& tokens, int contextLength, const rope::PositionMethod& method,
                                   std::stop_token stop) {
    session.resetSequence();
    if (auto set = session.setMethod(method); !set) return fail(set.error());
    std::vector<text::TokenId> answer;
    std::vector<text::TokenId> next = tokens.prompt;
    const int room = std::min(kMaxNewTokens, contextLength - static_cast<int>(tokens.prompt.size()));
    while (static_cast<int>(answer.size()) < room) {
        auto logits = session.advance(next, stop);
        if (!logits) return fail(logits.error());
        const auto best =
            static_cast<text::TokenId>(std::max_element(logits->begin(), logits->end()) - logits->begin());
        if (std::ranges::find(tokenizer.endIds(), best) != tokenizer.endIds().end()) break;
        answer.push_back(best);
        next.assign(1, best);
    }
    session.resetSequence();
    return tokenizer.decode(answer);
}

Result<std::vector<analysis::ItemOutcome>> computeChunk(const VariantEvaluation::Subject& subject,
                                                        const std::vector<std::size_t>& chunk,
                                                        VariantEvaluation::ChunkRun& run, std::stop_token stop) {
    const PromptPlan& plan = subject.plan;
    std::vector<model::ScoredPrompt> batch;
    for (const std::size_t index : chunk) {
        const TokenizedPrompt& tokens = plan.entries()[index].tokens;
        batch.push_back({tokens.prompt, tokens.answer});
        run.tokens += static_cast<std::int64_t>(tokens.prompt.size() + tokens.answer.size());
    }
    const double start = steadySeconds();
    auto scores = subject.session.scoreAnswers(batch, subject.method, stop);
    if (!scores) return fail(scores.error());
    run.seconds = steadySeconds() - start;
    std::vector<analysis::ItemOutcome> outcomes;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
        const PromptPlan::Entry& entry = plan.entries()[chunk[i]];
        analysis::ItemOutcome outcome = outcomeOf(entry);
        outcome.nll = (*scores)[i].meanNll;
        outcome.correct = (*scores)[i].allArgmax;
        if (subject.score.kind == tasks::ScoreKind::Kind::Generate) {
            auto text = generateAnswer(subject.session, subject.tokenizer, entry.tokens, plan.contextLength(),
                                       subject.method, stop);
            if (!text) return fail(text.error());
            outcome.correct = tasks::kvGeneratedCorrect(*text, entry.tokens.value);
            outcome.generated = std::move(*text);
        }
        outcomes.push_back(std::move(outcome));
    }
    return outcomes;
}

Result<void> commit(store::StoreWriter& store, std::int64_t variantId, const std::string& split,
                    const std::vector<analysis::ItemOutcome>& outcomes) {
    std::vector<store::OutcomeRow> rows;
    rows.reserve(outcomes.size());
    for (const analysis::ItemOutcome& outcome : outcomes) rows.push_back(toRow(outcome));
    return store.recordOutcomes(variantId, split, rows);
}

}  // namespace

Result<PromptPlan> PromptPlan::make(const PreparedTask& task, std::span<const std::string> itemIds,
                                    const text::Tokenizer& tokenizer, int contextLength, int batchSize) {
    PromptPlan plan;
    plan.m_contextLength = contextLength;
    for (const std::string& itemId : itemIds) {
        const tasks::KvItem* item = task.find(itemId);
        if (item == nullptr) return fail(ErrorCode::BadInput, "item '" + itemId + "' is not in the data set");
        const std::size_t first = plan.m_entries.size();
        bool tooLong = false;
        for (std::size_t position = 0; position < task.positions.size(); ++position) {
            auto tokens = tokenizeItem(tokenizer, *item, task.goldIndices[position]);
            if (!tokens) return fail(tokens.error());
            tooLong =
                tooLong || tokens->prompt.size() + tokens->answer.size() > static_cast<std::size_t>(contextLength);
            plan.m_entries.push_back({itemId, static_cast<int>(position), false, std::move(*tokens)});
        }
        for (std::size_t i = first; i < plan.m_entries.size(); ++i) plan.m_entries[i].tooLong = tooLong;
    }
    for (std::size_t i = 0; i < plan.m_entries.size(); ++i) {
        if (plan.m_entries[i].tooLong) continue;
        if (plan.m_chunks.empty() || plan.m_chunks.back().size() >= static_cast<std::size_t>(batchSize)) {
            plan.m_chunks.emplace_back();
        }
        plan.m_chunks.back().push_back(i);
    }
    return plan;
}

std::int64_t PromptPlan::prompts() const {
    std::int64_t count = 0;
    for (const auto& chunk : m_chunks) count += static_cast<std::int64_t>(chunk.size());
    return count;
}

std::int64_t PromptPlan::itemsRun() const {
    return std::ranges::count_if(m_entries, [](const Entry& entry) { return entry.position == 0 && !entry.tooLong; });
}

std::int64_t PromptPlan::itemsSkipped() const {
    return std::ranges::count_if(m_entries, [](const Entry& entry) { return entry.position == 0 && entry.tooLong; });
}

int PromptPlan::longestPrompt() const {
    std::size_t longest = 1;
    for (const Entry& entry : m_entries) {
        if (!entry.tooLong) longest = std::max(longest, entry.tokens.prompt.size() + entry.tokens.answer.size());
    }
    return static_cast<int>(longest);
}

std::int64_t PromptPlan::tokens() const {
    std::int64_t count = 0;
    for (const Entry& entry : m_entries) {
        if (!entry.tooLong) count += static_cast<std::int64_t>(entry.tokens.prompt.size() + entry.tokens.answer.size());
    }
    return count;
}

Result<VariantEvaluation> VariantEvaluation::begin(Subject subject) {
    VariantEvaluation evaluation(std::move(subject));
    const Subject& own = evaluation.m_subject;
    auto stored = own.store.reader().outcomes(own.variantId, own.split);
    if (!stored) return fail(stored.error());
    for (const store::OutcomeRow& row : *stored)
        evaluation.m_known.emplace(std::pair(row.itemId, row.position), fromRow(row));
    for (const PromptPlan::Entry& entry : own.plan.entries()) {
        if (entry.tooLong) evaluation.m_outcomes.push_back(outcomeOf(entry));
    }
    if (!evaluation.m_outcomes.empty()) {
        if (auto done = commit(own.store, own.variantId, own.split, evaluation.m_outcomes); !done)
            return fail(done.error());
    }
    return evaluation;
}

Result<VariantEvaluation::ChunkRun> VariantEvaluation::runChunk(std::size_t chunk, std::stop_token stop) {
    const std::vector<std::size_t>& indices = m_subject.plan.chunks()[chunk];
    std::vector<analysis::ItemOutcome> outcomes;
    for (const std::size_t index : indices) {
        const PromptPlan::Entry& entry = m_subject.plan.entries()[index];
        const auto it = m_known.find({entry.itemId, entry.position});
        if (it == m_known.end()) break;
        outcomes.push_back(it->second);
    }
    const auto count = static_cast<std::int64_t>(indices.size());
    ChunkRun run;
    if (outcomes.size() == indices.size()) {
        run.reused = count;
    } else {
        if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
        auto computed = computeChunk(m_subject, indices, run, stop);
        if (!computed) return fail(computed.error());
        run.computed = count;
        outcomes = std::move(*computed);
        if (auto done = commit(m_subject.store, m_subject.variantId, m_subject.split, outcomes); !done)
            return fail(done.error());
    }
    std::ranges::move(outcomes, std::back_inserter(m_outcomes));
    return run;
}

Result<std::vector<analysis::ItemOutcome>> evaluateVariant(VariantEvaluation::Subject subject, ChunkObserver& observer,
                                                           std::stop_token stop) {
    const std::size_t chunks = subject.plan.chunks().size();
    auto evaluation = VariantEvaluation::begin(std::move(subject));
    if (!evaluation) return fail(evaluation.error());
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        const auto run = evaluation->runChunk(chunk, stop);
        if (!run) return fail(run.error());
        if (auto told = observer.chunkDone(run->computed, run->reused); !told) return fail(told.error());
    }
    return evaluation->outcomes();
}

}  // namespace lpes::studies
