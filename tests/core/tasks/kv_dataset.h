#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/tasks/data_file.h"
#include "core/tasks/item_hash.h"
#include "core/tasks/kv_items.h"

/// Key-value items all at once, which the product hands on one by one.
namespace lpes::tasks::testing {

struct KvDataset {
    std::string name;  ///< the file's name or the generator's spelling
    std::string hash;  ///< as KvBenchmark hashes its items
    int pairs = 0;     ///< pairs in a prompt
    std::vector<KvItem> items;
};

inline KvDataset datasetOf(std::string name, std::vector<KvItem> items) {
    ItemHash hash;
    hash.addNumber(items.size());
    for (const KvItem& item : items) hash.addPacked(packItem(item));
    const int pairs = static_cast<int>(items.front().distractors.size() + 1);
    return {std::move(name), hash.hex(), pairs, std::move(items)};
}

inline Result<KvDataset> readKvFile(const std::filesystem::path& path, std::optional<int> pairs,
                                    std::optional<std::int64_t> limit) {
    std::vector<KvItem> items;
    const auto read = readKvItems(path, pairs, limit, [&](KvItem&& item) -> Result<void> {
        items.push_back(std::move(item));
        return {};
    });
    if (!read) return fail(read.error());
    return datasetOf(dataSetName(path), std::move(items));
}

inline Result<KvDataset> generateKv(const KeyKind& keys, int pairs, std::int64_t count, std::uint64_t seed,
                                    std::span<const std::string> words) {
    const auto generator = KvGenerator::create(keys, pairs, seed, words);
    if (!generator) return fail(generator.error());
    std::vector<KvItem> items;
    for (std::int64_t i = 0; i < count; ++i) items.push_back(generator->item(i));
    return datasetOf(generator->name(), std::move(items));
}

}  // namespace lpes::tasks::testing
