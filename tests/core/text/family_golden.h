#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/tokenizer.h"

namespace lpes::text::testing {

/// tests/golden/tokenizers/<name>.json.gz.
nlohmann::json loadGzip(const std::string& name);

/// The strings that every family's ids are of.
const std::vector<std::string>& familyStrings();

/// One family of tests/golden/make_tokenizer_families.py.
struct FamilyGolden {
    explicit FamilyGolden(const std::string& name);

    nlohmann::json tokenizer;
    std::vector<std::vector<TokenId>> plain;
    std::map<std::size_t, std::vector<TokenId>> special, pieces;
    std::map<std::size_t, std::string> decoded;
    std::string model;  ///< bytes of tokenizer.model, or empty

    [[nodiscard]] const std::vector<TokenId>& ids(std::size_t k, bool parseSpecial) const;
    [[nodiscard]] const std::vector<TokenId>& piecesOf(std::size_t k) const;
};

/// Compares every string's ids, and checks that the offsets never go back and stay inside the text.
void expectIds(const Tokenizer& tokenizer, const FamilyGolden& golden, bool parseSpecial);

}  // namespace lpes::text::testing
