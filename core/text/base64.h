#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lpes::text {

/// The bytes of a base64 text (RFC 4648, section 4, with padding); nothing where it is not one.
[[nodiscard]] std::optional<std::string> bytesFromBase64(std::string_view text);

}  // namespace lpes::text
