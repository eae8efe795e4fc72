// The small parts that the tokenizer is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/byte_alphabet.h"
#include "core/text/known_steps.h"
#include "core/text/new_characters.h"
#include "core/text/oniguruma_pattern.h"
#include "core/text/split_behavior.h"
#include "core/text/split_pattern.h"
#include "core/text/unicode.h"
#include "core/text/unicode_form.h"

namespace lpes::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> pieces(const std::string& onigurumaPattern, const std::string& text) {
    const auto translated = pcre2FromOniguruma(onigurumaPattern);
    EXPECT_TRUE(translated.has_value()) << translated.error().text();
    const auto pattern = SplitPattern::compile(translated.value_or("x"));
    EXPECT_TRUE(pattern.has_value()) << pattern.error().text();
    SplitPattern::Scratch scratch;
    std::vector<TextRange> matches;
    EXPECT_TRUE(pattern->matches(text, holdsNewCharacters(text), scratch, matches).has_value());
    std::vector<TextRange> ranges;
    splitAtMatches(matches, text.size(), 0, TokenizerSpec::Step::Behavior::Isolated, false, ranges);
    std::vector<std::string> out;
    for (const auto& range : ranges) out.push_back(text.substr(range.begin, range.end - range.begin));
    return out;
}

TEST(ByteAlphabet, SpellsEveryByteAndReadsItBack) {
    std::string bytes;
    for (unsigned byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
    EXPECT_EQ(alphabetToBytes(bytesToAlphabet(bytes)), bytes);
    EXPECT_EQ(bytesToAlphabet(" the\n"), "\xC4\xA0the\xC4\x8A");
    EXPECT_EQ(alphabetToBytes("a b"), std::nullopt);  // a space is not in the alphabet
    EXPECT_EQ(alphabetToBytes("\xE4\xB8\x80"), std::nullopt);
    EXPECT_EQ(alphabetToBytes("\xFF"), std::nullopt);
}

TEST(SplitPattern, KeepsWhatLiesBetweenMatches) {
    EXPECT_THAT(pieces("-", "a--b"), ElementsAre("a", "-", "-", "b"));
    EXPECT_THAT(pieces("x", "abc"), ElementsAre("abc"));
    EXPECT_THAT(pieces(std::string(kGpt2Pattern), "They're  1x!"), ElementsAre("They", "'re", " ", " 1", "x", "!"));
}

TEST(SplitPattern, TakesUnicodesWhiteSpaceForSpace) {
    // U+180E is \s in PCRE2 and not White_Space; U+001C to U+001F are neither.
    EXPECT_THAT(pieces(R"(\s)",
                       "a\xE1\xA0\x8E"
                       "b"),
                ElementsAre("a\xE1\xA0\x8E"
                            "b"));
    EXPECT_THAT(pieces(R"(\s)",
                       "a\x1C\x1F"
                       "b"),
                ElementsAre("a\x1C\x1F"
                            "b"));
    EXPECT_THAT(pieces(R"(\s+)",
                       "a\xC2\x85\xC2\xA0\xE2\x80\xA8\xE3\x80\x80\x0B"
                       "b"),
                ElementsAre("a", "\xC2\x85\xC2\xA0\xE2\x80\xA8\xE3\x80\x80\x0B", "b"));
    EXPECT_THAT(pieces(R"([\S]+)", "a b"), ElementsAre("a", " ", "b"));
    EXPECT_THAT(pieces(R"(\S+)", "a b"), ElementsAre("a", " ", "b"));
}

TEST(SplitPattern, KnowsLettersNewerThanItsLibrary) {
    // U+31350 and U+2EBF0: CJK of Unicode 15 and 15.1; U+10D40: a digit of Unicode 16.
    EXPECT_THAT(pieces(R"(\p{L}+)", "!\xF0\xB1\x8D\x90\xF0\xAE\xAF\xB0!"),
                ElementsAre("!", "\xF0\xB1\x8D\x90\xF0\xAE\xAF\xB0", "!"));
    EXPECT_THAT(pieces(R"([^\p{L}\p{N}]+)", "!\xF0\xB1\x8D\x90!"), ElementsAre("!", "\xF0\xB1\x8D\x90", "!"));
    EXPECT_THAT(pieces(R"(\p{N})", "a\xF0\x90\xB5\x80"), ElementsAre("a", "\xF0\x90\xB5\x80"));
    // U+A7DA is a capital and U+1E5EE a mark of Unicode 16, U+1FAE8 an emoji of Unicode 15.
    EXPECT_THAT(pieces(R"(\p{Lu}+)",
                       "a\xEA\x9F\x9A"
                       "b"),
                ElementsAre("a", "\xEA\x9F\x9A", "b"));
    EXPECT_THAT(pieces(R"([\p{M}]+)",
                       "a\xF0\x9E\x97\xAE"
                       "b"),
                ElementsAre("a", "\xF0\x9E\x97\xAE", "b"));
    EXPECT_THAT(pieces(R"(\p{S})",
                       "a\xF0\x9F\xAB\xA8"
                       "b"),
                ElementsAre("a", "\xF0\x9F\xAB\xA8", "b"));
    EXPECT_TRUE(isNumeric(0x10D40));
    EXPECT_TRUE(isNumeric(0x11DE0));
}

TEST(OnigurumaPattern, KeepsTheKnownPatterns) {
    for (const std::string_view pattern : {kGpt2Pattern, kQwen2Pattern, kLlama3Pattern}) {
        EXPECT_FALSE(knownSplit(pattern).pattern.empty());
        EXPECT_TRUE(SplitPattern::compile(knownSplit(pattern).pattern).has_value());
    }
}

TEST(OnigurumaPattern, RefusesByNameWhatTheEnginesReadDifferently) {
    for (const std::string pattern :
         {R"(\w+)",  R"(a\b)", R"(\h)",       R"(\R)",       R"(\X)",      R"(\1)",     R"(\G)",   "^a",
          "a$",      "[a[b]]", "[a-z&&[^b]]", "[[:alpha:]]", "[]a]",       "(?m:a)",    "(?<n>a)", "a(?i)b",
          "(*FAIL)", "a{,3}",  "a{2}+",       "a{2}?",       R"(\p{Han})", R"(\p{^L})", R"(\x80)", R"(\v)"}) {
        const auto translated = pcre2FromOniguruma(pattern);
        ASSERT_FALSE(translated.has_value()) << pattern;
        EXPECT_EQ(translated.error().code, ErrorCode::Unsupported) << pattern;
    }
    EXPECT_THAT(pcre2FromOniguruma(R"(\w+)").error().message, HasSubstr("\\w"));
    for (const std::string pattern : {"a\\", "[a", R"(\p)", R"(\pL)", R"(\p{L)", R"(\x)", R"(\x{41)", R"(\u12)"}) {
        const auto translated = pcre2FromOniguruma(pattern);
        ASSERT_FALSE(translated.has_value()) << pattern;
        EXPECT_EQ(translated.error().code, ErrorCode::BadInput) << pattern;
    }
}

TEST(OnigurumaPattern, TranslatesWhatIsSpelledDifferently) {
    EXPECT_EQ(pcre2FromOniguruma(R"(\u4e00)").value(), R"(\x{4e00})");
    EXPECT_EQ(pcre2FromOniguruma(R"(\x41\x{3042}\d)").value(), R"(\x{41}\x{3042}\p{Nd})");
    EXPECT_THAT(pieces("(?i:'s|'LL)", "a'Sb'll"), ElementsAre("a", "'S", "b", "'ll"));
    EXPECT_THAT(pieces(pcre2Literal("a.b"), "xa.bya"), ElementsAre("x", "a.b", "ya"));
}

std::string inFormOf(const std::string& text, UnicodeForm form) {
    return std::string(inForm({text, 0}, form).text());
}
std::string nfc(const std::string& text) {
    return inFormOf(text, UnicodeForm::Nfc);
}

TEST(UnicodeForm, ComposesAndRemembersWhereFrom) {
    const std::string original = "ae\xCC\x81z";
    const MappedText text = inForm({original, 0}, UnicodeForm::Nfc);
    EXPECT_EQ(text.text(), "a\xC3\xA9z");
    EXPECT_EQ(text.origin(0), 0u);
    EXPECT_EQ(text.origin(1), 1u);
    EXPECT_EQ(text.origin(2), 1u);
    EXPECT_EQ(text.origin(3), 4u);
    EXPECT_EQ(text.origin(4), 5u);
}

TEST(UnicodeForm, LeavesNormalTextAlone) {
    const std::string original = "na\xC3\xAFve \xED\x95\x9C\xEA\xB5\xAD \xE7\x9A\x84 x";
    const MappedText text = inForm({original, 0}, UnicodeForm::Nfc);
    EXPECT_EQ(text.text(), original);
    for (std::size_t at = 0; at <= original.size(); ++at) EXPECT_EQ(text.origin(at), at);
    EXPECT_EQ(nfc(""), "");
}

TEST(UnicodeForm, SortsMarksAndComposesHangul) {
    EXPECT_EQ(nfc("o\xCC\x82\xCC\xA3"), "\xE1\xBB\x99");                     // o ◌̂ ◌̣ → ộ
    EXPECT_EQ(nfc("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8"), "\xEA\xB0\x81");  // ㄱㅏㄱ → 각
    EXPECT_EQ(nfc("\xE0\xA7\x87\xE0\xA6\xBE"), "\xE0\xA7\x8B");              // Bengali e + aa → o
    EXPECT_EQ(nfc("\xE2\x84\xAB"), "\xC3\x85");                              // Å (ångström) → Å
    EXPECT_EQ(nfc(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST(UnicodeForm, DecomposesAndFoldsCompatibleCharacters) {
    EXPECT_EQ(inFormOf("\xC3\xA9", UnicodeForm::Nfd), "e\xCC\x81");
    EXPECT_EQ(inFormOf("\xEA\xB0\x81", UnicodeForm::Nfd), "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8");
    EXPECT_EQ(inFormOf("\xEF\xAC\x81 \xC2\xBD", UnicodeForm::Nfkc),
              "fi 1\xE2\x81\x84"
              "2");                                                                      // ﬁ ½
    EXPECT_EQ(inFormOf("\xE3\x84\xB1\xE3\x85\x8F", UnicodeForm::Nfkc), "\xEA\xB0\x80");  // ㄱㅏ → 가
    EXPECT_EQ(inFormOf("\xEF\xBD\xB6\xEF\xBE\x9E", UnicodeForm::Nfkc), "\xE3\x82\xAC");  // ｶﾞ → ガ
    EXPECT_EQ(inFormOf("\xC5\xAF", UnicodeForm::Nfkd), "u\xCC\x8A");
    EXPECT_EQ(inFormOf("\xC2\xB2", UnicodeForm::Nfd), "\xC2\xB2");
}

TEST(Unicode, FindsTheFirstByteThatIsNotUtf8) {
    EXPECT_EQ(firstInvalidUtf8("a\xC3\xA9\xE3\x81\x82\xF0\x9F\x99\x82"), std::nullopt);
    EXPECT_EQ(firstInvalidUtf8(""), std::nullopt);
    EXPECT_EQ(firstInvalidUtf8("a\xC3\xA9\xE3\x81"), 3u);
    EXPECT_EQ(firstInvalidUtf8("\xF4\x8F\xBF\xBF"), std::nullopt);
    EXPECT_EQ(firstInvalidUtf8("\xF4\x90\x80\x80"), 0u);
    EXPECT_EQ(firstInvalidUtf8("\xEF\xBF\xBF\xED\xA0\x80"), 3u);
}

TEST(Unicode, TellsWordCharacters) {
    for (const char32_t c : {U'a', U'é', U'_', U'٣', U'Ⅳ', U'\u0301', U'\u200d', U'ⓐ'}) EXPECT_TRUE(isWordCharacter(c));
    for (const char32_t c : {U'-', U' ', U'²', U'½', U'€', U'\u200b'}) EXPECT_FALSE(isWordCharacter(c));
}

}  // namespace
}  // namespace lpes::text
