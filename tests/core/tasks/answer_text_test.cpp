#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/tasks/answer_normalising.h"
#include "core/tasks/porter_stemmer.h"
#include "core/tasks/python_number.h"
#include "core/tasks/python_text.h"
#include "core/tasks/transliteration.h"

namespace lpes::tasks {
namespace {

nlohmann::json golden() {
    std::ifstream file(LPES_TEST_DATA "/golden/metric_scores.json");
    return nlohmann::json::parse(file);
}

TEST(PorterStemmer, StemsAsNltkDoes) {
    std::istringstream pairs(golden().at("stems").get<std::string>());
    int count = 0;
    for (std::string pair; pairs >> pair; ++count) {
        const auto colon = pair.find(':');
        EXPECT_EQ(porterStem(pair.substr(0, colon)), pair.substr(colon + 1)) << pair;
    }
    EXPECT_GE(count, 900);
}

TEST(Transliteration, AgreesWithUnidecode) {
    const auto cases = golden().at("ascii");
    ASSERT_GE(cases.size(), 200u);
    for (const auto& one : cases) EXPECT_EQ(toAscii(one[0].get<std::string>()), one[1].get<std::string>());
}

TEST(Transliteration, DropsWhatItDoesNotKnow) {
    EXPECT_EQ(toAscii("a\U000f0000b\U0001f600\xff"
                      "c"),
              "abc");
    EXPECT_EQ(toAscii("x\u2028y\u2029z"), "x\ny\n\nz");
    EXPECT_EQ(toAscii(""), "");
}

TEST(AnswerNormalising, GoesInSquadsOrder) {
    EXPECT_EQ(normaliseAnswer("  The U.S.'s  \"a-b\"\tAn\u00a0apple ", WordRule::Re), "uss ab apple");
    EXPECT_EQ(normaliseAnswer("Theo and Ann", WordRule::Re), "theo and ann");
    EXPECT_EQ(normaliseAnswer("t.h.e end", WordRule::Re), "end") << "punctuation goes before articles";
    EXPECT_EQ(normaliseAnswer("“the” – a", WordRule::Re), "“ ” –") << "punctuation outside ASCII stays";
    EXPECT_EQ(normaliseAnswer("The A the", WordRule::Re, false), "The A");
}

TEST(AnswerNormalising, WordsEndWhereTheLibrarySaysSo) {
    EXPECT_EQ(normaliseAnswer("a\u0301 x", WordRule::Re), "\u0301 x");
    EXPECT_EQ(normaliseAnswer("a\u0301 x", WordRule::Regex), "a\u0301 x");
}

TEST(PythonText, WhiteSpaceIsPythons) {
    EXPECT_EQ(splitWords(" a\x1c"
                         "b\u3000c\u200b\td\n"),
              (std::vector<std::string_view>{"a", "b", "c\u200b", "d"}));
    EXPECT_EQ(strip("\u2028 a b\x1f"), "a b");
    EXPECT_EQ(strip(" \t"), "");
    EXPECT_EQ(countCharacters("é\xff"), 2u);
}

TEST(PythonText, DigitsOfEveryScriptHaveTheirValue) {
    EXPECT_EQ(asciiDigit(U'0'), '0');
    EXPECT_EQ(asciiDigit(U'9'), '9');
    EXPECT_EQ(asciiDigit(U'\u0667'), '7');
    EXPECT_EQ(asciiDigit(U'\U0001d7ff'), '9') << "the last of five runs that touch";
    EXPECT_FALSE(isDecimalDigit(U'²'));
}

TEST(PythonNumber, ReadsWhatFloatReads) {
    for (const auto& [text, value] : std::initializer_list<std::pair<const char*, double>>{{"12", 12.0},
                                                                                           {" -1_0.5e1\n", -105.0},
                                                                                           {".5", 0.5},
                                                                                           {"5.", 5.0},
                                                                                           {"٣.٥", 3.5},
                                                                                           {"+1E-2", 0.01},
                                                                                           {"1e-999", 0.0},
                                                                                           {"-Infinity", -INFINITY},
                                                                                           {"1e999", INFINITY}}) {
        EXPECT_EQ(pythonFloat(text), value) << text;
    }
    for (const char* text :
         {"", ".", "e5", "1e", "1 2", "0x10", "1__0", "_1", "1_", "1_.5", "1._5", "nano", "--1", "1e+-2", "²"}) {
        EXPECT_FALSE(pythonFloat(text)) << text;
    }
}

}  // namespace
}  // namespace lpes::tasks
