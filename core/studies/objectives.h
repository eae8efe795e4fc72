#pragma once

#include <cstddef>
#include <vector>

#include "core/base/result.h"
#include "core/search/search_settings.h"
#include "core/studies/item_evaluator.h"

// Private to core/studies: what the objectives of a search are made of.
namespace lpes::studies {

/// From scores by position and the likelihood of short texts to one value for each objective, larger being better.
/// `Middle` and `Ends` are means of the scores of their positions, by the positions' weights; `Short` is minus the mean
/// NLL of the short texts' tokens, in nats. Empty for a search with one fitness. immutable.
class ObjectiveRule {
  public:
    ObjectiveRule() = default;
    /// The ends are the positions at which an item's evidence stands first and last. Usage where an objective has no
    /// position, or none with a weight.
    [[nodiscard]] static Result<ObjectiveRule> make(const std::vector<search::Objective>& objectives,
                                                    const std::vector<double>& weights, const PromptPlan& plan);

    [[nodiscard]] std::vector<double> values(const std::vector<double>& byPosition, double shortNll) const;
    [[nodiscard]] const std::vector<search::Objective>& objectives() const { return m_objectives; }

  private:
    std::vector<search::Objective> m_objectives;
    std::vector<double> m_middle, m_ends;  ///< [positions] weights that sum to 1; 0 for the others
};

}  // namespace lpes::studies
