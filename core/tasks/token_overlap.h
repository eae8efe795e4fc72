#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lpes::tasks {

/// How many elements two multisets share: min of the counts, summed.
template <typename T>
[[nodiscard]] std::size_t sharedCount(std::vector<T> a, std::vector<T> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::size_t shared = 0;
    for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
        if (*x < *y) {
            ++x;
        } else if (*y < *x) {
            ++y;
        } else {
            ++shared;
            ++x;
            ++y;
        }
    }
    return shared;
}

/// Harmonic mean of precision shared/predicted and recall shared/wanted; nothing shared gives 0.
[[nodiscard]] inline double fMeasure(std::size_t shared, std::size_t predicted, std::size_t wanted) {
    if (shared == 0) return 0.0;
    return 2.0 * static_cast<double>(shared) / static_cast<double>(predicted + wanted);
}

}  // namespace lpes::tasks
