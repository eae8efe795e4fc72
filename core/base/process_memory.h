#pragma once

#include <cstdint>
#include <optional>

namespace lpes {

/// Bytes of this process that are in memory now; empty where the kernel does not say.
[[nodiscard]] std::optional<std::int64_t> residentBytes();

/// The most bytes of this process that were in memory since it began, or since the last resetPeakResident().
[[nodiscard]] std::optional<std::int64_t> peakResidentBytes();

/// Lets the peak begin anew at what is in memory now (Linux 4.0 and later); false where that cannot be done: the peak
/// then goes on from the process's begin. Affects the whole process: one measurement at a time.
bool resetPeakResident();

/// Gives freed heap memory back to the system, so that what one measurement has freed does not count in the next.
void releaseFreedMemory();

}  // namespace lpes
