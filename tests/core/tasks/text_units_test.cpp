#include "core/tasks/text_units.h"

#include <gtest/gtest.h>

#include "core/tasks/answer_text.h"
#include "core/tasks/longest_fit.h"

namespace lpes::tasks {
namespace {

TEST(TextUnits, CountCharactersAsPython) {
    const std::string text = "aé🎈z";
    EXPECT_EQ(characterCount(text), 4u);
    EXPECT_EQ(byteOfCharacter(text, 0), 0u);
    EXPECT_EQ(byteOfCharacter(text, 2), 3u);
    EXPECT_EQ(byteOfCharacter(text, 4), text.size());
    EXPECT_FALSE(byteOfCharacter(text, 5));
    EXPECT_FALSE(byteOfCharacter(text, -1));
    EXPECT_EQ(characterStart(text, 5), 3u);
    EXPECT_EQ(characterStart(text, text.size()), text.size());
    EXPECT_TRUE(isUtf8(text));
    EXPECT_FALSE(isUtf8("a\xc3"));
}

TEST(TextUnits, KnowPythonsWhiteSpace) {
    EXPECT_EQ(strippedAsPython("\u3000\x1f a b\u00a0\n"), "a b");
    EXPECT_EQ(strippedAsPython(" \t"), "");
    // A zero-width space is none.
    EXPECT_EQ(strippedAsPython("\u200ba"), "\u200ba");
    EXPECT_EQ(firstWordAsPython(" (A)\u3000b"), "(A)");
    EXPECT_EQ(firstWordAsPython(""), "");
    EXPECT_EQ(wordCountAsPython(" a\u00a0b\u2028c  d\n"), 4u);
    EXPECT_EQ(wordCountAsPython(" \n"), 0u);
}

TEST(TextUnits, PutASpaceAheadOfAnAnswerWhereThereIsNone) {
    EXPECT_EQ(continuation("Answer:", "B"), " B");
    EXPECT_EQ(continuation("Answer:\n", "B"), "B");
    EXPECT_EQ(continuation("Answer:\u3000", "B"), "B");
    EXPECT_EQ(continuation("", "B"), " B");
}

TEST(LongestFit, FindsEveryBorder) {
    for (std::size_t most = 0; most < 20; ++most) {
        for (std::size_t border = 0; border <= most; ++border) {
            EXPECT_EQ(longestThatFits(most, [&](std::size_t n) { return n <= border; }), border);
        }
        EXPECT_FALSE(longestThatFits(most, [](std::size_t) { return false; }));
    }
}

}  // namespace
}  // namespace lpes::tasks
