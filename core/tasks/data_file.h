#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/benchmark.h"

namespace lpes::tasks {

/// "kv-retrieval-75_keys.jsonl.gz" → "kv-retrieval-75_keys": ids are the same for the compressed and the plain file.
[[nodiscard]] std::string dataSetName(const std::filesystem::path& path);

/// NAME of a task "FAMILY:NAME". Usage, with the names that there are, when it is none of `names`.
[[nodiscard]] Result<std::string> memberOfFamily(const std::string& task, const std::string& family,
                                                 const std::vector<std::string>& names);

/// The file that spec.data means: itself, or in a folder the first of `inFolder` (relative, ending in ".jsonl") that is
/// there, plain ahead of ".gz". Usage without spec.data; BadInput when none is there, with what was looked for.
[[nodiscard]] Result<std::filesystem::path> findDataFile(const BenchmarkSpec& spec,
                                                         const std::vector<std::string>& inFolder);

/// The file that the items are read from; Usage when none is named.
[[nodiscard]] Result<std::filesystem::path> requiredData(const BenchmarkSpec& spec);

/// Usage for a limit below 1.
[[nodiscard]] Result<void> checkLimit(std::optional<std::int64_t> limit);

/// Hands the lines of a plain or gzipped file to `take`, with where each stands ("'kv.jsonl', line 3:"), until it says
/// false or fails. kStoppedMessage when stopped.
[[nodiscard]] Result<void> readLines(
    const std::filesystem::path& path,
    const std::function<Result<bool>(const std::string& line, const std::string& where)>& take,
    std::stop_token stop = {});

/// Hands every line of a plain or gzipped file, `limit` of them at most, to `take` with where it stands ("'kv.jsonl',
/// line 3:"). Gives how many they were. The first failure ends it; BadInput for a file without lines, too;
/// kStoppedMessage when stopped.
[[nodiscard]] Result<std::int64_t> forEachLine(
    const std::filesystem::path& path, std::optional<std::int64_t> limit,
    const std::function<Result<void>(const std::string& line, const std::string& where)>& take,
    std::stop_token stop = {});

}  // namespace lpes::tasks
