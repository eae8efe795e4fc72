#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/json_text.h"
#include "core/base/progress.h"

/// What home and the far end say to each other: JSON objects, a line each, some of them followed by as many raw bytes
/// as they say. README.md beside this file has all of them.
namespace lpes::remote {

/// Rises when an older end would misunderstand a newer one. Both ends must have the same.
inline constexpr int kProtocol = 1;

/// lpes::toJson's error, back. What is no error comes back as Failed with the text that there is.
[[nodiscard]] Error errorFromJson(const nlohmann::json& json);

/// A value of a message, or the substitute where the key is missing or of another type: the far end may be newer.
[[nodiscard]] std::string textIn(const nlohmann::json& message, const char* key, const std::string& otherwise = {});
[[nodiscard]] std::int64_t numberIn(const nlohmann::json& message, const char* key, std::int64_t otherwise = 0);

/// What `--progress json` printed, as an observer is told it.
struct ProgressLine {
    std::optional<Progress> progress;
    std::optional<std::string> warning;
};
/// Both are empty for a line that is neither.
[[nodiscard]] ProgressLine parseProgressLine(const std::string& line);

}  // namespace lpes::remote
