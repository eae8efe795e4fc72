#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "core/text/tokenizer.h"

namespace lpes::text {

/// Reads the pieces of tokenizer.json that say how a text becomes pre-tokens and what is put around the ids. Each is
/// given the value of its key (null when absent) and refuses by name (Unsupported) what it does not know; BadInput for
/// a value of the wrong type.
[[nodiscard]] Result<void> readNormalizer(const nlohmann::json& value, TokenizerSpec& spec);
[[nodiscard]] Result<void> readPreTokenizer(const nlohmann::json& value, TokenizerSpec& spec);
[[nodiscard]] Result<void> readPostProcessor(const nlohmann::json& value, TokenizerSpec& spec);
[[nodiscard]] Result<void> readDecoder(const nlohmann::json& value);

/// value[key] as a bool, or the default when it is absent or null; BadInput for another type.
[[nodiscard]] Result<bool> boolAt(const nlohmann::json& value, const std::string& key, bool otherwise,
                                  const std::string& where);
/// value[key] as a string; BadInput, with `where`.key named, when it is absent or of another type.
[[nodiscard]] Result<std::string> textAt(const nlohmann::json& value, const std::string& key, const std::string& where);
/// A sentence about a value of the wrong kind.
[[nodiscard]] tl::unexpected<Error> malformed(const std::string& where, const std::string& expected);

}  // namespace lpes::text
