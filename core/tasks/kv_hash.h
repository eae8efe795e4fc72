#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/checksum.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::tasks {

/// SHA-256 over the items in order: ids, gold pair, distractors. Every text enters with its length ahead of it, so that
/// no two data sets share their bytes.
[[nodiscard]] std::string hashOfItems(const std::vector<KvItem>& items);

/// The same, item by item: their number first, then each as packItem (kv_items.h) writes it.
class PackedItemHash {
  public:
    explicit PackedItemHash(std::size_t items);
    void add(std::string_view packedItem) { m_hash.add(packedItem); }
    [[nodiscard]] std::string hex() { return m_hash.hex(); }  ///< call once

  private:
    Sha256 m_hash;
};

}  // namespace lpes::tasks
