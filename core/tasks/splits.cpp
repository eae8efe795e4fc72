#include "core/tasks/splits.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/random.h"

namespace lpes::tasks {

Result<Splits> makeSplits(std::vector<std::string> ids, const std::string& name, int searchCount, int selectCount,
                          std::optional<int> reportCount, std::uint64_t seed) {
    if (searchCount < 0 || selectCount < 0 || reportCount.value_or(0) < 0) {
        return fail(ErrorCode::Usage,
                    fmt::format("numbers of search, selection and report items must not be negative ({}, {}, {})",
                                searchCount, selectCount, reportCount.value_or(0)));
    }
    const auto available = static_cast<std::int64_t>(ids.size());
    const std::int64_t before = std::int64_t{searchCount} + selectCount;
    // Without a number, the report takes what is left, and a report on nothing says nothing.
    const std::int64_t needed = before + (reportCount ? *reportCount : 1);
    if (needed > available) {
        return fail(
            ErrorCode::Usage,
            fmt::format("'{}' has {} items, but {} search + {} selection + {} report items are needed; ask for fewer "
                        "or take more items",
                        name, available, searchCount, selectCount,
                        reportCount ? std::to_string(*reportCount) : "at least 1"));
    }
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

Result<Splits> makeResampledSplits(std::vector<std::string> ids, const std::string& name, int searchCount,
                                   int selectCount, int reportCount, std::uint64_t seed, int index, int count) {
    const auto available = static_cast<std::int64_t>(ids.size());
    auto splits = makeSplits(std::move(ids), name,
                             static_cast<int>(std::max<std::int64_t>(0, available - selectCount - reportCount)),
                             selectCount, reportCount, seed);
    if (!splits) return splits;
    std::vector<std::string> pool = std::move(splits->search);
    const auto size = static_cast<std::size_t>(searchCount);
    if (searchCount < 1 || count < 1 || index < 0 || index >= count || pool.size() <= size) {
        return fail(ErrorCode::Usage,
                    fmt::format("'{}' leaves {} items beside {} selection and {} report items, from which {} different "
                                "sets of {} search items cannot be drawn; ask for fewer or take more items",
                                name, pool.size(), selectCount, reportCount, count, searchCount));
    }
    if (pool.size() < size * static_cast<std::size_t>(count)) {
        RandomStream random(seed, kStreamSplits, static_cast<std::uint32_t>(index) + 1);
        random.shuffle(pool);
        index = 0;
    }
    const auto begin = pool.begin() + static_cast<std::ptrdiff_t>(size) * index;
    splits->search.assign(begin, begin + searchCount);
    return splits;
}

}  // namespace lpes::tasks
