#include "core/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <thread>

#include "core/text/byte_alphabet.h"
#include "tests/core/text/golden.h"

namespace lpes::text {
namespace {

using testing::casesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::loadGolden;
using testing::tokenizerOf;
using Kind = TokenizerSpec::Step::Kind;

/// All 256 bytes and a few words; ids 0–255 are the bytes.
TokenizerSpec byteSpec() {
    TokenizerSpec spec;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        spec.pieces.push_back(bytesToAlphabet(std::string_view(&c, 1)));
    }
    spec.steps = {{Kind::ByteLevelRegex, {}}};
    return spec;
}

void addMerge(TokenizerSpec& spec, const std::string& left, const std::string& right) {
    spec.merges.emplace_back(bytesToAlphabet(left), bytesToAlphabet(right));
    spec.pieces.push_back(bytesToAlphabet(left + right));
}

std::shared_ptr<const Tokenizer> make(TokenizerSpec spec) {
    auto made = makeTokenizer(std::move(spec));
    EXPECT_TRUE(made.has_value()) << made.error().text();
    return made.value_or(nullptr);
}

/// Processor seconds of one encoding.
double secondsFor(const Tokenizer& tokenizer, const std::string& text) {
    // Processor time: a wall clock would measure what else the machine does.
    const std::clock_t start = std::clock();
    EXPECT_TRUE(tokenizer.encode(text).has_value());
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(Tokenizer, MergesTheLowestRankFirstAndTheLeftmostOfEquals) {
    auto spec = byteSpec();
    addMerge(spec, "b", "c");   // 256
    addMerge(spec, "a", "b");   // 257
    addMerge(spec, "a", "bc");  // 258
    addMerge(spec, "aa", "a");  // refused below: "aa" does not exist yet
    EXPECT_EQ(makeTokenizer(spec).error().code, ErrorCode::BadInput);
    spec.merges.pop_back();
    spec.pieces.pop_back();
    addMerge(spec, "a", "a");  // 259
    const auto tokenizer = make(spec);
    EXPECT_THAT(tokenizer->encode("abc")->ids, ElementsAre(258));
    EXPECT_THAT(tokenizer->encode("ab")->ids, ElementsAre(257));
    EXPECT_THAT(tokenizer->encode("aaa")->ids, ElementsAre(259, 'a'));
    EXPECT_THAT(tokenizer->encode("aaabc")->ids, ElementsAre(259, 258));
}

TEST(Tokenizer, TellsWhereEveryTokenBeginsInBytes) {
    auto spec = byteSpec();
    addMerge(spec, " ", "b");
    const auto tokenizer = make(spec);
    EXPECT_THAT(tokenizer->encode("a b c")->byteBegin, ElementsAre(0, 1, 3, 4));
    // Each byte of a character without a token of its own begins at that byte.
    EXPECT_THAT(tokenizer->encode("x\xC3\xA9y")->byteBegin, ElementsAre(0, 1, 2, 3));
}

TEST(Tokenizer, MapsOffsetsBackThroughNfc) {
    auto spec = byteSpec();
    spec.normalizers = {{TokenizerSpec::NormalizerStep::Kind::Nfc}};
    addMerge(spec, "\xC3", "\xA9");  // é
    const auto tokenizer = make(spec);
    const auto encoding = tokenizer->encode("ae\xCC\x81z");  // a e U+0301 z
    EXPECT_THAT(encoding->ids, ElementsAre('a', 256, 'z'));
    EXPECT_THAT(encoding->byteBegin, ElementsAre(0, 1, 4));
}

TEST(Tokenizer, GivesAnAddedSpaceTheOffsetOfTheFirstCharacter) {
    auto spec = byteSpec();
    spec.steps.back().prefixSpace = true;
    const auto tokenizer = make(spec);
    EXPECT_THAT(tokenizer->encode("ab")->ids, ElementsAre(' ', 'a', 'b'));
    EXPECT_THAT(tokenizer->encode("ab")->byteBegin, ElementsAre(0, 0, 1));
    EXPECT_THAT(tokenizer->encode(" a")->ids, ElementsAre(' ', 'a'));
    EXPECT_THAT(tokenizer->encode("")->ids, ElementsAre());
}

TEST(Tokenizer, PutsBosInFrontOnlyWhenAskedAndOnlyWhereTheFilesSaySo) {
    auto spec = byteSpec();
    spec.pieces.push_back("<s>");
    spec.added.push_back({256, "<s>", true, false, false, false, false});
    spec.bosId = 256;
    EXPECT_FALSE(make(spec)->encode("a", {false, true})->bosAdded);
    spec.prefixIds = {256};
    const auto tokenizer = make(spec);
    EXPECT_THAT(tokenizer->encode("a")->ids, ElementsAre('a'));
    const auto with = tokenizer->encode("a", {false, true});
    EXPECT_TRUE(with->bosAdded);
    EXPECT_THAT(with->ids, ElementsAre(256, 'a'));
    EXPECT_THAT(with->byteBegin, ElementsAre(0, 0));
    EXPECT_THAT(tokenizer->encode("", {false, true})->ids, ElementsAre(256));
    EXPECT_EQ(tokenizer->decode(with->ids).value(), "a");
    EXPECT_EQ(tokenizer->decode(with->ids, true).value(), "<s>a");
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8WithTheOffset) {
    const auto tokenizer = make(byteSpec());
    for (const std::string bad : {"ab\xFF", "ab\xC3", "ab\xC0\x80", "ab\xED\xA0\x80", "ab\xF4\x90\x80\x80", "ab\x80z",
                                  "ab\xE2\x82", "ab\xF0\x80\x80\x80"}) {
        const auto encoding = tokenizer->encode(bad);
        ASSERT_FALSE(encoding.has_value()) << bad;
        EXPECT_EQ(encoding.error().code, ErrorCode::BadInput);
        EXPECT_THAT(encoding.error().message, HasSubstr("at byte 2"));
    }
}

TEST(Tokenizer, DecodesACutCharacterToItsRawBytes) {
    const auto tokenizer = make(byteSpec());
    EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{0xF0, 0x9F}).value(), "\xF0\x9F");
    EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{}).value(), "");
}

TEST(Tokenizer, LeavesOutAndCountsWhatAModelMadeBeyondTheVocabulary) {
    const auto tokenizer = make(byteSpec());
    const auto size = static_cast<TokenId>(tokenizer->vocabularySize());
    const std::vector<TokenId> padded{0xF0, size, 0x9F, -1};
    EXPECT_EQ(tokenizer->decode(padded).error().code, ErrorCode::Usage);
    const auto known = tokenizer->decodeKnown(padded).value();
    EXPECT_EQ(known.text, "\xF0\x9F");
    EXPECT_EQ(known.unknownTokens, 2);
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
    const auto tokenizer = make(byteSpec());
    for (const TokenId id : {-1, 256, 1 << 30}) {
        const auto text = tokenizer->decode(std::vector<TokenId>{id});
        ASSERT_FALSE(text.has_value());
        EXPECT_EQ(text.error().code, ErrorCode::Usage);
        EXPECT_THAT(text.error().message, HasSubstr(std::to_string(id)));
        EXPECT_EQ(tokenizer->piece(id), "");
    }
    EXPECT_EQ(tokenizer->piece(' '), "\xC4\xA0");
    EXPECT_EQ(tokenizer->vocabularySize(), 256u);
}

TEST(Tokenizer, ReportsBytesWithoutATokenAndGivesThemNoId) {
    auto spec = byteSpec();
    spec.pieces[4].clear();
    const auto encoding = make(spec)->encode("a\x04!\x04");
    EXPECT_THAT(encoding->ids, ElementsAre('a', '!'));
    EXPECT_THAT(encoding->byteBegin, ElementsAre(0, 2));
    EXPECT_THAT(encoding->withoutToken, ElementsAre(1, 3));
    spec.pieces[4] = "<unk>";
    spec.unknownId = 4;
    EXPECT_THAT(make(spec)->encode("\x04\x04")->ids, ElementsAre(4, 4));
    spec.fuseUnknown = true;
    EXPECT_THAT(make(spec)->encode("\x04\x04")->ids, ElementsAre(4));
}

TEST(Tokenizer, KeepsWithTheOldestTokenOfLongestAddedMatches) {
    auto spec = byteSpec();
    for (const std::string content : {"ab", "abc", "bcd"}) {
        spec.added.push_back({static_cast<TokenId>(spec.pieces.size()), content});
        spec.pieces.push_back(content);
    }
    EXPECT_THAT(make(spec)->encode("xabcd")->ids, ElementsAre('x', 257, 'd'));
}

TEST(Tokenizer, RefusesABrokenSpec) {
    const auto codeOf = [](auto change) {
        auto spec = byteSpec();
        change(spec);
        const auto made = makeTokenizer(spec);
        return made ? std::string("made") : std::string(errorName(made.error().code));
    };
    EXPECT_EQ(codeOf([](auto&) {}), "made");
    EXPECT_EQ(codeOf([](auto& s) { s.pieces.clear(); }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.pieces.assign(3, ""); }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.pieces.push_back("a"); }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.merges = {{"a", "b"}}; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.added.push_back({256, "x"}); }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.added.push_back({-1, "x"}); }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.added.push_back({'a', "b"}); }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.added = {{'a', "a"}, {'a', "a"}}; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.bosId = 256; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.bosId = -7; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.prefixIds = {256}; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.endIds = {-1}; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.suffixIds = {-1}; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.scoreMerges = {{'a', 'b', 256, 0}}; }), "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.model = TokenizerSpec::Model::Unigram; }), "unsupported");
    EXPECT_EQ(codeOf([](auto& s) {
                  s.model = TokenizerSpec::Model::Unigram;
                  s.steps.clear();
              }),
              "bad_input");
    EXPECT_EQ(codeOf([](auto& s) { s.steps.push_back(s.steps.front()); }), "unsupported");
    EXPECT_EQ(codeOf([](auto& s) { s.steps.insert(s.steps.begin(), {Kind::Split, "a*"}); }), "unsupported");
    EXPECT_EQ(codeOf([](auto& s) { s.steps.insert(s.steps.begin(), {Kind::Split, "(a"}); }), "bad_input");
}

TEST(Tokenizer, TurnsAMatchLimitIntoAnError) {
    auto spec = byteSpec();
    spec.steps.insert(spec.steps.begin(), {Kind::Split, "(?:a+)+(?:a|b)*d"});
    const auto encoding = make(spec)->encode(std::string(200, 'a') + "ed");
    ASSERT_FALSE(encoding.has_value());
    EXPECT_EQ(encoding.error().code, ErrorCode::Failed);
    EXPECT_THAT(encoding.error().message, HasSubstr("gave up"));
}

TEST(Tokenizer, FingerprintFollowsWhateverChangesIds) {
    const auto base = make(byteSpec())->fingerprint();
    EXPECT_EQ(base.size(), 64u);
    EXPECT_EQ(base, make(byteSpec())->fingerprint());
    const auto changed = [&](auto change) {
        auto spec = byteSpec();
        change(spec);
        return make(spec)->fingerprint() != base;
    };
    EXPECT_TRUE(changed([](auto& s) { addMerge(s, "a", "b"); }));
    EXPECT_TRUE(changed([](auto& s) { s.normalizers = {{TokenizerSpec::NormalizerStep::Kind::Nfc}}; }));
    EXPECT_TRUE(changed([](auto& s) { s.steps.insert(s.steps.begin(), {Kind::DigitsIndividual, {}}); }));
    EXPECT_TRUE(changed([](auto& s) { s.steps.insert(s.steps.begin(), {Kind::Split, "a"}); }));
    EXPECT_TRUE(changed([](auto& s) { s.added.push_back({'a', "a"}); }));
    EXPECT_TRUE(changed([](auto& s) { s.ignoreMerges = true; }));
    // Padding of the embedding is not part of the vocabulary.
    EXPECT_FALSE(changed([](auto& s) { s.pieces.emplace_back(); }));
}

TEST(Tokenizer, EncodesTheSameFromSeveralThreads) {
    const auto golden = loadGolden("tiny_qwen2");
    const auto tokenizer = tokenizerOf(golden);
    ASSERT_TRUE(tokenizer);
    const auto cases = casesOf(golden);
    std::vector<int> wrong(4, 0);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t) {
            threads.emplace_back([&, t] {
                for (std::size_t k = 0; k < cases.size(); ++k) {
                    const auto& item = cases[(k + t * 97) % cases.size()];
                    const auto encoding = tokenizer->encode(item.text, {true, false});
                    if (!encoding || encoding->ids != item.idsSpecial) ++wrong[t];
                }
            });
        }
    }
    EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

// The limits leave room for sanitizers; what is quadratic takes minutes.
TEST(Tokenizer, IsNotQuadraticInTheLengthOfAWord) {
    for (const char* family : {"tiny_smollm", "tiny_qwen2", "tiny_llama3"}) {
        const auto tokenizer = tokenizerOf(loadGolden(family));
        ASSERT_TRUE(tokenizer);
        std::string marks = "a";
        for (int k = 0; k < 100'000; ++k) marks += k % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";
        std::string lines;
        for (int k = 0; k < 100'000; ++k) lines += " \n";
        for (const std::string& text : {std::string(200'000, 'a'), std::string(200'000, ' ') + "x",
                                        std::string(200'000, '!'), std::string(200'000, '7'), marks, lines}) {
            EXPECT_LT(secondsFor(*tokenizer, text), 10.0) << family << " " << text.substr(0, 3);
        }
    }
}

TEST(Tokenizer, EncodesAMegabyteInAboutASecond) {
    const auto golden = loadGolden("tiny_smollm");
    const auto tokenizer = tokenizerOf(golden);
    ASSERT_TRUE(tokenizer);
    std::string text;
    const auto cases = casesOf(golden);
    for (std::size_t k = 0; text.size() < 1'000'000; ++k)
        text += cases[k % cases.size()].text + std::to_string(k) + " ";
    EXPECT_LT(secondsFor(*tokenizer, text), 10.0);
}

}  // namespace
}  // namespace lpes::text
