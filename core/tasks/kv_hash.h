#pragma once

#include <string>

#include "core/tasks/kv_retrieval.h"

namespace lpes::tasks {

/// SHA-256 over the items in order: ids, gold pair, distractors. Every text enters with its length ahead of it, so that
/// no two data sets share their bytes.
[[nodiscard]] std::string hashOfItems(const std::vector<KvItem>& items);

}  // namespace lpes::tasks
