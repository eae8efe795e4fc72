#pragma once

#include <cstdint>
#include <string>

namespace lpes {

/// Milliseconds since 1970 in UTC: what the data base stores.
[[nodiscard]] std::int64_t nowUtcMs();

/// Seconds of a clock that never goes back, for durations.
[[nodiscard]] double steadySeconds();

/// "2026-11-29 18:05:00 UTC".
[[nodiscard]] std::string formatUtc(std::int64_t utcMs);

}  // namespace lpes
