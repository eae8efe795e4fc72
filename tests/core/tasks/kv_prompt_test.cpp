#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/tasks/scoring.h"
#include "tests/core/tasks/kv_dataset.h"

namespace lpes::tasks {
namespace {

using testing::readKvFile;

/// The benchmark's score of a generated text.
bool generatedCorrect(const std::string& generated, const std::string& value) {
    return scoreAnswer(Metric::Contains, std::vector{value}, generated) == 1.0;
}

nlohmann::json golden() {
    std::ifstream file(LPES_TEST_DATA "/golden/kv_prompts.json");
    return nlohmann::json::parse(file);
}

const std::string kExcerpt = LPES_TEST_DATA "/data/lost-in-the-middle/kv-retrieval-12_keys.jsonl";

std::string textOf(const RenderedPrompt& rendered, ByteSpan span) {
    return rendered.prompt.substr(span.begin, span.end - span.begin);
}

KvItem smallItem() {
    KvItem item;
    item.gold = {"test key2", "test value2"};
    item.distractors = {{"test key1", "test value1"}, {"test key3", "test value3"}};
    return item;
}

TEST(KvPrompt, IsTheOfficialTextByteForByte) {
    EXPECT_EQ(renderKvPrompt(smallItem(), 1).prompt,
              "Extract the value corresponding to the specified key in the JSON object below.\n"
              "\n"
              "JSON data:\n"
              "{\"test key1\": \"test value1\",\n"
              " \"test key2\": \"test value2\",\n"
              " \"test key3\": \"test value3\"}\n"
              "\n"
              "Key: \"test key2\"\n"
              "Corresponding value:");
}

TEST(KvPrompt, AgreesWithTheGoldenPromptsOfTheExcerpt) {
    const auto cases = golden().at("from_file");
    ASSERT_GE(cases.size(), 30u);
    for (const auto& expected : cases) {
        const int pairs = expected.at("pairs");
        const auto dataset = readKvFile(kExcerpt, pairs, std::nullopt);
        ASSERT_TRUE(dataset) << dataset.error().text();
        const RenderedPrompt rendered =
            renderKvPrompt(dataset->items.at(expected.at("item").get<std::size_t>()), expected.at("gold_index"));
        EXPECT_EQ(rendered.prompt, expected.at("prompt").get<std::string>());
        EXPECT_EQ(rendered.answer, expected.at("answer").get<std::string>());
        EXPECT_EQ(rendered.records.size(), static_cast<std::size_t>(pairs));
    }
}

TEST(KvPrompt, EscapesAndInterpretsNothing) {
    const auto cases = golden();
    for (const auto& expected : cases.at("written")) {
        KvItem item;
        item.gold = expected.at("gold").get<std::pair<std::string, std::string>>();
        item.distractors = expected.at("others").get<std::vector<std::pair<std::string, std::string>>>();
        const RenderedPrompt rendered = renderKvPrompt(item, expected.at("gold_index"));
        EXPECT_EQ(rendered.prompt, expected.at("prompt").get<std::string>());
        EXPECT_EQ(rendered.answer, " \"" + item.gold.second + "\"");
        EXPECT_EQ(rendered.value, item.gold.second);
    }
}

TEST(KvPrompt, KnowsWhereItsPartsStand) {
    for (int gold = 0; gold < 3; ++gold) {
        const RenderedPrompt rendered = renderKvPrompt(smallItem(), gold);
        EXPECT_EQ(rendered.goldIndex, gold);
        ASSERT_EQ(rendered.records.size(), 3u);
        EXPECT_EQ(textOf(rendered, rendered.records[static_cast<std::size_t>(gold)]), "\"test key2\": \"test value2\"");
        EXPECT_EQ(textOf(rendered, rendered.records[gold == 0 ? 1 : 0]), "\"test key1\": \"test value1\"");
        EXPECT_EQ(textOf(rendered, rendered.records[gold == 2 ? 1 : 2]), "\"test key3\": \"test value3\"");
        EXPECT_EQ(rendered.instruction.begin, 0u);
        EXPECT_TRUE(textOf(rendered, rendered.instruction).ends_with("JSON data:\n"));
        EXPECT_EQ(rendered.prompt[rendered.instruction.end], '{');
        EXPECT_EQ(textOf(rendered, rendered.question), "Key: \"test key2\"\nCorresponding value:");
        EXPECT_EQ(rendered.question.end, rendered.prompt.size());
    }
}

TEST(KvPrompt, TemplateHashIsStable) {
    EXPECT_EQ(kvTemplateHash(), golden().at("template_hash").get<std::string>());
}

TEST(KvScore, FindsTheValueAnywhereWhateverItsCase) {
    EXPECT_TRUE(generatedCorrect("The value is\n \"ABCD-12\".", "abcd-12"));
    EXPECT_TRUE(generatedCorrect("abcd-12", "ABCD-12"));
    EXPECT_FALSE(generatedCorrect("abcd-1", "abcd-12"));
    EXPECT_FALSE(generatedCorrect("", "a"));
    EXPECT_FALSE(generatedCorrect("a b", "ab"));
}

TEST(KvScore, LowersLettersOfEveryAlphabet) {
    EXPECT_TRUE(generatedCorrect("die grÖßE", "GRÖßE"));
    EXPECT_TRUE(generatedCorrect("ключ", "КЛЮЧ"));
    EXPECT_TRUE(generatedCorrect("οδος.", "ΟΔΟΣ"));
    EXPECT_TRUE(generatedCorrect("i\u0307", "İ"));
    EXPECT_FALSE(generatedCorrect("grosse", "größe"));
}

TEST(KvScore, TakesBytesThatAreNoText) {
    EXPECT_TRUE(
        generatedCorrect("\xff\xfe"
                         "Abc\xc3",
                         "aBC\xc3"));
    EXPECT_FALSE(generatedCorrect("\xff", "\xfe"));
}

}  // namespace
}  // namespace lpes::tasks
