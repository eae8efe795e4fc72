#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/result.h"

namespace lpes::search {

/// A point whose slope a descent wants, and on which items.
struct SlopeRequest {
    int descent = 0;  ///< place among those that run side by side
    int number = 0;   ///< of the step, counted through the search: the items go by it, so that every step has
                      ///< fresh ones and descents side by side have the same
    int items = 1;    ///< of the search split, each at all its positions
    std::vector<double> scales;  ///< [L·G], layer by layer, not rounded
};

/// Of the loss: what the fitness has in place of the likelihood of the answers, Σ w_p·NLL_p + β·(max_p − min_p).
struct Slope {
    double loss = 0.0;
    std::vector<double> byScale;  ///< [L·G] ∂loss/∂s
};

class Fitness;

/// How a set of slopes came out.
struct SlopeRound {
    bool stopped = false;                      ///< `slopes` then mean nothing
    std::vector<std::optional<Slope>> slopes;  ///< in order of the requests; nothing for one that failed
    std::optional<Error> failure;              ///< of the last that failed
};

/// Asks for all of them with up to `workers` threads. Error: a Database error of the fitness. Returns when every worker
/// has ended.
[[nodiscard]] Result<SlopeRound> measureSlopes(const std::vector<SlopeRequest>& requests, Fitness& fitness, int workers,
                                               std::stop_token stop);

}  // namespace lpes::search
