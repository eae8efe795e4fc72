#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// Where the evidence stands: a relative position (begin = 0, middle = 0.5, end = 1, 25 % = 0.25) or an absolute gold
/// index ("#4").
struct PositionSpec {
    std::string label;               ///< as the user wrote it: "begin", "25", "#4"
    std::optional<double> relative;  ///< 0 … 1
    std::optional<int> index;        ///< from 0

    /// floor(p·(records−1) + 0.5) for a relative position (methods.md §2), else the index; Usage when the index is not
    /// below `records`.
    [[nodiscard]] Result<int> goldIndex(int records) const;
};

/// "begin,middle,end", "0,25,50,75,100", "every:10", "#0,#4,#9", mixed. Usage for anything else, for a percentage
/// outside 0 … 100 and for a position that is named twice.
[[nodiscard]] Result<std::vector<PositionSpec>> parsePositions(const std::string& text);

}  // namespace lpes::tasks
