#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// A JSON file that holds an object; BadInput otherwise.
[[nodiscard]] Result<nlohmann::json> parseJsonFile(const std::filesystem::path& path);

/// object[key], null where it is absent.
[[nodiscard]] const nlohmann::json& memberOf(const nlohmann::json& object, const std::string& key);

/// A token id; BadInput, with `where` named, for anything else.
[[nodiscard]] Result<TokenId> idFrom(const nlohmann::json& value, const std::string& where);

/// The id of an added token that tokenizer_config.json names, as a text or as an object with its content; −1.
[[nodiscard]] TokenId idOfSpecial(const TokenizerSpec& spec, const nlohmann::json& token);

/// What the files beside a tokenizer say: bos_token, eos_token, add_bos_token and add_eos_token of
/// tokenizer_config.json (which go before the post-processor, as in transformers), eos_token_id of
/// generation_config.json. BadInput for a malformed file; a missing one says nothing.
[[nodiscard]] Result<void> readNeighbours(const std::filesystem::path& folder, TokenizerSpec& spec);

}  // namespace lpes::text
