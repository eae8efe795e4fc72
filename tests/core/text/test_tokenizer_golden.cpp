// Ids of the tokenizers library (tests/golden/make_tokenizer_golden.py) for five small vocabularies.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/text/golden.h"

namespace lpes::text {
namespace {

using testing::casesOf;
using testing::GoldenCase;
using testing::loadGolden;
using testing::tokenizerOf;

class TokenizerGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenizerGolden, GivesTheIdsOfTheTokenizersLibrary) {
    const auto golden = loadGolden(std::string("tiny_") + GetParam());
    const auto tokenizer = tokenizerOf(golden);
    ASSERT_TRUE(tokenizer);
    const auto cases = casesOf(golden);
    EXPECT_GE(cases.size(), 250u);
    testing::expectGoldenIds(*tokenizer, cases);
}

TEST_P(TokenizerGolden, DecodesToTheTextThatWasGiven) {
    const auto golden = loadGolden(std::string("tiny_") + GetParam());
    if (std::string(GetParam()) == "added")
        GTEST_SKIP() << "its prefix space, stripping and unknown token change texts";
    const auto tokenizer = tokenizerOf(golden);
    ASSERT_TRUE(tokenizer);
    const bool nfc = golden["tokenizer"]["normalizer"].is_object();
    std::size_t compared = 0;
    for (const GoldenCase& item : casesOf(golden)) {
        const auto encoding = tokenizer->encode(item.text, {true, false});
        ASSERT_TRUE(encoding.has_value());
        if (!encoding->withoutToken.empty()) continue;
        const auto decoded = tokenizer->decode(encoding->ids, true);
        ASSERT_TRUE(decoded.has_value());
        if (nfc) {
            // With NFC the text comes back normalised, and encodes to the same ids again.
            EXPECT_EQ(tokenizer->encode(*decoded, {true, false})->ids, encoding->ids) << testing::ascii(item.text);
        } else {
            EXPECT_EQ(*decoded, item.text);
        }
        ++compared;
    }
    EXPECT_GE(compared, 240u);
}

TEST_P(TokenizerGolden, BeginsEveryTokenWhereThePreviousEnds) {
    const auto golden = loadGolden(std::string("tiny_") + GetParam());
    if (golden["tokenizer"]["normalizer"].is_object()) GTEST_SKIP() << "NFC changes lengths";
    const auto tokenizer = tokenizerOf(golden);
    ASSERT_TRUE(tokenizer);
    for (const GoldenCase& item : casesOf(golden)) {
        const auto encoding = tokenizer->encode(item.text, {true, false});
        ASSERT_TRUE(encoding.has_value());
        std::size_t at = 0;
        for (std::size_t k = 0; k < encoding->ids.size(); ++k) {
            const auto& missing = encoding->withoutToken;
            while (std::find(missing.begin(), missing.end(), at) != missing.end()) ++at;
            EXPECT_EQ(encoding->byteBegin[k], at) << testing::ascii(item.text);
            at += tokenizer->decode(std::span(&encoding->ids[k], 1), true)->size();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, TokenizerGolden, ::testing::Values("gpt2", "smollm", "qwen2", "llama3", "added"),
                         [](const auto& family) { return std::string(family.param); });

// Runs and profiles carry the fingerprint: these are those of the program's first version.
TEST(Tokenizer, KeepsTheFingerprintsOfByteLevelVocabularies) {
    for (const auto& [family, fingerprint] :
         {std::pair{"gpt2", "c5b449a60059f21fc81c252e2916b9d8b0c045f9444dae2eab00b0975868d9b1"},
          std::pair{"smollm", "0cb9b9f6d7d2aefc1ca3e25ea952f9a3fc5acf5849a58ab755bd52fa1de9ad0c"},
          std::pair{"qwen2", "5efc8bbd2c21cd69c949315a20a258af0de918a33fa94611ac85ce22ce71e553"},
          std::pair{"llama3", "7b0f9d9397abaeacb6b6dde6e0a76e14c91bb327b7e5712c065d4597f7ae9af9"},
          std::pair{"added", "83f6b638e8a3c747761315e356547e859cafd51951a5c03537667e8f707cdfc1"}}) {
        const auto tokenizer = tokenizerOf(loadGolden(std::string("tiny_") + family));
        ASSERT_TRUE(tokenizer);
        EXPECT_EQ(tokenizer->fingerprint(), fingerprint) << family;
    }
}

TEST(FieldReports, T19_TokenizerFamiliesAgreeWithTheReference) {
    const std::vector<std::string> texts = {"->",
                                            "(x):\n",
                                            "\n\nword",
                                            "1234567",
                                            "They're / THEY'RE",
                                            "   word",
                                            "trailing  ",
                                            "hello \xF0\x9F\x99\x82 world",
                                            "\xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4 \xED\x86\xA0\xED\x81\xB0",
                                            "<|im_start|>",
                                            "a<|im_start|>b"};
    for (const char* family : {"gpt2", "llama3", "qwen2", "smollm"}) {
        const auto golden = loadGolden(std::string("tiny_") + family);
        const auto tokenizer = tokenizerOf(golden);
        ASSERT_TRUE(tokenizer);
        const auto cases = casesOf(golden);
        for (const std::string& text : texts) {
            const auto item =
                std::find_if(cases.begin(), cases.end(), [&](const auto& one) { return one.text == text; });
            ASSERT_NE(item, cases.end()) << text;
            for (const bool parseSpecial : {false, true}) {
                const auto encoding = tokenizer->encode(text, {parseSpecial, false});
                ASSERT_TRUE(encoding.has_value());
                EXPECT_EQ(encoding->ids, parseSpecial ? item->idsSpecial : item->ids) << family << ": " << text;
                EXPECT_EQ(tokenizer->decode(encoding->ids, true).value(), text) << family;
            }
        }
    }
}

TEST(FieldReports, T19_ControlTextIsAnIdOnlyWhenAskedFor) {
    const auto golden = loadGolden("tiny_smollm");
    const auto tokenizer = tokenizerOf(golden);
    ASSERT_TRUE(tokenizer);
    const auto parsed = tokenizer->encode("a<|im_start|>b", {true, false});
    const auto plain = tokenizer->encode("a<|im_start|>b");
    ASSERT_EQ(parsed->ids.size(), 3u);
    EXPECT_EQ(tokenizer->piece(parsed->ids[1]), "<|im_start|>");
    EXPECT_EQ(parsed->byteBegin, (std::vector<std::size_t>{0, 1, 13}));
    EXPECT_EQ(std::count(plain->ids.begin(), plain->ids.end(), parsed->ids[1]), 0);
    EXPECT_EQ(tokenizer->decode(plain->ids).value(), "a<|im_start|>b");
    EXPECT_EQ(tokenizer->decode(parsed->ids).value(), "ab");
}

}  // namespace
}  // namespace lpes::text
