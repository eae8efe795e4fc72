#pragma once

#include <string>
#include <vector>

#include "core/tasks/kv_retrieval.h"

namespace lpes::tasks {

/// Hash of the items in order, as ItemHash makes it of their number and of each as packItem (kv_items.h) writes it:
/// ids, gold pair, distractors.
[[nodiscard]] std::string hashOfItems(const std::vector<KvItem>& items);

}  // namespace lpes::tasks
