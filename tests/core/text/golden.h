#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/tokenizer.h"

namespace lpes::text::testing {

/// A string and its ids in the tokenizers library.
struct GoldenCase {
    std::string text;
    std::vector<TokenId> ids;         ///< special tokens as ordinary text
    std::vector<TokenId> idsSpecial;  ///< special tokens parsed
};

/// tests/golden/tokenizer_<name>.json.
nlohmann::json loadGolden(const std::string& name);
std::vector<GoldenCase> casesOf(const nlohmann::json& golden);

/// The spec that readTokenizerJson reads from a folder with this tokenizer.json alone.
Result<TokenizerSpec> specOf(const nlohmann::json& tokenizerJson);
Result<TokenizerSpec> specOf(const std::string& tokenizerJson);
/// The tokenizer of a golden file; null (and a failed test) when it cannot be made.
std::shared_ptr<const Tokenizer> tokenizerOf(const nlohmann::json& golden);
/// The vocabulary of a golden file as the converter to GGUF would write it.
GgufVocabulary ggufOf(const nlohmann::json& golden, const std::string& pre);

/// Compares every case, both ways of reading special tokens.
void expectGoldenIds(const Tokenizer& tokenizer, const std::vector<GoldenCase>& cases);

/// The text in ASCII, for messages.
std::string ascii(const std::string& text);

}  // namespace lpes::text::testing
