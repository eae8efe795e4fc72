#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::tasks {

/// An item as bytes: what its data set's hash is made of, and what a spool keeps.
[[nodiscard]] std::string packItem(const KvItem& item);
[[nodiscard]] KvItem unpackItem(std::string_view bytes);

/// Reads the official file (.jsonl or .jsonl.gz) and hands its items on one after the other: memory holds one of them.
/// With `pairs` an item is cut down: the gold pair is taken out, the first pairs−1 others are kept (methods.md §3.1).
/// `limit`: at most that many items, in file order. BadInput with file, line and field for malformed JSON, a missing
/// field, a key that is not among the records, records of unequal number between lines, fewer records than `pairs`, an
/// empty file, a damaged gzip stream; Usage for fewer than two pairs; kStoppedMessage when
/// stopped.
[[nodiscard]] Result<void> readKvItems(const std::filesystem::path& path, std::optional<int> pairs,
                                       std::optional<std::int64_t> limit,
                                       const std::function<Result<void>(KvItem&& item)>& take,
                                       std::stop_token stop = {});

/// Makes items one by one. Keys are distinct within a prompt, and so are values. immutable, hence thread-safe.
class KvGenerator {
  public:
    /// Usage when there are not enough different keys for `pairs` (names both numbers), and for fewer than two pairs.
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
