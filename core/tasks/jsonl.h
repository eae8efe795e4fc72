#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// What is wrong with a line of a user's own task file (format: core/tasks/README.md).
struct JsonlFault {
    std::int64_t line = 0;  ///< from 1
    std::string field;      ///< "documents[2].title"; empty: the line as a whole
    std::string what;       ///< "is not a text": with the field in front it is a sentence
    /// "line 3: 'gold' is not an array".
    [[nodiscard]] std::string text() const;
};

struct JsonlReport {
    static constexpr std::size_t kMostFaults = 100;
    std::vector<JsonlFault> faults;  ///< in the order of lines, kMostFaults at most
    std::int64_t items = 0;          ///< lines without a fault, as far as was read
    bool complete = true;            ///< false: reading stopped at kMostFaults faults
};

/// Reads the whole file and says everything that is wrong with it. BadInput where the file itself cannot be read
/// (missing, a damaged gzip stream).
[[nodiscard]] Result<JsonlReport> checkJsonl(const std::filesystem::path& path);

}  // namespace lpes::tasks
