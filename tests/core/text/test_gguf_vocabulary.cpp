#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/text/golden.h"

namespace lpes::text {
namespace {

using ::testing::ElementsAre;
using testing::ggufOf;
using ::testing::HasSubstr;
using testing::loadGolden;
using testing::tokenizerOf;

TEST(GgufVocabulary, GivesTheSameIdsAndFingerprintAsTokenizerJson) {
    for (const auto& [family, pre] : {std::pair{"gpt2", "gpt-2"}, std::pair{"smollm", "smollm"},
                                      std::pair{"qwen2", "qwen2"}, std::pair{"llama3", "llama-bpe"}}) {
        auto golden = loadGolden(std::string("tiny_") + family);
        // GGUF does not carry `normalized`, and no published tokenizer of these families sets it.
        for (auto& added : golden["tokenizer"]["added_tokens"]) added["normalized"] = false;
        const auto fromJson = tokenizerOf(golden);
        ASSERT_TRUE(fromJson);
        auto vocabulary = ggufOf(golden, pre);
        vocabulary.bosId = 0;
        // Rows of the embedding without a token, as the converter writes them.
        const std::size_t padding = vocabulary.tokens.size();
        vocabulary.tokens.push_back("[PAD" + std::to_string(padding) + "]");
        vocabulary.tokenTypes.push_back(5);
        const auto spec = specFromGguf(vocabulary);
        ASSERT_TRUE(spec.has_value()) << spec.error().text();
        const auto fromGguf = makeTokenizer(*spec);
        ASSERT_TRUE(fromGguf.has_value()) << fromGguf.error().text();
        EXPECT_EQ((*fromGguf)->fingerprint(), fromJson->fingerprint()) << family;
        EXPECT_EQ((*fromGguf)->description(), fromJson->description()) << family;
        for (const auto& item : testing::casesOf(golden)) {
            EXPECT_EQ((*fromGguf)->encode(item.text)->ids, fromJson->encode(item.text)->ids)
                << testing::ascii(item.text);
        }
    }
}

TEST(GgufVocabulary, RefusesUnknownNamesAndSaysWhatIsKnown) {
    auto vocabulary = ggufOf(loadGolden("tiny_smollm"), "smollm");
    vocabulary.bosId = 0;
    const auto refusal = [&](const std::string& model, const std::string& pre) {
        vocabulary.model = model;
        vocabulary.pre = pre;
        const auto spec = specFromGguf(vocabulary);
        if (spec) return std::string("accepted");
        EXPECT_EQ(spec.error().code, ErrorCode::Unsupported);
        return spec.error().message;
    };
    EXPECT_EQ(refusal("gpt2", "smollm"), "accepted");
    EXPECT_EQ(refusal("gpt2", "tekken"), "accepted");
    EXPECT_EQ(refusal("gpt2", "deepseek-r1-qwen"), "accepted");
    EXPECT_THAT(refusal("t5", "default"), HasSubstr("\"t5\""));
    EXPECT_THAT(refusal("bert", ""), HasSubstr("\"bert\""));
    EXPECT_THAT(refusal("gpt2", "kimi-k2"), ::testing::AllOf(HasSubstr("\"kimi-k2\""), HasSubstr("smollm")));
    EXPECT_THAT(refusal("gpt2", "default"), HasSubstr("guess"));
    EXPECT_THAT(refusal("gpt2", ""), ::testing::AllOf(HasSubstr("no tokenizer.ggml.pre"), HasSubstr("smollm")));
}

TEST(GgufVocabulary, RefusesDamage) {
    const auto sound = ggufOf(loadGolden("tiny_smollm"), "smollm");
    const auto refusal = [&](auto change) {
        auto vocabulary = sound;
        change(vocabulary);
        const auto spec = specFromGguf(vocabulary);
        if (!spec) {
            EXPECT_EQ(spec.error().code, ErrorCode::BadInput);
            return spec.error().message;
        }
        const auto made = makeTokenizer(*spec);
        if (made) return std::string("made");
        EXPECT_EQ(made.error().code, ErrorCode::BadInput);
        return made.error().message;
    };
    EXPECT_EQ(refusal([](auto&) {}), "made");
    EXPECT_EQ(refusal([](auto& v) { v.tokenTypes.clear(); }), "made");
    EXPECT_THAT(refusal([](auto& v) { v.tokenTypes.pop_back(); }), HasSubstr("token_type"));
    EXPECT_THAT(refusal([](auto& v) { v.merges[2] = "abc"; }), HasSubstr("merges[2]"));
    EXPECT_THAT(refusal([](auto& v) { v.merges[2] = ""; }), HasSubstr("merges[2]"));
    EXPECT_THAT(refusal([](auto& v) { v.merges[2] = "a "; }), HasSubstr("merges[2]"));
    EXPECT_THAT(refusal([](auto& v) { v.merges[2] = "a zzz"; }), HasSubstr("\"zzz\""));
    EXPECT_THAT(refusal([](auto& v) { v.eosId = 1'000'000; }), HasSubstr("eos_token_id"));
    EXPECT_THAT(refusal([](auto& v) { v.bosId = std::int64_t{1} << 40; }), HasSubstr("bos_token_id"));
    EXPECT_THAT(refusal([](auto& v) { v.tokens.clear(), v.tokenTypes.clear(), v.merges.clear(); }),
                HasSubstr("0 pieces"));
    EXPECT_THAT(refusal([](auto& v) { v.tokens[300] = v.tokens[301]; }), HasSubstr("twice"));
    EXPECT_THAT(refusal([](auto& v) { v.tokens[1] = "\xFF"; }), HasSubstr("not UTF-8"));
}

TEST(GgufVocabulary, TakesEndIdsFromKeysAndSpellings) {
    auto vocabulary = ggufOf(loadGolden("tiny_smollm"), "smollm");
    vocabulary.eosId = 2;
    vocabulary.eotId = 3;
    vocabulary.bosId = 1;
    const auto spec = specFromGguf(vocabulary);
    ASSERT_TRUE(spec.has_value());
    EXPECT_THAT(spec->endIds, ElementsAre(0, 2, 3));
    EXPECT_EQ(spec->bosId, 1);
    EXPECT_TRUE(spec->prefixIds.empty());
    vocabulary.addBos = 1;
    EXPECT_THAT(specFromGguf(vocabulary)->prefixIds, ElementsAre(1));
}

}  // namespace
}  // namespace lpes::text
