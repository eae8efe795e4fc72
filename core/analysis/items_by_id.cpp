#include "core/analysis/items_by_id.h"

#include <algorithm>

namespace lpes::analysis {

ItemsById itemsById(std::span<const ItemOutcome> outcomes, int numPositions) {
    ItemsById items;
    for (const ItemOutcome& outcome : outcomes) {
        if (outcome.position < 0 || outcome.position >= numPositions) continue;
        items[outcome.itemId][outcome.position] = &outcome;
    }
    return items;
}

bool isTooLong(const ItemByPosition& item) {
    return std::any_of(item.begin(), item.end(), [](const auto& entry) { return entry.second->skippedTooLong; });
}

bool isComplete(const ItemByPosition& item, int numPositions) {
    return item.size() == static_cast<std::size_t>(std::max(numPositions, 0)) && !item.empty() && !isTooLong(item);
}

}  // namespace lpes::analysis
