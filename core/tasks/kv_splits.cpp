#include <fmt/format.h>

#include <array>

#include "core/base/checksum.h"
#include "core/base/random.h"
#include "core/tasks/kv_hash.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::tasks {

std::string hashOfItems(const std::vector<KvItem>& items) {
    Sha256 hash;
    const auto addNumber = [&hash](std::size_t number) {
        std::array<char, 8> bytes{};
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((number >> (8 * i)) & 255);
        hash.add(std::string_view(bytes.data(), bytes.size()));
    };
    const auto addText = [&](const std::string& text) {
        addNumber(text.size());
        hash.add(text);
    };
    addNumber(items.size());
    for (const KvItem& item : items) {
        addText(item.id);
        addText(item.gold.first);
        addText(item.gold.second);
        addNumber(item.distractors.size());
        for (const auto& [key, value] : item.distractors) {
            addText(key);
            addText(value);
        }
    }
    return hash.hex();
}

Result<Splits> makeSplits(const KvDataset& dataset, int searchCount, int selectCount, std::optional<int> reportCount,
                          std::uint64_t seed) {
    if (searchCount < 0 || selectCount < 0 || reportCount.value_or(0) < 0) {
        return fail(ErrorCode::Usage,
                    fmt::format("numbers of search, selection and report items must not be negative ({}, {}, {})",
                                searchCount, selectCount, reportCount.value_or(0)));
    }
    const auto available = static_cast<std::int64_t>(dataset.items.size());
    const std::int64_t before = std::int64_t{searchCount} + selectCount;
    // Without a number, the report takes what is left, and a report on nothing says nothing.
    const std::int64_t needed = before + (reportCount ? *reportCount : 1);
    if (needed > available) {
        return fail(
            ErrorCode::Usage,
            fmt::format("'{}' has {} items, but {} search + {} selection + {} report items are needed; ask for fewer "
                        "or take more items",
                        dataset.name, available, searchCount, selectCount,
                        reportCount ? std::to_string(*reportCount) : "at least 1"));
    }
    std::vector<std::string> ids;
    ids.reserve(dataset.items.size());
    for (const KvItem& item : dataset.items) ids.push_back(item.id);
    RandomStream random(seed, kStreamSplits);
    random.shuffle(ids);

    const auto selectBegin = ids.begin() + searchCount;
    const auto reportBegin = selectBegin + selectCount;
    Splits splits;
    splits.search.assign(ids.begin(), selectBegin);
    splits.select.assign(selectBegin, reportBegin);
    splits.report.assign(reportBegin, reportCount ? reportBegin + *reportCount : ids.end());
    return splits;
}

}  // namespace lpes::tasks
