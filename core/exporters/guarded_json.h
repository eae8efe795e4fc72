#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace lpes::exporters {

/// Deeper files are refused: copying and writing a JSON value recurses, so depth would cost stack.
inline constexpr int kMaxJsonDepth = 64;

/// Layers that a profile may have. No model comes near; a larger number is damage.
inline constexpr int kMaxProfileLayers = 10000;

/// "per" in a profile, in the order of curve::ScaleGroups::Kind.
inline constexpr std::array<const char*, 3> kPerNames{"layer", "kv_head", "band"};

/// JSON of unknown origin. BadInput that names `origin`: not JSON (with the byte), or nested too deeply. thread-safe.
[[nodiscard]] Result<nlohmann::json> parseGuarded(const std::string& text, const std::string& origin);

/// The text with every bare NaN, Infinity, inf, and every number too large for a double, put in quotes. JSON knows none
/// of them, but other programs write them: this lets an error name the layer instead of a byte.
[[nodiscard]] std::string quoteNonFinite(const std::string& text);

/// A value for an error message: short, on one line, without control characters; containers by their size only.
[[nodiscard]] std::string shown(const nlohmann::json& value);
[[nodiscard]] std::string shownText(std::string_view text);

}  // namespace lpes::exporters
