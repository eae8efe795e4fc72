#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/analysis/attention.h"
#include "core/analysis/deviation.h"
#include "core/model/causal_lm.h"
#include "core/store/rows.h"
#include "core/studies/item_evaluator.h"

/// Looking into the model on a plan's prompts: attention by position and representation structure deviation
/// (methods.md §4). Used by `attn`, `deviation` and at the end of a search.
namespace lpes::studies {

enum class AttentionQueries { LastToken, AllTokens };
/// "last" or "all"; Usage for anything else.
[[nodiscard]] Result<AttentionQueries> parseAttentionQueries(const std::string& text);

/// The spans whose attention is probed: the records, the instruction, the question.
[[nodiscard]] std::vector<model::TokenSpan> attentionSpans(const TokenizedPrompt& tokens);

/// Attention by spans in every prompt of the plan (model::AttentionProbe). `observer` is told after each prompt.
[[nodiscard]] Result<analysis::AttentionSummary> probeAttention(model::ModelSession& session, const PromptPlan& plan,
                                                                std::span<const std::string> labels,
                                                                const rope::PositionMethod& method,
                                                                AttentionQueries queries, ChunkObserver& observer,
                                                                std::stop_token stop);

/// Hidden states under `method` against those without a profile, on each item's prompt at the first position.
[[nodiscard]] Result<analysis::DeviationSummary> probeDeviation(model::ModelSession& session, const PromptPlan& plan,
                                                                const std::string& variant,
                                                                const rope::PositionMethod& method, std::uint64_t seed,
                                                                ChunkObserver& observer, std::stop_token stop);
/// Prompts that probeDeviation runs.
[[nodiscard]] std::int64_t deviationPrompts(const PromptPlan& plan);

/// Rows for the data base (store/rows.h says what negative layers and spans mean).
[[nodiscard]] std::vector<store::AttentionRow> attentionRows(const analysis::AttentionSummary& summary,
                                                             std::int64_t variantId);
[[nodiscard]] std::vector<store::DeviationRow> deviationRows(const analysis::DeviationSummary& summary,
                                                             std::int64_t variantId);

}  // namespace lpes::studies
