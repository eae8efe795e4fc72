#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace lpes {

/// One line without its end: UTF-8 whatever the texts in it hold, what is none being replaced.
[[nodiscard]] std::string jsonLine(const nlohmann::json& value);

/// {"code", "message", "detail", "context"}: an error for another process.
[[nodiscard]] nlohmann::json toJson(const Error& error);
/// errorName's other way; Failed for a name that is none.
[[nodiscard]] ErrorCode errorCodeNamed(std::string_view name);

}  // namespace lpes
