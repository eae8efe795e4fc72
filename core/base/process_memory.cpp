#include "core/base/process_memory.h"

#include <malloc.h>

#include <fstream>
#include <sstream>
#include <string>

namespace lpes {
namespace {

/// A line of /proc/self/status, which counts in KiB.
std::optional<std::int64_t> statusBytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.compare(0, key.size(), key) != 0) continue;
        std::istringstream rest(line.substr(key.size()));
        std::int64_t kib = 0;
        if (rest >> kib) return kib * 1024;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> residentBytes() {
    return statusBytes("VmRSS:");
}

std::optional<std::int64_t> peakResidentBytes() {
    return statusBytes("VmHWM:");
}

bool resetPeakResident() {
    // proc(5): writing 5 sets the peak to the present value.
    std::ofstream clear("/proc/self/clear_refs");
    clear << "5" << std::flush;
    return clear.good();
}

void releaseFreedMemory() {
    (void)malloc_trim(0);
}

}  // namespace lpes
