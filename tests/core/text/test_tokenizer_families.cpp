// Ids of the tokenizers library and of sentencepiece for more than 2,000 strings, in the configuration of every family
// (tests/golden/make_tokenizer_families.py).
#include <gtest/gtest.h>

#include <algorithm>

#include "core/text/sentencepiece_model.h"
#include "tests/core/text/family_golden.h"
#include "tests/core/text/golden.h"
#include "tests/support/temp_folder.h"

namespace lpes::text {
namespace {

using nlohmann::json;
using testing::ascii;
using testing::FamilyGolden;
using testing::familyStrings;
using testing::specOf;

std::shared_ptr<const Tokenizer> make(const Result<TokenizerSpec>& spec) {
    EXPECT_TRUE(spec.has_value()) << spec.error().text();
    if (!spec) return nullptr;
    auto made = makeTokenizer(*spec);
    EXPECT_TRUE(made.has_value()) << made.error().text();
    return made.value_or(nullptr);
}

class TokenizerFamilies : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenizerFamilies, GivesTheIdsOfTheTokenizersLibrary) {
    const FamilyGolden golden(GetParam());
    const auto tokenizer = make(specOf(golden.tokenizer));
    ASSERT_TRUE(tokenizer);
    testing::expectIds(*tokenizer, golden, false);
    testing::expectIds(*tokenizer, golden, true);
}

TEST_P(TokenizerFamilies, DecodesAsTheLibraryDoes) {
    const FamilyGolden golden(GetParam());
    const auto tokenizer = make(specOf(golden.tokenizer));
    ASSERT_TRUE(tokenizer);
    // The texts of the first strings that come back changed are stored; behind them such strings are not known.
    const std::size_t known = golden.decoded.size() < 200 ? familyStrings().size() : golden.decoded.rbegin()->first + 1;
    for (std::size_t k = 0; k < known; ++k) {
        const auto decoded = tokenizer->decode(golden.plain[k], true);
        ASSERT_TRUE(decoded.has_value()) << decoded.error().text();
        const auto at = golden.decoded.find(k);
        EXPECT_EQ(*decoded, at == golden.decoded.end() ? familyStrings()[k] : at->second) << ascii(familyStrings()[k]);
    }
    EXPECT_GT(known, 250u);
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerFamilies,
                         ::testing::Values("llama3", "qwen", "nemo", "phi4mini", "llama2", "mistral", "phi3", "gemma",
                                           "t5"),
                         [](const auto& family) { return std::string(family.param); });

TEST(TokenizerSteps, GiveTheIdsOfTheTokenizersLibraryInEveryCombination) {
    const json golden = testing::loadGzip("steps");
    const auto chosen = golden["strings"].get<std::vector<std::size_t>>();
    for (const json& variant : golden["variants"]) {
        json file = golden["tokenizer"];
        file["normalizer"] = variant["normalizer"];
        file["pre_tokenizer"] = variant["pre_tokenizer"];
        const auto tokenizer = make(specOf(file));
        ASSERT_TRUE(tokenizer) << variant["normalizer"] << variant["pre_tokenizer"];
        int wrong = 0;
        for (std::size_t k = 0; k < chosen.size() && wrong < 5; ++k) {
            const std::string& text = familyStrings()[chosen[k]];
            const auto encoding = tokenizer->encode(text);
            ASSERT_TRUE(encoding.has_value()) << encoding.error().text();
            const auto expected = variant["plain"][k].get<std::vector<TokenId>>();
            EXPECT_EQ(encoding->ids, expected) << ascii(text) << tokenizer->description();
            wrong += encoding->ids != expected ? 1 : 0;
            EXPECT_TRUE(std::is_sorted(encoding->byteBegin.begin(), encoding->byteBegin.end()));
        }
    }
}

class SentencePiece : public ::testing::TestWithParam<const char*> {};

TEST_P(SentencePiece, GivesTheIdsOfSentencePiece) {
    const FamilyGolden golden(GetParam());
    const test::TempFolder folder;
    folder.write("tokenizer.model", golden.model);
    if (std::string(GetParam()) == "t5") folder.write("tokenizer_config.json", R"({"tokenizer_class":"T5Tokenizer"})");
    const auto tokenizer = make(readTokenizerFiles(folder.path()));
    ASSERT_TRUE(tokenizer);
    int wrong = 0;
    for (std::size_t k = 0; k < familyStrings().size() && wrong < 10; ++k) {
        const std::string& text = familyStrings()[k];
        // sentencepiece knows no switch: to it, what marks a turn is a piece like any other.
        const bool marksTurn = std::string(GetParam()) == "gemma" && text.find("_of_turn>") != std::string::npos;
        const auto encoding = tokenizer->encode(text, {marksTurn, false});
        ASSERT_TRUE(encoding.has_value()) << encoding.error().text();
        if (marksTurn) {
            EXPECT_NE(tokenizer->encode(text)->ids, encoding->ids) << ascii(text);
        }
        EXPECT_EQ(encoding->ids, golden.piecesOf(k)) << k << ": " << ascii(text);
        wrong += encoding->ids != golden.piecesOf(k) ? 1 : 0;
        EXPECT_TRUE(std::is_sorted(encoding->byteBegin.begin(), encoding->byteBegin.end()));
    }
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePiece, ::testing::Values("llama2", "gemma", "t5"),
                         [](const auto& family) { return std::string(family.param); });

/// The vocabulary as llama.cpp's converter writes it.
GgufVocabulary ggufOf(const FamilyGolden& golden) {
    const auto model = parseSentencePieceModel(golden.model);
    EXPECT_TRUE(model.has_value());
    GgufVocabulary vocabulary;
    vocabulary.model = "llama";
    vocabulary.pre = "default";
    vocabulary.tokens = model->vocabulary.pieces;
    vocabulary.scores = model->vocabulary.scores;
    vocabulary.tokenTypes = model->vocabulary.types;
    vocabulary.addSpacePrefix = model->addDummyPrefix ? -1 : 0;
    // Tokens of the files beside the model: appended, and control tokens where they look special.
    for (const json& added : golden.tokenizer["added_tokens"]) {
        const auto id = added["id"].get<std::size_t>();
        if (id >= vocabulary.tokens.size()) {
            vocabulary.tokens.resize(id + 1);
            vocabulary.scores.resize(id + 1, -1000.0F);
            vocabulary.tokenTypes.resize(id + 1, 5);
        }
        vocabulary.tokens[id] = added["content"].get<std::string>();
        const bool unknown = vocabulary.tokens[id] == "<unk>";
        vocabulary.tokenTypes[id] = unknown ? 2 : added["special"].get<bool>() ? 3 : 4;
    }
    return vocabulary;
}

TEST(GgufFamilies, GiveTheSameIdsAsTokenizerJson) {
    for (const char* family : {"llama2", "phi3", "gemma"}) {
        FamilyGolden golden(family);
        // Phi-3 has Llama 2's pieces.
        if (golden.model.empty()) golden.model = FamilyGolden("llama2").model;
        GgufVocabulary vocabulary = ggufOf(golden);
        if (std::string(family) == "phi3") vocabulary.modelName = "Phi-3 Mini 4k Instruct";
        const auto tokenizer = make(specFromGguf(vocabulary));
        ASSERT_TRUE(tokenizer);
        testing::expectIds(*tokenizer, golden, false);
        testing::expectIds(*tokenizer, golden, true);
    }
}

TEST(GgufFamilies, ByteLevelNamesGiveTheSameIdsAsTokenizerJson) {
    for (const auto& [family, pre] :
         {std::pair{"llama3", "llama-bpe"}, std::pair{"llama3", "llama-v3"}, std::pair{"qwen", "qwen2"},
          std::pair{"nemo", "tekken"}, std::pair{"phi4mini", "gpt-4o"}}) {
        const FamilyGolden golden(family);
        auto vocabulary = testing::ggufOf({{"tokenizer", golden.tokenizer}}, pre);
        vocabulary.bosId = 0;
        auto spec = specFromGguf(vocabulary);
        ASSERT_TRUE(spec.has_value()) << spec.error().text();
        // GGUF does not carry the stripping of Phi-4-mini's tokens.
        for (std::size_t k = 0; k < spec->added.size(); ++k) {
            spec->added[k].rstrip = golden.tokenizer["added_tokens"][k]["rstrip"].get<bool>();
        }
        const auto tokenizer = make(spec);
        ASSERT_TRUE(tokenizer);
        testing::expectIds(*tokenizer, golden, false);
        testing::expectIds(*tokenizer, golden, true);
    }
}

}  // namespace
}  // namespace lpes::text
