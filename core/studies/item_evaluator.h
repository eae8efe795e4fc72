#pragma once

#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/position_accuracy.h"
#include "core/base/result.h"
#include "core/model/causal_lm.h"
#include "core/store/store.h"
#include "core/studies/task_setup.h"
#include "core/tasks/score_kind.h"

namespace lpes::studies {

/// A split's prompts, tokenized once and cut into chunks once. Immutable, shared by all workers. The chunks depend on
/// items, positions, tokenizer, context length and batch size alone: what is cached or resumed never moves a boundary,
/// because a matrix product's rounding depends on the batch (architecture.md §5b).
class PromptPlan {
  public:
    struct Entry {
        std::string itemId;
        int position = 0;
        bool tooLong = false;  ///< prompt + answer exceed the context: counted, never cut
        TokenizedPrompt tokens;
    };

    /// Prompts in order of item, then position. batchSize prompts go through the model in one packed pass; prompts that
    /// are too long are in no chunk, nor are the same item's other positions.
    [[nodiscard]] static Result<PromptPlan> make(const PreparedTask& task, std::span<const std::string> itemIds,
                                                 const text::Tokenizer& tokenizer, int contextLength, int batchSize);

    [[nodiscard]] const std::vector<Entry>& entries() const { return m_entries; }
    /// Indices into entries, chunk by chunk.
    [[nodiscard]] const std::vector<std::vector<std::size_t>>& chunks() const { return m_chunks; }
    [[nodiscard]] int contextLength() const { return m_contextLength; }
    [[nodiscard]] std::int64_t itemsRun() const;
    [[nodiscard]] std::int64_t itemsSkipped() const;  ///< too long
    /// Tokens of the longest prompt that is run, its answer included.
    [[nodiscard]] int longestPrompt() const;
    [[nodiscard]] std::int64_t prompts() const;  ///< prompts that are run
    [[nodiscard]] std::int64_t tokens() const;   ///< tokens in them, answers included

  private:
    int m_contextLength = 0;
    std::vector<Entry> m_entries;
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
/// committed one by one. Generation scoring decides `correct` from up to 100 greedy tokens (methods.md §3.1) and keeps
/// the raw answer; the NLL is teacher forced either way. All that `begin` is given outlives it. thread-compatible.
class VariantEvaluation {
  public:
    /// What is evaluated, by whom and where it goes.
    struct Subject {
        model::ModelSession& session;
        const text::Tokenizer& tokenizer;
        const PromptPlan& plan;
        rope::PositionMethod method;
        const tasks::ScoreKind& score;
        store::StoreWriter& store;
        std::int64_t variantId;
        std::string split;
    };
    /// Reads what is stored, and stores the items that are too long.
    [[nodiscard]] static Result<VariantEvaluation> begin(Subject subject);

    struct ChunkRun {
        std::int64_t computed = 0, reused = 0;  ///< prompts
        double seconds = 0.0;                   ///< of teacher-forced scoring, 0 when reused
        std::int64_t tokens = 0;                ///< that were scored in them, answers included
    };
    /// Answers a stop with kStoppedMessage; what was finished is kept.
    [[nodiscard]] Result<ChunkRun> runChunk(std::size_t chunk, std::stop_token stop);

    [[nodiscard]] const std::vector<analysis::ItemOutcome>& outcomes() const { return m_outcomes; }

  private:
    explicit VariantEvaluation(Subject subject) : m_subject(std::move(subject)) {}

    Subject m_subject;
    std::map<std::pair<std::string, int>, analysis::ItemOutcome> m_known;
    std::vector<analysis::ItemOutcome> m_outcomes;
};

/// All chunks of a variant, one after another.
[[nodiscard]] Result<std::vector<analysis::ItemOutcome>> evaluateVariant(VariantEvaluation::Subject subject,
                                                                         ChunkObserver& observer, std::stop_token stop);

}  // namespace lpes::studies
