#pragma once

#include <map>
#include <span>
#include <string_view>

#include "core/analysis/position_accuracy.h"

namespace lpes::analysis {

/// Outcomes by item (in the order of their ids, so that nothing depends on the order in which workers finished) and
/// position. Of two outcomes for the same place the later counts; those of other positions are left out. The outcomes
/// must outlive it.
using ItemByPosition = std::map<int, const ItemOutcome*>;
using ItemsById = std::map<std::string_view, ItemByPosition>;

[[nodiscard]] ItemsById itemsById(std::span<const ItemOutcome> outcomes, int numPositions);
[[nodiscard]] bool isTooLong(const ItemByPosition& item);                     ///< at any position
[[nodiscard]] bool isComplete(const ItemByPosition& item, int numPositions);  ///< scored at every position

}  // namespace lpes::analysis
