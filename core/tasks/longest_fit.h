#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace lpes::tasks {

/// The largest of 0 … `most` for which `fits` says yes, by bisection: what fits is taken to fit shortened too. Nothing
/// when not even 0 fits.
[[nodiscard]] inline std::optional<std::size_t> longestThatFits(std::size_t most,
                                                                const std::function<bool(std::size_t)>& fits) {
    if (!fits(0)) return std::nullopt;
    std::size_t low = 0, high = most + 1;  // `low` fits, `high` is out of the question
    while (high - low > 1) {
        const std::size_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace lpes::tasks
