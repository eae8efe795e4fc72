#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/position_accuracy.h"
#include "core/base/result.h"
#include "core/model/causal_lm.h"
#include "core/store/store.h"
#include "core/studies/prompt_maker.h"
#include "core/studies/session_pool.h"
#include "core/tasks/score_kind.h"

namespace lpes::studies {

class LayerReuse;
class ReusingPass;

/// How many prompts go through the model in one packed pass. Stored with the run, because a matrix product's rounding
/// depends on the batch (architecture.md §5b).
struct PassSize {
    int prompts = 1;                     ///< at most
    std::optional<std::int64_t> tokens;  ///< at most, unless a single prompt has more; unset: no limit
    bool sharePrefixes = false;          ///< what prompts of one pass begin with alike is computed once
    bool generates = false;              ///< answers are generated: they have to fit into the context as well
};

/// A split's prompts, tokenized once and cut into chunks once. Immutable, shared by all workers. The chunks depend on
/// items, positions, tokenizer, context length and pass size alone: what is cached or resumed never moves a boundary.
/// Tokens are kept in memory up to a limit; the prompts behind that are made anew at each use.
class PromptPlan {
  public:
    static constexpr std::int64_t kTokensKept = std::int64_t{48} << 20;  ///< 192 MiB

    struct Entry {
        std::string itemId;
        int position = 0;
        bool tooLong = false;  ///< prompt + answer exceed the context: counted, never cut
        int goldIndex = 0, goldToken = 0;
        int promptTokens = 0, scoredTokens = 0;  ///< of the prompt; of the prompt and its longest continuation
        bool graded = false;                     ///< the rule gives more than right and wrong
        std::string note;                        ///< what the benchmark's own rule left out; or empty
    };

    /// Prompts in order of item, then position. Prompts that are too long are in no chunk, nor are the same item's
    /// other positions. `tokensKept`: how many tokens are kept in memory. kStoppedMessage when stopped.
    [[nodiscard]] static Result<PromptPlan> make(const PreparedTask& task, std::span<const std::string> itemIds,
                                                 const text::Tokenizer& tokenizer, int contextLength, PassSize pass,
                                                 std::stop_token stop = {}, std::int64_t tokensKept = kTokensKept);

    [[nodiscard]] const std::vector<Entry>& entries() const { return m_entries; }
    /// An entry's tokens. BadInput when the items are no longer what they were.
    [[nodiscard]] Result<std::shared_ptr<const TokenizedPrompt>> tokens(std::size_t entry) const;
    /// Indices into entries, chunk by chunk.
    [[nodiscard]] const std::vector<std::vector<std::size_t>>& chunks() const { return m_chunks; }
    /// How many of them hold the first `items` of the items that are run, at all their positions.
    [[nodiscard]] std::size_t chunksOf(int items) const;
    [[nodiscard]] const PassSize& pass() const { return m_pass; }
    [[nodiscard]] int contextLength() const { return m_maker->contextLength(); }
    /// Answers are generated and scored by a rule that gives more than right and wrong.
    [[nodiscard]] bool graded() const;
    [[nodiscard]] std::int64_t itemsRun() const;
    [[nodiscard]] std::int64_t itemsSkipped() const;  ///< too long
    /// Tokens of the longest prompt that is run, its answer included.
    [[nodiscard]] int longestPrompt() const;
    [[nodiscard]] std::int64_t prompts() const;  ///< prompts that are run
    [[nodiscard]] std::int64_t tokens() const;   ///< tokens in them, answers included

  private:
    void cut();  ///< into chunks

    std::shared_ptr<const PromptMaker> m_maker;
    PassSize m_pass;
    std::vector<Entry> m_entries;
    std::vector<std::int64_t> m_items;                             ///< [entries] number in the task
    std::vector<std::shared_ptr<const TokenizedPrompt>> m_tokens;  ///< [entries] null: not kept
    std::vector<std::vector<std::size_t>> m_chunks;
};

/// Told after each finished chunk, on the worker's thread (thread-safe).
class ChunkObserver {
  public:
    virtual ~ChunkObserver() = default;
    /// `computed` prompts were run now; `reused` were found in the data base.
    virtual Result<void> chunkDone(std::int64_t computed, std::int64_t reused) = 0;
};

/// One variant on a plan, chunk by chunk: outcomes that the data base has are reused, missing chunks are computed and
/// committed one by one. Generation scoring holds a greedy answer of the rule's length against the references, and
/// keeps the raw answer; the likelihood is teacher forced either way. All that `begin` is given outlives it.
/// thread-compatible, but different chunks may be run at the same time.
class VariantEvaluation {
  public:
    /// What is evaluated and where it goes.
    struct Subject {
        const text::Tokenizer& tokenizer;
        const PromptPlan& plan;
        rope::PositionMethod method;
        const tasks::ScoreKind& score;
        store::StoreWriter& store;
        std::int64_t variantId;
        std::string split;
        /// Of the first so many items an answer is generated and scored beside the likelihood, whatever the score.
        int generatedItems = 0;
        /// A search's candidates take leading layers over from one another, by their scales; null: nothing is.
        LayerReuse* reuse = nullptr;
        std::vector<double> scales = {};
        /// What is stored is computed again, to the same values.
        bool anew = false;
    };
    /// Reads what is stored, and stores the items that are too long.
    [[nodiscard]] static Result<VariantEvaluation> begin(Subject subject);

    struct ChunkRun {
        std::int64_t computed = 0, reused = 0;  ///< prompts
        double seconds = 0.0;                   ///< of teacher-forced scoring, 0 when reused
        std::int64_t tokens = 0;                ///< that were scored in them, answers included
    };
    /// Answers a stop with kStoppedMessage; what was finished is kept. The outcomes do not depend on which session of
    /// the model runs a chunk, nor on the order of chunks.
    [[nodiscard]] Result<ChunkRun> runChunk(std::size_t chunk, model::AnswerSession& session, std::stop_token stop);

    /// Of the items that are too long, then of the chunks that were run, in their order.
    [[nodiscard]] std::vector<analysis::ItemOutcome> outcomes() const;

  private:
    explicit VariantEvaluation(Subject subject) : m_subject(std::move(subject)) {}
    [[nodiscard]] Result<std::vector<analysis::ItemOutcome>> compute(const std::vector<std::size_t>& indices,
                                                                     model::AnswerSession& session, ReusingPass* pass,
                                                                     ChunkRun& run, const std::stop_token& stop) const;

    Subject m_subject;
    std::vector<bool> m_generates;  ///< [entries]
    std::map<std::pair<std::string, int>, analysis::ItemOutcome> m_known;
    std::vector<analysis::ItemOutcome> m_tooLong;
    std::vector<std::vector<analysis::ItemOutcome>> m_byChunk;  ///< [chunks] empty: not run yet
};

/// All chunks of a variant, one after another.
[[nodiscard]] Result<std::vector<analysis::ItemOutcome>> evaluateVariant(VariantEvaluation::Subject subject,
                                                                         model::AnswerSession& session,
                                                                         ChunkObserver& observer, std::stop_token stop);
/// The first `chunks` of a variant, as the pool's sessions are free. Errors as before, of the first chunk that has one.
[[nodiscard]] Result<std::vector<analysis::ItemOutcome>> evaluateVariant(VariantEvaluation::Subject subject,
                                                                         SessionPool& pool, ChunkObserver& observer,
                                                                         std::stop_token stop, std::size_t chunks);

}  // namespace lpes::studies
