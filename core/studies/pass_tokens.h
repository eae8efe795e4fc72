#pragma once

#include <cstdint>
#include <vector>

#include "core/search/genetic_search.h"
#include "core/studies/item_evaluator.h"

// Private to core/studies: what passes save that compute a common beginning of their prompts once.
namespace lpes::studies {

/// Tokens that passes read to score prompts.
struct PassTokens {
    std::int64_t all = 0;       ///< of each prompt as a whole, and of it with each of its choices where it has some
    std::int64_t computed = 0;  ///< a beginning that prompts of a pass share, once

    PassTokens& operator+=(const PassTokens& other) {
        all += other.all;
        computed += other.computed;
        return *this;
    }
};

/// Of every pass of a plan under a method. BadInput when the items are no longer what they were.
[[nodiscard]] Result<std::vector<PassTokens>> passTokens(const PromptPlan& plan, const rope::PositionMethod& method,
                                                         const model::ModelConfig& config);

/// What the evaluations of a search come to on its plan, whichever sitting paid for them: all passes of a candidate
/// that was evaluated, the first ones of one that a race gave up. Of one that failed it is not known how far it came:
/// it counts nothing, nor does one whose scales an earlier one had. `passes`: passTokens of the plan.
[[nodiscard]] PassTokens evaluatedTokens(const search::SearchOutcome& outcome, const PromptPlan& plan,
                                         const std::vector<PassTokens>& passes);

}  // namespace lpes::studies
