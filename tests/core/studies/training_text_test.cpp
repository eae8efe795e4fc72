#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/studies/model_setup.h"
#include "core/studies/training_text.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::studies {
namespace {

using test::take;
using text::TokenId;

class TrainingTextTest : public testing::Test {
  protected:
    Result<TrainingText> open(const std::string& name, const std::string& bytes, int maxLength) {
        test::writeBytes(m_folder / name, bytes);
        NullObserver nobody;
        return TrainingText::open(m_folder / name, *m_opened.tokenizer, maxLength, nobody, {});
    }
    std::vector<TokenId> ids(const std::string& text) const { return take(m_opened.tokenizer->encode(text)).ids; }

    test::StudyFolder m_folder;
    OpenedModel m_opened = take(openModel(m_folder.model(), true));
};

std::vector<TokenId> joined(const TrainingText& text) {
    std::vector<TokenId> all;
    for (std::size_t i = 0; i < text.sequences(); ++i) {
        const auto part = take(text.sequence(i));
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

TEST_F(TrainingTextTest, CutsADocumentIntoConsecutiveSequences) {
    const std::string words = "one two three four five six seven eight nine ten";
    const auto text = take(open("t.txt", words, 5));
    const auto all = ids(words);
    ASSERT_NE(all.size() % 5, 1u) << "the last token would have no loss";
    EXPECT_EQ(joined(text), all);
    EXPECT_EQ(text.documents(), 1);
    EXPECT_EQ(text.tokens(), static_cast<std::int64_t>(all.size()));
    for (std::size_t i = 0; i + 1 < text.sequences(); ++i) EXPECT_EQ(take(text.sequence(i)).size(), 5u);
    EXPECT_EQ(text.hash().size(), 64u);
}

TEST_F(TrainingTextTest, KeepsDocumentsOfJsonLinesApart) {
    const auto text = take(open("t.jsonl",
                                "{\"text\": \"first document\"}\n\n  \n{\"id\": 1, \"text\": \"the second\"}\r\n"
                                "{\"text\": \"\"}\n{\"text\": \"third\\nwith two lines\"}",
                                100));
    ASSERT_EQ(text.sequences(), 3u);
    EXPECT_EQ(text.documents(), 3);
    EXPECT_EQ(take(text.sequence(0)), ids("first document"));
    EXPECT_EQ(take(text.sequence(1)), ids("the second"));
    EXPECT_EQ(take(text.sequence(2)), ids("third\nwith two lines"));
}

TEST_F(TrainingTextTest, LeavesOutASequenceOfOneToken) {
    const auto all = ids("abc def ghi jkl mno");
    const auto length = static_cast<int>(all.size()) - 1;
    const auto text = take(open("t.txt", "abc def ghi jkl mno", length));
    EXPECT_EQ(text.sequences(), 1u);
    EXPECT_EQ(text.tokens(), length);
}

TEST_F(TrainingTextTest, ReadsLongTextInStretchesThatEndWithALine) {
    std::string bytes;
    for (int i = 0; bytes.size() < 200'000; ++i) bytes += "line " + std::to_string(i) + " of many\n";
    const auto text = take(open("t.txt", bytes, 64));
    EXPECT_EQ(text.documents(), 1);
    const auto whole = ids(bytes);
    EXPECT_NEAR(static_cast<double>(text.tokens()), static_cast<double>(whole.size()), 8.0);
    EXPECT_EQ(take(text.sequence(0)), std::vector<TokenId>(whole.begin(), whole.begin() + 64));

    // Lines longer than a stretch may be are cut, but not inside a character.
    std::string wide;
    while (wide.size() < 3'000'000) wide += "äöü€";
    EXPECT_TRUE(open("wide.txt", wide, 64).has_value());
}

TEST_F(TrainingTextTest, RefusesWhatIsNoText) {
    const auto refused = [&](const std::string& name, const std::string& bytes, const std::string& words) {
        const auto text = open(name, bytes, 8);
        ASSERT_FALSE(text.has_value()) << words;
        EXPECT_EQ(text.error().code, ErrorCode::BadInput);
        EXPECT_NE(text.error().message.find(words), std::string::npos) << text.error().text();
    };
    refused("t.jsonl", "{\"text\": \"good\"}\n{\"txt\": \"bad\"}\n",
            "line 2: no JSON object with a text under \"text\"");
    refused("t.jsonl", "{\"text\": \"good\"}\nnonsense\n", "line 2: ");
    refused("t.jsonl", "{\"text\": 5}\n", "line 1: ");
    refused("t.jsonl", "{\"text\": \"one of two\", \"text\": \"texts\"}\n", "line 1: 'text' is given twice");
    refused("t.txt", "good \xff bad", "line 1: ");
    refused("t.txt", "", "is empty");
    refused("t.jsonl", "{\"text\": \"\"}\n", "no sequence of at least 2 tokens");
    NullObserver nobody;
    const auto missing = TrainingText::open(m_folder / "none", *m_opened.tokenizer, 8, nobody, {});
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::BadInput);
}

TEST_F(TrainingTextTest, Stops) {
    test::writeBytes(m_folder / "t.txt", "some text");
    std::stop_source source;
    source.request_stop();
    NullObserver nobody;
    const auto stopped = TrainingText::open(m_folder / "t.txt", *m_opened.tokenizer, 8, nobody, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(model::wasStopped(stopped.error()));
}

}  // namespace
}  // namespace lpes::studies
