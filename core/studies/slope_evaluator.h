#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/curve/scale_groups.h"
#include "core/search/slope.h"
#include "core/studies/item_evaluator.h"
#include "core/studies/session_pool.h"

// Private to core/studies: slopes of the answers' likelihood over scales, prompt by prompt.
namespace lpes::studies {

/// A slope costs a pass there and one back, which counts as two.
inline constexpr std::int64_t kSlopeCost = 3;

/// What slopes are measured of and where they go. All that it names outlives the measuring.
struct SlopeSubject {
    const PromptPlan& plan;
    const curve::ScaleGroups& groups;
    const std::vector<double>& scales;  ///< [L·G]
    store::StoreWriter& store;
    std::int64_t variantId;
    std::string split;
};

/// The entries of each item of a plan that is run, at all its positions, in order.
[[nodiscard]] std::vector<std::vector<std::size_t>> entriesByItem(const PromptPlan& plan);

/// One row per entry, in order: those that the data base has are taken from there, the others are measured, as many
/// prompts of one item a pass as the plan allows, and committed pass by pass. The slope of an entry is that of its
/// answer. `entries`: places in plan.entries(), items whole. Answers a stop with kStoppedMessage. The rows do not
/// depend on which session of the model measures a pass.
[[nodiscard]] Result<std::vector<store::SlopeRow>> measureItemSlopes(const SlopeSubject& subject,
                                                                     std::span<const std::size_t> entries,
                                                                     model::AnswerSession& session,
                                                                     ChunkObserver& observer, std::stop_token stop);
/// The same with a pool: passes as its sessions are free. Errors as before, of the first pass that has one.
[[nodiscard]] Result<std::vector<store::SlopeRow>> measureItemSlopes(const SlopeSubject& subject,
                                                                     std::span<const std::size_t> entries,
                                                                     SessionPool& pool, ChunkObserver& observer,
                                                                     std::stop_token stop);

/// Mean over items, position by position: NLL [P] and slope [P][L·G].
struct MeanSlopes {
    std::vector<double> nll;
    std::vector<std::vector<double>> slope;
};
[[nodiscard]] MeanSlopes meanByPosition(const std::vector<store::SlopeRow>& rows, std::size_t positions);

/// Σ w_p·NLL_p + β·(max_p − min_p) and its slope; the weights are normalised to sum 1 (search::weightedFitness of the
/// likelihoods, turned round).
[[nodiscard]] search::Slope weightedSlope(const MeanSlopes& means, const std::vector<double>& weights,
                                          double gapPenalty);

}  // namespace lpes::studies
