#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/analysis/statistics.h"
#include "core/base/result.h"

// Private to core/studies.
namespace lpes::studies {

/// Ratios of two methods' seconds on the same work.
struct SecondsRatio {
    double ratio = 1.0;  ///< median
    std::size_t pairs = 0;
    std::optional<analysis::Interval>
        interval;  ///< of the median, 95 %, bootstrap over pairs; none below analysis::kFewestPairs,
                   ///< nor where all ratios are the same, as of a method to itself
};
/// Seconds [n] of the one and the other in pairs; nothing for none.
[[nodiscard]] std::optional<SecondsRatio> ratioOf(std::span<const double> seconds, std::span<const double> reference,
                                                  std::uint64_t seed);
/// {"ratio", "low", "high", "pairs"}, low and high null where there is no interval; null for nothing.
[[nodiscard]] nlohmann::json ratioJson(const std::optional<SecondsRatio>& ratio);

/// The middle value (the mean of the two middle ones); 0 for none.
[[nodiscard]] double median(std::span<const double> values);

/// Bytes that the process needed at most while `work` ran, beside what it held before; empty where the kernel does not
/// say. Other threads of the process count as well.
struct PeakMemory {
    std::optional<std::int64_t> bytes;
};
[[nodiscard]] Result<PeakMemory> peakOf(const std::function<Result<void>()>& work);

}  // namespace lpes::studies
