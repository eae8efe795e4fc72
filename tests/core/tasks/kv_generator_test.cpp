#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/core/tasks/kv_dataset.h"

namespace lpes::tasks {
namespace {

using testing::generateKv;
using ::testing::HasSubstr;
using testing::KvDataset;

Result<KvDataset> generate(const std::string& keys, int pairs, std::int64_t count, std::uint64_t seed = 1) {
    return generateKv(parseKeyKind(keys).value(), pairs, count, seed, commonWords());
}

std::vector<std::pair<std::string, std::string>> recordsOf(const KvItem& item) {
    auto records = item.distractors;
    records.push_back(item.gold);
    return records;
}

void expectDistinct(const KvItem& item) {
    std::set<std::string> keys, values;
    for (const auto& [key, value] : recordsOf(item)) {
        keys.insert(key);
        values.insert(value);
    }
    EXPECT_EQ(keys.size(), item.distractors.size() + 1);
    EXPECT_EQ(values.size(), item.distractors.size() + 1);
}

TEST(KeyKind, KnowsItsSpellings) {
    EXPECT_EQ(parseKeyKind("uuid").value().kind, KeyKind::Kind::Uuid);
    EXPECT_EQ(parseKeyKind("words").value().kind, KeyKind::Kind::Words);
    const auto hex = parseKeyKind("hex:12").value();
    EXPECT_EQ(hex.kind, KeyKind::Kind::Hex);
    EXPECT_EQ(hex.digits, 12);
    EXPECT_EQ(hex.text, "hex:12");
    for (const std::string text :
         {"", "UUID", "hex", "hex:", "hex:0", "hex:08", "hex:-1", "hex:65", "hex:x", "hex:4 ", "word"}) {
        const auto kind = parseKeyKind(text);
        ASSERT_FALSE(kind) << text;
        EXPECT_EQ(kind.error().code, ErrorCode::Usage);
    }
}

TEST(CommonWords, AreTheBundledList) {
    EXPECT_EQ(commonWords().size(), 1875u);
    EXPECT_EQ(commonWords().front(), "children");
    const std::set<std::string> different(commonWords().begin(), commonWords().end());
    EXPECT_EQ(different.size(), commonWords().size());
    for (const std::string& word : commonWords()) {
        EXPECT_TRUE(std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; })) << word;
    }
}

TEST(KvGenerator, MakesUuidsOfVersion4) {
    const auto data = generate("uuid", 10, 20).value();
    const std::regex layout("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    std::set<char> variants, digits;
    for (const KvItem& item : data.items) {
        expectDistinct(item);
        for (const auto& [key, value] : recordsOf(item)) {
            EXPECT_TRUE(std::regex_match(key, layout)) << key;
            EXPECT_TRUE(std::regex_match(value, layout)) << value;
            variants.insert(key[19]);
            digits.insert(key.begin(), key.end());
        }
    }
    EXPECT_EQ(variants.size(), 4u);
    EXPECT_EQ(digits.size(), 17u);  // sixteen digits and the dash
}

TEST(KvGenerator, MakesHexOfTheLengthAskedFor) {
    for (const int digits : {1, 8, 9, 64}) {
        const auto data = generate("hex:" + std::to_string(digits), 5, 3).value();
        for (const KvItem& item : data.items) {
            expectDistinct(item);
            for (const auto& [key, value] : recordsOf(item)) {
                EXPECT_EQ(key.size(), static_cast<std::size_t>(digits));
                EXPECT_EQ(value.find_first_not_of("0123456789abcdef"), std::string::npos);
            }
        }
    }
}

TEST(KvGenerator, DrawsWordsWithoutReplacement) {
    const auto data = generate("words", 20, 50).value();
    EXPECT_EQ(data.pairs, 20);
    ASSERT_EQ(data.items.size(), 50u);
    const std::set<std::string> known(commonWords().begin(), commonWords().end());
    std::set<std::string> used;
    for (const KvItem& item : data.items) {
        EXPECT_EQ(item.distractors.size(), 19u);
        expectDistinct(item);
        for (const auto& [key, value] : recordsOf(item)) {
            EXPECT_TRUE(known.contains(key) && known.contains(value));
            used.insert(key);
        }
    }
    EXPECT_GT(used.size(), 700u) << "1,000 draws from 1,875 words hit about 775 of them";
}

TEST(KvGenerator, CanUseUpAllKeys) {
    const auto data = generate("hex:1", 16, 2).value();
    for (const KvItem& item : data.items) expectDistinct(item);
    const std::vector<std::string> three{"a", "b", "c", "a"};
    EXPECT_TRUE(generateKv(parseKeyKind("words").value(), 3, 1, 1, three));
}

TEST(KvGenerator, NamesBothNumbersWhenKeysAreTooFew) {
    const auto hex = generate("hex:1", 17, 1);
    ASSERT_FALSE(hex);
    EXPECT_EQ(hex.error().code, ErrorCode::Usage);
    EXPECT_THAT(hex.error().message, HasSubstr("17"));
    EXPECT_THAT(hex.error().message, HasSubstr("16"));
    const std::vector<std::string> words{"a", "b", "a"};  // two different ones
    const auto few = generateKv(parseKeyKind("words").value(), 3, 1, 1, words);
    ASSERT_FALSE(few);
    EXPECT_THAT(few.error().message, HasSubstr("only 2"));
    EXPECT_FALSE(generate("words", 1876, 1));
    EXPECT_FALSE(generate("uuid", 1, 1));
}

TEST(KvGenerator, ItemDependsOnSeedAndIndexAlone) {
    const auto few = generate("words", 20, 3, 11).value();
    const auto many = generate("words", 20, 10, 11).value();
    const auto other = generate("words", 20, 3, 12).value();
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(few.items[i].id, "words/" + std::to_string(i));
        EXPECT_EQ(few.items[i].gold, many.items[i].gold);
        EXPECT_EQ(few.items[i].distractors, many.items[i].distractors);
        EXPECT_NE(few.items[i].distractors, other.items[i].distractors);
    }
    EXPECT_NE(few.hash, many.hash);
    EXPECT_NE(few.hash, other.hash);
    EXPECT_EQ(few.hash, generate("words", 20, 3, 11).value().hash);
}

// Stored behaviour: the same seed must give the same items in every later version.
TEST(KvGenerator, KeepsItsItems) {
    std::ifstream file(LPES_TEST_DATA "/golden/kv_items.json");
    const auto golden = nlohmann::json::parse(file);
    for (const auto& expected : golden.at("sets")) {
        const auto data =
            generate(expected.at("keys"), expected.at("pairs"), expected.at("count"), expected.at("seed"));
        ASSERT_TRUE(data) << data.error().text();
        const auto first = expected.at("first").get<std::vector<std::pair<std::string, std::string>>>();
        EXPECT_EQ(data->items[0].gold, first[0]);
        EXPECT_EQ(data->items[0].distractors[0], first[1]);
        EXPECT_EQ(data->hash, expected.at("hash").get<std::string>());
    }
}

}  // namespace
}  // namespace lpes::tasks
