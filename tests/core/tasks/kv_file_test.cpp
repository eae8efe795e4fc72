#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/core/tasks/gzip_text.h"
#include "tests/core/tasks/kv_dataset.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using test::gzipText;
using test::TempFolder;
using ::testing::HasSubstr;
using testing::readKvFile;

const std::string kExcerpt = LPES_TEST_DATA "/data/lost-in-the-middle/kv-retrieval-12_keys.jsonl";
const std::string kGood = R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "b", "value": "2"})";

std::string excerptText() {
    std::ostringstream text;
    text << std::ifstream(kExcerpt).rdbuf();
    return text.str();
}

/// The error with which reading a file of these lines ends.
Error errorOf(const std::string& text, std::optional<int> pairs = std::nullopt) {
    const TempFolder folder;
    const auto dataset = readKvFile(folder.write("bad.jsonl", text), pairs, std::nullopt);
    EXPECT_FALSE(dataset) << text;
    return dataset ? Error{} : dataset.error();
}

TEST(KvFile, ReadsTheOfficialFormat) {
    const auto data = readKvFile(kExcerpt, std::nullopt, std::nullopt);
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_EQ(data->name, "kv-retrieval-12_keys");
    EXPECT_EQ(data->pairs, 12);
    ASSERT_EQ(data->items.size(), 3u);
    EXPECT_EQ(data->items[2].id, "kv-retrieval-12_keys/2");
    EXPECT_EQ(data->items[0].gold.first, "2a8d601d-1d69-4e64-9f90-8ad825a74195");
    EXPECT_EQ(data->items[0].gold.second, "bb3ba2a5-7de8-434b-a86e-a88bb9fa7289");
    EXPECT_EQ(data->items[0].distractors.size(), 11u);
    EXPECT_EQ(data->items[0].distractors[0].first, "a54e2eed-e625-4570-9f74-3624e77d6684");
}

TEST(KvFile, IsTheSameDataSetCompressed) {
    const TempFolder folder;
    const auto plain = readKvFile(kExcerpt, std::nullopt, std::nullopt).value();
    const auto compressed =
        readKvFile(folder.write("kv-retrieval-12_keys.jsonl.gz", gzipText(excerptText())), std::nullopt, std::nullopt);
    ASSERT_TRUE(compressed) << compressed.error().text();
    EXPECT_EQ(compressed->name, plain.name);
    EXPECT_EQ(compressed->hash, plain.hash);
    EXPECT_EQ(compressed->items[1].id, plain.items[1].id);
}

TEST(KvFile, CutsToTheFirstOthers) {
    const auto whole = readKvFile(kExcerpt, std::nullopt, std::nullopt).value();
    const auto cut = readKvFile(kExcerpt, 5, 2).value();
    EXPECT_EQ(cut.pairs, 5);
    ASSERT_EQ(cut.items.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(cut.items[i].id, whole.items[i].id);
        EXPECT_EQ(cut.items[i].gold, whole.items[i].gold);
        ASSERT_EQ(cut.items[i].distractors.size(), 4u);
        EXPECT_TRUE(std::equal(cut.items[i].distractors.begin(), cut.items[i].distractors.end(),
                               whole.items[i].distractors.begin()));
    }
    EXPECT_NE(cut.hash, whole.hash);
    EXPECT_EQ(readKvFile(kExcerpt, 12, std::nullopt).value().hash, whole.hash);
}

TEST(KvFile, ReadsNoFurtherThanTheLimit) {
    const TempFolder folder;
    const auto path = folder.write("a.jsonl", kGood + "\n" + kGood + "\nnot JSON\n");
    EXPECT_EQ(readKvFile(path, std::nullopt, 2).value().items.size(), 2u);
    EXPECT_FALSE(readKvFile(path, std::nullopt, 3));
}

TEST(KvFile, KeepsQuotesBackslashesAndUnicode) {
    const TempFolder folder;
    const auto data = readKvFile(
        folder.write(
            "a.jsonl",
            R"({"ordered_kv_records": [["a\"", "\\"], ["b\n", "\u00e9\ud83c\udf88"]], "key": "b\n", "value": "é🎈"})"),
        std::nullopt, std::nullopt);
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_EQ(data->items[0].distractors[0], (std::pair<std::string, std::string>{"a\"", "\\"}));
    EXPECT_EQ(data->items[0].gold.second, "é🎈");
}

TEST(KvFile, TakesAFileWithoutTheLastNewlineAndWithWindowsLineEnds) {
    const TempFolder folder;
    EXPECT_EQ(
        readKvFile(folder.write("a.jsonl", kGood + "\r\n" + kGood), std::nullopt, std::nullopt).value().items.size(),
        2u);
}

TEST(KvFile, HashSeesEveryPart) {
    const TempFolder folder;
    const auto hashOf = [&](const std::string& text) {
        return readKvFile(folder.write("a.jsonl", text), std::nullopt, std::nullopt).value().hash;
    };
    const std::string base = hashOf(R"({"ordered_kv_records": [["a", "12"], ["b", "2"]], "key": "b", "value": "2"})");
    EXPECT_EQ(base, hashOf(R"({"value": "2", "key": "b", "ordered_kv_records": [["a","12"],["b","2"]], "more": 1})"));
    EXPECT_NE(base, hashOf(R"({"ordered_kv_records": [["a", "12"], ["b", "2"]], "key": "a", "value": "12"})"));
    EXPECT_NE(base, hashOf(R"({"ordered_kv_records": [["a1", "2"], ["b", "2"]], "key": "b", "value": "2"})"));
}

TEST(KvFile, NamesFileLineAndFieldOfWhatIsWrong) {
    struct Case {
        std::string line, part;
    };
    for (const Case& wrong : std::vector<Case>{
             {"{", "JSON"},
             {"", "JSON"},
             {"[1]", "object"},
             {"\"\xff\"", "JSON"},
             {R"({"key": "b", "value": "2"})", "'ordered_kv_records'"},
             {R"({"ordered_kv_records": {}, "key": "b", "value": "2"})", "'ordered_kv_records' is not an array"},
             {R"({"ordered_kv_records": [["b", "2"]], "key": "b", "value": "2"})", "1 records"},
             {R"({"ordered_kv_records": [["a", "1"], ["b"], ["c", "3"]], "key": "b", "value": "2"})",
              "ordered_kv_records[1]"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", 2], ["c", "3"]], "key": "b", "value": "2"})",
              "ordered_kv_records[1]"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["a", "3"]], "key": "b", "value": "2"})",
              "same key 'a'"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "value": "2"})", "'key'"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": 1, "value": "2"})", "'key'"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "", "value": "2"})",
              "'key' is empty"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "b"})", "'value'"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", ""], ["c", "3"]], "key": "b", "value": ""})",
              "'value' is empty"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "d", "value": "2"})", "key 'd'"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "b", "value": "3"})", "value '3'"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"]], "key": "b", "value": "2"})", "2 records"},
             {R"({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "a", "key": "b", "value": "2"})",
              "'key' twice"},
         }) {
        const Error error = errorOf(kGood + "\n" + wrong.line + "\n");
        EXPECT_EQ(error.code, ErrorCode::BadInput) << wrong.line;
        EXPECT_THAT(error.message, HasSubstr("bad.jsonl', line 2"));
        EXPECT_THAT(error.message, HasSubstr(wrong.part));
    }
}

TEST(KvFile, RefusesMorePairsThanThereAre) {
    const Error error = errorOf(kGood, 4);
    EXPECT_EQ(error.code, ErrorCode::BadInput);
    EXPECT_THAT(error.message, HasSubstr("3 records"));
    EXPECT_THAT(error.message, HasSubstr("4 pairs"));
    EXPECT_EQ(errorOf(kGood, 1).code, ErrorCode::Usage);
}

TEST(KvFile, RefusesAnEmptyFile) {
    EXPECT_EQ(errorOf("").code, ErrorCode::BadInput);
    EXPECT_THAT(errorOf(gzipText("")).message, HasSubstr("empty"));
}

TEST(KvFile, GivesNothingOfAFileWhoseEndIsMissing) {
    const std::string whole = gzipText(excerptText());
    const Error error = errorOf(whole.substr(0, whole.size() - 4));
    EXPECT_EQ(error.code, ErrorCode::BadInput);
    EXPECT_THAT(error.message, HasSubstr("incomplete"));
    // A plain file that was cut ends in the middle of a line.
    EXPECT_EQ(errorOf(excerptText().substr(0, excerptText().size() - 10)).code, ErrorCode::BadInput);
}

TEST(KvFile, SurvivesDeepNesting) {
    EXPECT_EQ(errorOf(std::string(1'000'000, '[')).code, ErrorCode::BadInput);
}

TEST(KvFile, ReadsTheOfficialFilesWhole) {
    const char* shared = std::getenv("LPES_SHARED_DATA");
    if (shared == nullptr) GTEST_SKIP() << "LPES_SHARED_DATA is not set";
    const auto folder = std::filesystem::path(shared) / "lost-in-the-middle";
    for (const int keys : {75, 140}) {
        const auto path = folder / ("kv-retrieval-" + std::to_string(keys) + "_keys.jsonl.gz");
        if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
        const auto whole = readKvFile(path, std::nullopt, std::nullopt);
        ASSERT_TRUE(whole) << whole.error().text();
        EXPECT_EQ(whole->items.size(), 500u);
        EXPECT_EQ(whole->pairs, keys);
        const auto cut = readKvFile(path, 10, 40);
        ASSERT_TRUE(cut) << cut.error().text();
        EXPECT_EQ(cut->items.size(), 40u);
        EXPECT_EQ(renderKvPrompt(cut->items.back(), 9).records.size(), 10u);
    }
}

}  // namespace
}  // namespace lpes::tasks
