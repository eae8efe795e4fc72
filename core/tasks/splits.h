#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// Item ids for the three uses of a search, disjoint, by a seeded shuffle (methods.md §2).
struct Splits {
    std::vector<std::string> search, select, report;
};
/// `ids` are all items of the data set `name`, in their order. `reportCount` unset: all the rest. Usage when there are
/// too few items (names the numbers).
[[nodiscard]] Result<Splits> makeSplits(std::vector<std::string> ids, const std::string& name, int searchCount,
                                        int selectCount, std::optional<int> reportCount, std::uint64_t seed);

/// The same for one of `count` searches that share their selection and report items and differ in their search items
/// (`index` from 0). The items of the others make up a pool: disjoint parts of it where it has count · searchCount
/// items, else random ones, each set without replacement. Usage where the pool has no more than searchCount items
/// (every set would be the same), and as makeSplits.
[[nodiscard]] Result<Splits> makeResampledSplits(std::vector<std::string> ids, const std::string& name, int searchCount,
                                                 int selectCount, int reportCount, std::uint64_t seed, int index,
                                                 int count);

}  // namespace lpes::tasks
