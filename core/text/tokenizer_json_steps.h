#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// Reads the pieces of tokenizer.json that say how a text becomes pre-tokens and what is put around the ids. Each is
/// given the value of its key (null when absent) and refuses by name (Unsupported) what it does not know; BadInput for
/// a value of the wrong type.
[[nodiscard]] Result<void> readNormalizer(const nlohmann::json& value, TokenizerSpec& spec);
[[nodiscard]] Result<void> readPreTokenizer(const nlohmann::json& value, TokenizerSpec& spec);
[[nodiscard]] Result<void> readPostProcessor(const nlohmann::json& value, TokenizerSpec& spec);
[[nodiscard]] Result<void> readDecoder(const nlohmann::json& value, TokenizerSpec& spec);

/// value[key] as a bool, or the default when it is absent or null; BadInput for another type.
[[nodiscard]] Result<bool> boolAt(const nlohmann::json& value, const std::string& key, bool otherwise,
                                  const std::string& where);
/// value[key] as a string; BadInput, with `where`.key named, when it is absent or of another type.
[[nodiscard]] Result<std::string> textAt(const nlohmann::json& value, const std::string& key, const std::string& where);
/// value[key] as a whole number from 0 to 2³¹ − 1, or the default when it is absent or null; BadInput otherwise.
[[nodiscard]] Result<std::uint32_t> countAt(const nlohmann::json& value, const std::string& key,
                                            std::uint32_t otherwise, const std::string& where);
/// value.pattern, {"String": text} or {"Regex": Oniguruma pattern}, as a PCRE2 pattern; Unsupported for what the
/// engines read differently.
[[nodiscard]] Result<std::string> patternAt(const nlohmann::json& value, const std::string& where);
/// Sentences about a value of the wrong kind, and about a piece that is not known.
[[nodiscard]] tl::unexpected<Error> malformed(const std::string& where, const std::string& expected);
[[nodiscard]] tl::unexpected<Error> unknownPiece(const std::string& what, const std::string& known);

/// Calls `one` for the value, or for each member of a Sequence, which stand under `membersKey`.
[[nodiscard]] Result<void> forEachOf(
    const nlohmann::json& value, const std::string& where, const std::string& membersKey,
    const std::function<Result<void>(const std::string& type, const nlohmann::json& step)>& one);

}  // namespace lpes::text
