#include "core/studies/item_evaluator.h"

#include <algorithm>
#include <map>
#include <span>
#include <type_traits>

#include "core/base/clock.h"
#include "core/base/process_memory.h"
#include "core/studies/continuations.h"
#include "core/studies/json_rows.h"
#include "core/studies/layer_reuse.h"
#include "core/tasks/scoring.h"

namespace lpes::studies {

namespace {

analysis::ItemOutcome outcomeOf(const PromptPlan::Entry& entry) {
    analysis::ItemOutcome outcome;
    outcome.itemId = entry.itemId;
    outcome.position = entry.position;
    outcome.goldIndex = entry.goldIndex;
    outcome.goldToken = entry.goldToken;
    outcome.promptTokens = entry.promptTokens;
    outcome.skippedTooLong = entry.tooLong;
    return outcome;
}

/// An entry of a chunk on its way through the model.
struct Asked {
    std::size_t entry = 0;
    std::shared_ptr<const TokenizedPrompt> tokens;
};

/// Greedy answers to the entries of a chunk that are to have one, decoded together, ended by an end token or at the
/// length that each entry's rule says.
Result<std::vector<text::Tokenizer::KnownText>> generateTexts(const VariantEvaluation::Subject& subject,
                                                              model::AnswerSession& session,
                                                              const std::vector<const Asked*>& asked,
                                                              const std::stop_token& stop) {
    std::vector<std::vector<text::TokenId>> prompts;
    model::GenerateOptions options{1, subject.tokenizer.endIds(), subject.plan.pass().sharePrefixes};
    for (const Asked* one : asked) {
        prompts.push_back(one->tokens->prompt);
        options.mostNewTokens = std::max(options.mostNewTokens, one->tokens->rule.maxNewTokens);
    }
    auto answers = session.generateAnswers(prompts, subject.method, options, stop);
    if (!answers) return fail(answers.error());
    std::vector<text::Tokenizer::KnownText> texts;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        std::vector<text::TokenId>& ids = (*answers)[i].ids;
        ids.resize(std::min(ids.size(), static_cast<std::size_t>(asked[i]->tokens->rule.maxNewTokens)));
        auto text = subject.tokenizer.decodeKnown(ids);
        if (!text) return fail(text.error());
        texts.push_back(std::move(*text));
    }
    return texts;
}

/// What `ask` answers. States that are kept for other candidates must not take the memory that it needs: where that
/// does not suffice it is asked once more without them.
template <class Ask>
std::invoke_result_t<Ask> withAllMemory(ReusingPass* pass, Ask&& ask) {
    auto answer = ask();
    if (answer || pass == nullptr || answer.error().code != ErrorCode::OutOfMemory) return answer;
    pass->giveMemoryBack();
    releaseFreedMemory();
    return ask();
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
                                    const text::Tokenizer& tokenizer, int contextLength, PassSize pass,
                                    std::stop_token stop, std::int64_t tokensKept) {
    PromptPlan plan;
    plan.m_pass = pass;
    plan.m_maker = std::make_shared<PromptMaker>(task, tokenizer, contextLength, pass.generates);
    std::int64_t kept = 0;
    for (const std::string& itemId : itemIds) {
        if (stop.stop_requested()) return fail(ErrorCode::Failed, kStoppedMessage);
        const auto item = task.find(itemId);
        if (!item) return fail(ErrorCode::BadInput, "item '" + itemId + "' is not in the data set");
        const std::size_t first = plan.m_entries.size();
        bool tooLong = false;
        for (std::size_t position = 0; position < task.positions.size(); ++position) {
            auto made = plan.m_maker->tokens(*item, static_cast<int>(position));
            if (!made) return fail(made.error());
            const auto tokens = std::make_shared<const TokenizedPrompt>(std::move(*made));
            tooLong = tooLong || tokens->tokens() > static_cast<std::size_t>(contextLength);
            plan.m_entries.push_back({itemId, static_cast<int>(position), false, tokens->goldIndex, tokens->goldToken(),
                                      static_cast<int>(tokens->prompt.size()), static_cast<int>(tokens->scored()),
                                      !tokens->rule.binary, tokens->note});
            plan.m_items.push_back(*item);
            kept += static_cast<std::int64_t>(tokens->tokens());
            plan.m_tokens.push_back(kept <= tokensKept ? tokens : nullptr);
        }
        for (std::size_t i = first; i < plan.m_entries.size(); ++i) {
            plan.m_entries[i].tooLong = tooLong;
            if (tooLong) plan.m_tokens[i].reset();
        }
    }
    plan.cut();
    return plan;
}

void PromptPlan::cut() {
    std::int64_t tokens = 0;
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        if (m_entries[i].tooLong) continue;
        const bool full = m_chunks.empty() || m_chunks.back().size() >= static_cast<std::size_t>(m_pass.prompts) ||
                          (m_pass.tokens && tokens + m_entries[i].scoredTokens > *m_pass.tokens);
        if (full) {
            m_chunks.emplace_back();
            tokens = 0;
        }
        m_chunks.back().push_back(i);
        tokens += m_entries[i].scoredTokens;
    }
}

std::size_t PromptPlan::chunksOf(int items) const {
    std::size_t count = 0;
    for (; count < m_chunks.size() && items > 0; ++count) {
        for (const std::size_t entry : m_chunks[count]) {
            const bool last = entry + 1 == m_entries.size() || m_entries[entry + 1].position == 0;
            items -= last ? 1 : 0;
        }
    }
    return count;
}

Result<std::shared_ptr<const TokenizedPrompt>> PromptPlan::tokens(std::size_t entry) const {
    if (m_tokens[entry]) return m_tokens[entry];
    auto made = m_maker->tokens(m_items[entry], m_entries[entry].position);
    if (!made) return fail(made.error());
    return std::make_shared<const TokenizedPrompt>(std::move(*made));
}

std::int64_t PromptPlan::prompts() const {
    std::int64_t count = 0;
    for (const auto& chunk : m_chunks) count += static_cast<std::int64_t>(chunk.size());
    return count;
}

bool PromptPlan::graded() const {
    return m_pass.generates && std::ranges::any_of(m_entries, &Entry::graded);
}

std::int64_t PromptPlan::itemsRun() const {
    return std::ranges::count_if(m_entries, [](const Entry& entry) { return entry.position == 0 && !entry.tooLong; });
}

std::int64_t PromptPlan::itemsSkipped() const {
    return std::ranges::count_if(m_entries, [](const Entry& entry) { return entry.position == 0 && entry.tooLong; });
}

int PromptPlan::longestPrompt() const {
    int longest = 1;
    for (const Entry& entry : m_entries) {
        if (!entry.tooLong) longest = std::max(longest, entry.scoredTokens);
    }
    return longest;
}

std::int64_t PromptPlan::tokens() const {
    std::int64_t count = 0;
    for (const Entry& entry : m_entries) {
        if (!entry.tooLong) count += entry.scoredTokens;
    }
    return count;
}

Result<VariantEvaluation> VariantEvaluation::begin(Subject subject) {
    VariantEvaluation evaluation(std::move(subject));
    const Subject& own = evaluation.m_subject;
    if (!own.anew) {
        auto stored = own.store.reader().outcomes(own.variantId, own.split);
        if (!stored) return fail(stored.error());
        for (const store::OutcomeRow& row : *stored)
            evaluation.m_known.emplace(std::pair(row.itemId, row.position), fromRow(row));
    }
    std::int64_t item = -1;
    for (const PromptPlan::Entry& entry : own.plan.entries()) {
        item += entry.position == 0 && !entry.tooLong ? 1 : 0;
        evaluation.m_generates.push_back(
            !entry.tooLong && (own.score.kind == tasks::ScoreKind::Kind::Generate || item < own.generatedItems));
        if (entry.tooLong) evaluation.m_tooLong.push_back(outcomeOf(entry));
    }
    if (!evaluation.m_tooLong.empty()) {
        if (auto done = commit(own.store, own.variantId, own.split, evaluation.m_tooLong); !done)
            return fail(done.error());
    }
    evaluation.m_byChunk.resize(own.plan.chunks().size());
    return evaluation;
}

Result<std::vector<analysis::ItemOutcome>> VariantEvaluation::compute(const std::vector<std::size_t>& indices,
                                                                      model::AnswerSession& session, ReusingPass* pass,
                                                                      ChunkRun& run,
                                                                      const std::stop_token& stop) const {
    std::vector<Asked> chunk;
    std::vector<model::ScoredPrompt> batch;
    for (const std::size_t index : indices) {
        auto tokens = m_subject.plan.tokens(index);
        if (!tokens) return fail(tokens.error());
        addContinuations(**tokens, batch);
        chunk.push_back({index, std::move(*tokens)});
        run.tokens += m_subject.plan.entries()[index].scoredTokens;
    }
    const double start = steadySeconds();
    const model::ScoreOptions options{m_subject.plan.pass().sharePrefixes, pass};
    auto scores = withAllMemory(pass, [&] { return session.scoreAnswers(batch, m_subject.method, stop, options); });
    if (!scores) return fail(scores.error());
    run.seconds = steadySeconds() - start;
    if (pass != nullptr) pass->scored(std::ssize(indices));
    std::vector<const Asked*> generating;
    for (const Asked& one : chunk) {
        if (m_generates[one.entry]) generating.push_back(&one);
    }
    std::vector<text::Tokenizer::KnownText> texts;
    if (!generating.empty()) {
        auto made = withAllMemory(pass, [&] { return generateTexts(m_subject, session, generating, stop); });
        if (!made) return fail(made.error());
        texts = std::move(*made);
    }
    std::vector<analysis::ItemOutcome> outcomes;
    std::size_t generated = 0;
    std::span<const model::AnswerScore> left(*scores);
    for (const Asked& one : chunk) {
        analysis::ItemOutcome outcome = outcomeOf(m_subject.plan.entries()[one.entry]);
        const std::size_t count = continuationCount(*one.tokens);
        const Judgement judgement = judge(*one.tokens, left.first(count));
        left = left.subspan(count);
        outcome.nll = judgement.answerNll;
        outcome.strict = judgement.strict;
        const bool byChoice = !one.tokens->choices.empty() && m_subject.score.kind != tasks::ScoreKind::Kind::Strict;
        outcome.score = (byChoice ? judgement.chosen : judgement.strict) ? 1.0 : 0.0;
        if (m_generates[one.entry]) {
            outcome.generated = std::move(texts[generated].text);
            outcome.unknownTokens = texts[generated++].unknownTokens;
            outcome.generatedScore =
                tasks::scoreAnswer(one.tokens->rule.metric, one.tokens->references, outcome.generated);
            if (m_subject.score.kind == tasks::ScoreKind::Kind::Generate) outcome.score = *outcome.generatedScore;
        }
        outcomes.push_back(std::move(outcome));
    }
    return outcomes;
}

Result<VariantEvaluation::ChunkRun> VariantEvaluation::runChunk(std::size_t chunk, model::AnswerSession& session,
                                                                std::stop_token stop) {
    const std::vector<std::size_t>& indices = m_subject.plan.chunks()[chunk];
    // At its end what is kept for it goes, also where the data base has its outcomes.
    const std::unique_ptr<ReusingPass> pass =
        m_subject.reuse != nullptr ? m_subject.reuse->pass(m_subject.scales, chunk) : nullptr;
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
        auto computed = compute(indices, session, pass.get(), run, stop);
        if (!computed) return fail(computed.error());
        run.computed = count;
        outcomes = std::move(*computed);
        if (auto done = commit(m_subject.store, m_subject.variantId, m_subject.split, outcomes); !done)
            return fail(done.error());
    }
    m_byChunk[chunk] = std::move(outcomes);
    return run;
}

std::vector<analysis::ItemOutcome> VariantEvaluation::outcomes() const {
    std::vector<analysis::ItemOutcome> all = m_tooLong;
    for (const auto& chunk : m_byChunk) all.insert(all.end(), chunk.begin(), chunk.end());
    return all;
}

namespace {

Result<void> runAndTell(VariantEvaluation& evaluation, std::size_t chunk, model::AnswerSession& session,
                        ChunkObserver& observer, const std::stop_token& stop) {
    const auto run = evaluation.runChunk(chunk, session, stop);
    if (!run) return fail(run.error());
    return observer.chunkDone(run->computed, run->reused);
}

}  // namespace

Result<std::vector<analysis::ItemOutcome>> evaluateVariant(VariantEvaluation::Subject subject,
                                                           model::AnswerSession& session, ChunkObserver& observer,
                                                           std::stop_token stop) {
    const std::size_t chunks = subject.plan.chunks().size();
    auto evaluation = VariantEvaluation::begin(std::move(subject));
    if (!evaluation) return fail(evaluation.error());
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        if (auto done = runAndTell(*evaluation, chunk, session, observer, stop); !done) return fail(done.error());
    }
    return evaluation->outcomes();
}

Result<std::vector<analysis::ItemOutcome>> evaluateVariant(VariantEvaluation::Subject subject, SessionPool& pool,
                                                           ChunkObserver& observer, std::stop_token stop,
                                                           std::size_t chunks) {
    auto evaluation = VariantEvaluation::begin(std::move(subject));
    if (!evaluation) return fail(evaluation.error());
    const auto work = [&](std::size_t chunk, model::AnswerSession& session, const std::stop_token& halt) {
        return runAndTell(*evaluation, chunk, session, observer, halt);
    };
    if (auto done = pool.run(chunks, work, stop); !done) return fail(done.error());
    return evaluation->outcomes();
}

}  // namespace lpes::studies
