// The parts that the families need beside byte-level BPE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/text/base64.h"
#include "core/text/charsmap.h"
#include "core/text/protobuf_fields.h"
#include "core/text/sentencepiece_model.h"
#include "core/text/split_behavior.h"
#include "tests/core/text/family_golden.h"
#include "tests/core/text/golden.h"
#include "tests/support/temp_folder.h"

namespace lpes::text {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::FamilyGolden;
using ::testing::HasSubstr;
using Behavior = TokenizerSpec::Step::Behavior;

std::shared_ptr<const Tokenizer> make(const Result<TokenizerSpec>& spec) {
    EXPECT_TRUE(spec.has_value()) << spec.error().text();
    if (!spec) return nullptr;
    auto made = makeTokenizer(*spec);
    EXPECT_TRUE(made.has_value()) << made.error().text();
    return made.value_or(nullptr);
}

TEST(SplitBehavior, TreatsMatchesAsTheTokenizersLibraryDoes) {
    // a--b- with the dashes as matches (the example in the library's documentation has the same shape).
    const std::vector<TextRange> matches{{1, 2}, {2, 3}, {4, 5}};
    const auto pieces = [&](Behavior behavior, bool invert = false) {
        const std::string text = "a--b-";
        std::vector<TextRange> ranges;
        splitAtMatches(matches, text.size(), 0, behavior, invert, ranges);
        std::vector<std::string> out;
        for (const auto& range : ranges) out.push_back(text.substr(range.begin, range.end - range.begin));
        return out;
    };
    EXPECT_THAT(pieces(Behavior::Isolated), ElementsAre("a", "-", "-", "b", "-"));
    EXPECT_THAT(pieces(Behavior::Removed), ElementsAre("a", "b"));
    EXPECT_THAT(pieces(Behavior::Contiguous), ElementsAre("a", "--", "b", "-"));
    EXPECT_THAT(pieces(Behavior::MergedWithPrevious), ElementsAre("a-", "-", "b-"));
    EXPECT_THAT(pieces(Behavior::MergedWithNext), ElementsAre("a", "-", "-b", "-"));
    EXPECT_THAT(pieces(Behavior::Removed, true), ElementsAre("-", "-", "-"));
}

TEST(Base64, ReadsWhatItIsAndRefusesWhatItIsNot) {
    EXPECT_EQ(bytesFromBase64(""), "");
    EXPECT_EQ(bytesFromBase64("AA=="), std::string("\0", 1));
    EXPECT_EQ(bytesFromBase64("aGk="), "hi");
    EXPECT_EQ(bytesFromBase64("aGkh"), "hi!");
    for (const char* text : {"a", "ab", "abc", "ab?=", "????"}) EXPECT_EQ(bytesFromBase64(text), std::nullopt) << text;
}

TEST(ProtobufFields, StopsAtWhatDoesNotEndInTheMessage) {
    const auto read = [](const std::string& bytes) {
        ProtobufFields fields(bytes);
        int count = 0;
        while (fields.next()) ++count;
        return std::pair{count, fields.damaged()};
    };
    EXPECT_EQ(read(""), (std::pair{0, false}));
    EXPECT_EQ(read("\x08\x01\x12\x02hi"), (std::pair{2, false}));
    EXPECT_EQ(read("\x12\x03hi"), (std::pair{0, true}));
    EXPECT_EQ(read("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01hi"), (std::pair{0, true}));
    EXPECT_EQ(read("\x08"), (std::pair{0, true}));
    EXPECT_EQ(read(std::string(11, '\xFF')), (std::pair{0, true}));
    EXPECT_EQ(read("\x0D\x01\x02"), (std::pair{0, true}));
    EXPECT_EQ(read("\x0B\x0C"), (std::pair{0, true}));            // groups
    EXPECT_EQ(read(std::string(2, '\0')), (std::pair{0, true}));  // field 0
}

TEST(Charsmap, RefusesSizesThatDoNotFit) {
    for (const std::string& blob :
         {std::string(), std::string(3, '\0'), std::string(8, '\0'), std::string("\x08\0\0\0aaaa", 8),
          std::string("\x03\0\0\0aaaa", 8), std::string("\xFF\xFF\xFF\xFF", 4), std::string("\x04\0\0\0aaaa\xFF", 9)}) {
        const auto map = Charsmap::make(blob);
        ASSERT_FALSE(map.has_value());
        EXPECT_EQ(map.error().code, ErrorCode::BadInput);
    }
}

TEST(Charsmap, FoldsCompatibleCharacters) {
    const auto model = parseSentencePieceModel(FamilyGolden("t5").model);
    ASSERT_TRUE(model.has_value()) << model.error().text();
    const auto map = Charsmap::make(model->charsmap);
    ASSERT_TRUE(map.has_value()) << map.error().text();
    EXPECT_EQ(map->longest("\xEF\xBC\xA1x")->replacement, "A");  // Ａ
    EXPECT_EQ(map->longest("\xEF\xBC\xA1x")->size, 3u);
    EXPECT_EQ(map->longest("\xEF\xAC\x81")->replacement, "fi");  // ﬁ
    EXPECT_FALSE(map->longest("A").has_value());
    EXPECT_FALSE(map->shortest("").has_value());
    EXPECT_EQ(map->longest("e\xCC\x81")->replacement, "\xC3\xA9");
}

TEST(Tokenizer, TellsWhereSentencePiecesBegin) {
    const auto llama = make(testing::specOf(FamilyGolden("llama2").tokenizer));
    ASSERT_TRUE(llama);
    // ▁ in front has the offset of the first character; a space that became ▁ its own; bytes of 🧬 their own.
    const auto encoding = llama->encode("12 \xF0\x9F\xA7\xAC");
    std::vector<std::string> pieces;
    for (const TokenId id : encoding->ids) pieces.push_back(llama->piece(id));
    EXPECT_THAT(pieces, ElementsAre("\xE2\x96\x81", "1", "2", "\xE2\x96\x81", "<0xF0>", "<0x9F>", "<0xA7>", "<0xAC>"));
    EXPECT_THAT(encoding->byteBegin, ElementsAre(0, 0, 1, 2, 3, 4, 5, 6));
    EXPECT_EQ(llama->decode(encoding->ids).value(), "12 \xF0\x9F\xA7\xAC");
    // A cut character stays what it is: bytes.
    EXPECT_EQ(llama->decode(std::span(encoding->ids).first(6)).value(), "12 \xF0\x9F");
    EXPECT_THAT(llama->encode("").value().ids, ElementsAre());
}

TEST(Tokenizer, ReportsCharactersThatNoPieceSpells) {
    json file = FamilyGolden("llama2").tokenizer;
    file["model"]["byte_fallback"] = false;
    file["model"]["unk_token"] = nullptr;
    const auto tokenizer = make(testing::specOf(file));
    ASSERT_TRUE(tokenizer);
    const auto encoding = tokenizer->encode("1\xF0\x9F\xA7\xAC");
    EXPECT_THAT(encoding->withoutToken, ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(encoding->ids.size(), 2u);
}

TEST(Tokenizer, ParsesSpecialTokensOnlyInTheGivenRanges) {
    const auto tokenizer = make(testing::specOf(FamilyGolden("qwen").tokenizer));
    ASSERT_TRUE(tokenizer);
    const std::string text = "<|im_end|>a<|im_end|>b<|im_end|>";
    const auto all = tokenizer->encode(text, {true, false});
    const auto some = tokenizer->encode(text, {true, false, {{0, 10}, {22, 32}}});
    const auto cut = tokenizer->encode(text, {true, false, {{1, 10}, {22, 31}}});
    const TokenId end = all->ids.front();
    EXPECT_EQ(std::count(all->ids.begin(), all->ids.end(), end), 3);
    EXPECT_EQ(std::count(some->ids.begin(), some->ids.end(), end), 2);
    EXPECT_EQ(some->ids.front(), end);
    EXPECT_EQ(some->ids.back(), end);
    EXPECT_EQ(std::count(cut->ids.begin(), cut->ids.end(), end), 0);
}

TEST(SentencePieceFiles, TakeAddedTokensAndRulesFromTheFilesBesideThem) {
    const test::TempFolder folder;
    folder.write("tokenizer.model", FamilyGolden("llama2").model);
    auto spec = readTokenizerFiles(folder.path());
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    const auto size = static_cast<TokenId>(spec->pieces.size());
    EXPECT_THAT(spec->prefixIds, ElementsAre(1));
    EXPECT_THAT(spec->endIds, ElementsAre(2));
    folder.write("added_tokens.json", json{{"<pad>", size}, {"<extra>", size + 1}}.dump());
    folder.write("tokenizer_config.json",
                 json{{"tokenizer_class", "LlamaTokenizer"},
                      {"add_bos_token", false},
                      {"add_eos_token", true},
                      {"eos_token", {{"content", "</s>"}}},
                      {"added_tokens_decoder",
                       {{std::to_string(size), {{"content", "<pad>"}, {"special", true}, {"rstrip", true}}}}}}
                     .dump());
    spec = readTokenizerFiles(folder.path());
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    EXPECT_THAT(spec->prefixIds, ElementsAre());
    EXPECT_THAT(spec->suffixIds, ElementsAre(2));
    const auto tokenizer = make(spec);
    ASSERT_TRUE(tokenizer);
    const auto encoding = tokenizer->encode("<pad> <extra>", {true, false});
    EXPECT_THAT(encoding->ids, ElementsAre(size, size + 1));
    // legacy: every segment between added tokens gets its space; otherwise the text's beginning alone.
    EXPECT_THAT(tokenizer->encode("<extra>1")->ids.size(), 3u);
    folder.write("tokenizer_config.json", R"({"legacy":false})");
    EXPECT_THAT(make(readTokenizerFiles(folder.path()))->encode("<extra>1")->ids.size(), 2u);
}

TEST(SentencePieceFiles, RefuseWhatTheyDoNotKnow) {
    const test::TempFolder folder;
    EXPECT_THAT(readTokenizerFiles(folder.path()).error().message,
                HasSubstr("neither tokenizer.json nor tokenizer.model"));
    folder.write("tokenizer.model", FamilyGolden("llama2").model);
    const auto refusal = [&](const std::string& config) {
        folder.write("tokenizer_config.json", config);
        const auto spec = readTokenizerFiles(folder.path());
        return spec ? "read" : std::string(errorName(spec.error().code)) + ": " + spec.error().text();
    };
    EXPECT_EQ(refusal("{}"), "read");
    EXPECT_THAT(refusal(R"({"tokenizer_class":"XLMRobertaTokenizer"})"), HasSubstr("XLMRobertaTokenizer"));
    EXPECT_THAT(refusal(R"({"tokenizer_class":7})"), HasSubstr("unsupported"));
    EXPECT_THAT(refusal(R"({"added_tokens_decoder":{"x":{"content":"a"}}})"), HasSubstr("bad_input"));
    EXPECT_THAT(refusal(R"({"added_tokens_decoder":{"99999999":{"content":"a"}}})"), HasSubstr("bad_input"));
    EXPECT_THAT(refusal(R"({"added_tokens_decoder":{"5":{"content":""}}})"), HasSubstr("bad_input"));
    EXPECT_THAT(refusal(R"({"legacy":1})"), HasSubstr("legacy"));
    folder.write("tokenizer_config.json", "{}");
    for (const std::string bytes : {"", "plain text", "{\"model\":1}", "\x0A\xFF"}) {
        folder.write("tokenizer.model", bytes);
        const auto spec = readTokenizerFiles(folder.path());
        ASSERT_FALSE(spec.has_value()) << bytes;
        EXPECT_EQ(spec.error().code, ErrorCode::BadInput);
        EXPECT_THAT(spec.error().text(), HasSubstr("tokenizer.model"));
    }
    // trainer_spec.model_type 4, and treat_whitespace_as_suffix.
    const std::string model = FamilyGolden("llama2").model;
    folder.write("tokenizer.model", model + "\x12\x02\x18\x04");
    EXPECT_THAT(readTokenizerFiles(folder.path()).error().message, HasSubstr("model_type 4"));
    folder.write("tokenizer.model", model + "\x12\x03\xC0\x01\x01");
    EXPECT_THAT(readTokenizerFiles(folder.path()).error().message, HasSubstr("treat_whitespace_as_suffix"));
}

GgufVocabulary smallVocabulary() {
    GgufVocabulary vocabulary;
    vocabulary.model = "llama";
    vocabulary.tokens = {"<unk>",
                         "<s>",
                         "</s>",
                         "\xE2\x96\x81",
                         "a",
                         "b",
                         "ab",
                         "\xE2\x96\x81"
                         "a"};
    vocabulary.scores = {0, 0, 0, -4, -5, -6, -1, -1};
    vocabulary.tokenTypes = {2, 3, 3, 1, 1, 1, 1, 1};
    return vocabulary;
}

TEST(GgufVocabulary, MergesTheHighestScoreFirstAndTheLeftmostOfEquals) {
    auto vocabulary = smallVocabulary();
    const auto ids = [&](const std::string& text) {
        const auto tokenizer = make(specFromGguf(vocabulary));
        return tokenizer ? tokenizer->encode(text)->ids : std::vector<TokenId>{};
    };
    EXPECT_THAT(ids("ab"), ElementsAre(7, 5));  // ▁a and ab have one score; ▁a begins before
    vocabulary.scores[6] = -0.5F;
    EXPECT_THAT(ids("ab"), ElementsAre(3, 6));
    vocabulary.addSpacePrefix = 0;
    EXPECT_THAT(ids("ab a"), ElementsAre(6, 7));
    EXPECT_THAT(ids("zzb"), ElementsAre(0, 5));  // no bytes: a run of unknown characters is one token
    vocabulary.tokenTypes.clear();
    EXPECT_THAT(ids("ab a"), ElementsAre(6, 7));
}

TEST(GgufVocabulary, FollowsLlamaCppsDefaultsForAbsentKeys) {
    auto vocabulary = smallVocabulary();
    const auto spec = specFromGguf(vocabulary);
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    EXPECT_EQ(spec->bosId, 1);
    EXPECT_THAT(spec->prefixIds, ElementsAre(1));
    EXPECT_THAT(spec->endIds, ElementsAre(2));
    EXPECT_TRUE(spec->suffixIds.empty());
    vocabulary.addBos = 0;
    vocabulary.addEos = 1;
    EXPECT_TRUE(specFromGguf(vocabulary)->prefixIds.empty());
    EXPECT_THAT(specFromGguf(vocabulary)->suffixIds, ElementsAre(2));
}

TEST(GgufVocabulary, RefusesDamagedScores) {
    const auto refusal = [](auto change) {
        auto vocabulary = smallVocabulary();
        change(vocabulary);
        const auto spec = specFromGguf(vocabulary);
        if (!spec) return spec.error().message;
        const auto made = makeTokenizer(*spec);
        return made ? std::string("made") : made.error().message;
    };
    EXPECT_EQ(refusal([](auto&) {}), "made");
    EXPECT_THAT(refusal([](auto& v) { v.scores.clear(); }), HasSubstr("tokenizer.ggml.scores has 0"));
    EXPECT_THAT(refusal([](auto& v) { v.scores.pop_back(); }), HasSubstr("tokenizer.ggml.scores has 7"));
    EXPECT_THAT(refusal([](auto& v) { v.scores[4] = std::numeric_limits<float>::quiet_NaN(); }), HasSubstr("token 4"));
    EXPECT_THAT(refusal([](auto& v) { v.scores[4] = std::numeric_limits<float>::infinity(); }), HasSubstr("token 4"));
    EXPECT_THAT(refusal([](auto& v) { v.tokens[5] = "\xFF"; }), HasSubstr("UTF-8"));
    EXPECT_THAT(refusal([](auto& v) { v.tokens[5] = std::string(1000, 'a'); }), HasSubstr("1000 bytes"));
    EXPECT_THAT(refusal([](auto& v) { v.tokens[5] = "a"; }), HasSubstr("twice"));
    EXPECT_THAT(refusal([](auto& v) { v.unknownId = 100; }), HasSubstr("unknown_token_id"));
    EXPECT_THAT(refusal([](auto& v) { v.eomId = 100; }), HasSubstr("eom_token_id"));
}

}  // namespace
}  // namespace lpes::text
