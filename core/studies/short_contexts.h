#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/model/answer_session.h"
#include "core/store/store.h"
#include "core/studies/guardrail.h"
#include "core/studies/item_evaluator.h"
#include "core/studies/session_pool.h"

// Private to core/studies: what the scales of a search do to short contexts, candidate by candidate.
namespace lpes::studies {

/// The split under which the data base keeps the texts' likelihoods.
inline constexpr const char* kGuardrailSplit = "guardrail";

/// Perplexity on the guardrail's bundled texts for each variant of a run. Several texts go through the model in one
/// pass, each in a context of its own, and are committed with it; what the data base has is not computed again. The
/// first token of a text is not scored. A text is a prompt in all counts. Passes are pieces of a pool, and no value
/// depends on which session does one. thread-safe.
class ShortContexts {
  public:
    /// `percent`: by how much perplexity may worsen against the baseline; unset: there is no limit. Nothing is measured
    /// unless there is a limit or it is `wanted`. All that is given outlives it.
    ShortContexts(const Guardrail& guardrail, std::optional<double> percent, bool wanted, store::StoreWriter& store,
                  std::int64_t runId);

    [[nodiscard]] bool measured() const { return m_measured; }
    [[nodiscard]] std::int64_t prompts() const;  ///< of one variant; 0 where nothing is measured

    /// What the limit is held against; before any candidate is measured. Answers a stop with kStoppedMessage.
    [[nodiscard]] Result<void> measureBaseline(SessionPool& pool, ChunkObserver& observer, std::stop_token stop);

    struct Reading {
        double nll = 0.0;        ///< mean over all scored tokens, nats; perplexity is its exponential
        double rise = 0.0;       ///< of perplexity against the baseline, in percent; negative: it falls
        double violation = 0.0;  ///< percentage points beyond the limit
        std::string reason;      ///< where there are any: the rule and the values, in words
    };
    /// `scales`: those of `method`. Failed when a likelihood is not finite and there is no limit that says so.
    [[nodiscard]] Result<Reading> measure(SessionPool& pool, const rope::PositionMethod& method,
                                          const std::vector<double>& scales, ChunkObserver& observer,
                                          std::stop_token stop) const;

  private:
    /// The texts from `first` on, as many as `nlls` has room for.
    [[nodiscard]] Result<void> measurePass(model::AnswerSession& session, const rope::PositionMethod& method,
                                           std::int64_t variantId, std::size_t first,
                                           const std::map<std::string, double>& known, std::span<double> nlls,
                                           ChunkObserver& observer, const std::stop_token& stop) const;
    [[nodiscard]] Result<double> meanNll(SessionPool& pool, const rope::PositionMethod& method, std::int64_t variantId,
                                         ChunkObserver& observer, std::stop_token stop) const;

    const Guardrail& m_guardrail;
    const std::optional<double> m_percent;
    const bool m_measured;
    store::StoreWriter& m_store;
    const std::int64_t m_runId;
    double m_baselineNll = 0.0;
};

/// Mean NLL of each text's tokens behind its first, in order; one packed pass. As measured above, without a data base.
[[nodiscard]] Result<std::vector<double>> shortTextNlls(model::AnswerSession& session,
                                                        const rope::PositionMethod& method,
                                                        std::span<const std::vector<text::TokenId>> texts,
                                                        std::stop_token stop);
/// How many of them go through the model together.
inline constexpr std::size_t kShortTextsPerPass = 8;

/// By how much the perplexity of `nll` breaks a limit of `percent` above that of `baseline`, with the rule in words.
/// A perplexity that is no finite number breaks every limit.
[[nodiscard]] ShortContexts::Reading heldAgainst(double nll, double baseline, std::optional<double> percent);

}  // namespace lpes::studies
