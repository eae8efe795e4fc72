#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::tasks {

/// An item as bytes: what its data set's hash is made of, and what a spool keeps.
[[nodiscard]] std::string packItem(const KvItem& item);
[[nodiscard]] KvItem unpackItem(std::string_view bytes);

/// readKvFile, one item after the other: memory holds one of them.
[[nodiscard]] Result<void> readKvItems(const std::filesystem::path& path, std::optional<int> pairs,
                                       std::optional<std::int64_t> limit,
                                       const std::function<Result<void>(KvItem&& item)>& take);

/// Makes the items of generateKv one by one. immutable, hence thread-safe.
class KvGenerator {
  public:
    /// Usage as generateKv.
    [[nodiscard]] static Result<KvGenerator> create(const KeyKind& keys, int pairs, std::uint64_t seed,
                                                    std::span<const std::string> words);
    /// Item `index`, which depends on the seed and the index alone.
    [[nodiscard]] KvItem item(std::int64_t index) const;
    [[nodiscard]] const std::string& name() const { return m_keys.text; }

  private:
    KvGenerator(KeyKind keys, int pairs, std::uint64_t seed) : m_keys(std::move(keys)), m_pairs(pairs), m_seed(seed) {}
    KeyKind m_keys;
    int m_pairs;
    std::uint64_t m_seed;
    std::vector<std::string> m_words;  ///< different ones
};

}  // namespace lpes::tasks
