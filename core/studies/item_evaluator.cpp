#include "core/studies/item_evaluator.h"

#include <algorithm>
#include <map>

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
                                   const TokenizedPrompt& tokens, int contextLength, const rope::LayerScales& scales,
                                   std::stop_token stop) {
    session.resetSequence();
    if (auto set = session.setScales(scales); !set) return fail(set.error());
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

Result<std::vector<analysis::ItemOutcome>> computeChunk(model::ModelSession& session, const text::Tokenizer& tokenizer,
                                                        const PromptPlan& plan, const std::vector<std::size_t>& chunk,
                                                        const rope::LayerScales& scales, const tasks::ScoreKind& score,
                                                        std::stop_token stop) {
    std::vector<model::ScoredPrompt> batch;
    for (const std::size_t index : chunk) {
        const TokenizedPrompt& tokens = plan.entries()[index].tokens;
        batch.push_back({tokens.prompt, tokens.answer});
    }
    auto scores = session.scoreAnswers(batch, scales, stop);
    if (!scores) return fail(scores.error());
    std::vector<analysis::ItemOutcome> outcomes;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
        const PromptPlan::Entry& entry = plan.entries()[chunk[i]];
        analysis::ItemOutcome outcome = outcomeOf(entry);
        outcome.nll = (*scores)[i].meanNll;
        outcome.correct = (*scores)[i].allArgmax;
        if (score.kind == tasks::ScoreKind::Kind::Generate) {
            auto text = generateAnswer(session, tokenizer, entry.tokens, plan.contextLength(), scales, stop);
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

Result<std::vector<analysis::ItemOutcome>> evaluateVariant(model::ModelSession& session,
                                                           const text::Tokenizer& tokenizer, const PromptPlan& plan,
                                                           const rope::LayerScales& scales,
                                                           const tasks::ScoreKind& score, store::StoreWriter& store,
                                                           std::int64_t variantId, const std::string& split,
                                                           ChunkObserver& observer, std::stop_token stop) {
    std::map<std::pair<std::string, int>, analysis::ItemOutcome> known;
    auto stored = store.reader().outcomes(variantId, split);
    if (!stored) return fail(stored.error());
    for (const store::OutcomeRow& row : *stored) known.emplace(std::pair(row.itemId, row.position), fromRow(row));

    std::vector<analysis::ItemOutcome> skipped;
    for (const PromptPlan::Entry& entry : plan.entries()) {
        if (entry.tooLong) skipped.push_back(outcomeOf(entry));
    }
    if (!skipped.empty()) {
        if (auto done = commit(store, variantId, split, skipped); !done) return fail(done.error());
    }

    std::vector<analysis::ItemOutcome> all = std::move(skipped);
    for (const std::vector<std::size_t>& chunk : plan.chunks()) {
        std::vector<analysis::ItemOutcome> outcomes;
        for (const std::size_t index : chunk) {
            const PromptPlan::Entry& entry = plan.entries()[index];
            const auto it = known.find({entry.itemId, entry.position});
            if (it == known.end()) break;
            outcomes.push_back(it->second);
        }
        const bool reuse = outcomes.size() == chunk.size();
        if (!reuse) {
            if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
            auto computed = computeChunk(session, tokenizer, plan, chunk, scales, score, stop);
            if (!computed) return fail(computed.error());
            outcomes = std::move(*computed);
            if (auto done = commit(store, variantId, split, outcomes); !done) return fail(done.error());
        }
        const auto count = static_cast<std::int64_t>(chunk.size());
        if (auto told = observer.chunkDone(reuse ? 0 : count, reuse ? count : 0); !told) return fail(told.error());
        std::ranges::move(outcomes, std::back_inserter(all));
    }
    return all;
}

}  // namespace lpes::studies
