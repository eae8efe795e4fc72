// What an item is told by, whatever its file is called and wherever it stands in it.

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "tests/core/tasks/benchmark_check.h"
#include "tests/core/tasks/golden_prompts.h"
#include "tests/core/tasks/word_tokenizer.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using nlohmann::json;
using test::TempFolder;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::specFor;

const testing::WordTokenizer kTokenizer;

/// The items' content hashes in their order.
std::vector<std::string> hashesOf(const BenchmarkSpec& spec) {
    const auto benchmark = openBenchmark(spec, &kTokenizer);
    EXPECT_TRUE(benchmark) << benchmark.error().text();
    std::vector<std::string> hashes;
    for (std::int64_t i = 0; benchmark && i < (*benchmark)->size(); ++i)
        hashes.push_back((*benchmark)->contentHash(i).value());
    return hashes;
}

std::vector<std::string> hashesOf(const std::string& task, const std::vector<json>& records,
                                  const std::string& name = "data.jsonl") {
    const TempFolder folder;
    return hashesOf(specFor(task, folder.write(name, test::jsonLines(records))));
}

std::vector<std::string> inBoth(std::vector<std::string> a, std::vector<std::string> b) {
    std::ranges::sort(a);
    std::ranges::sort(b);
    std::vector<std::string> both;
    std::ranges::set_intersection(a, b, std::back_inserter(both));
    return both;
}

/// A copy under another name, turned round and shortened has the same items.
void expectKnownInAnyCopy(const std::string& task, const std::vector<json>& records) {
    const std::vector<std::string> hashes = hashesOf(task, records);
    ASSERT_EQ(hashes.size(), records.size());
    for (const std::string& hash : hashes) {
        EXPECT_EQ(hash.size(), 32u);
        EXPECT_EQ(std::ranges::count(hashes, hash), 1) << task;
    }
    EXPECT_EQ(hashesOf(task, records, "renamed.jsonl"), hashes);
    std::vector<json> turned(records.rbegin(), records.rend() - 1);
    std::vector<std::string> expected(hashes.rbegin(), hashes.rend() - 1);
    EXPECT_EQ(hashesOf(task, turned, "turned.jsonl"), expected);
}

/// The first record's hash before and after a change.
bool staysTheSame(const std::string& task, json record, const std::function<void(json&)>& change) {
    const auto before = hashesOf(task, std::vector<json>{record});
    change(record);
    return hashesOf(task, std::vector<json>{record}) == before;
}

json mdqaRecord(const std::string& question) {
    return {{"question", question},
            {"answers", {"yes", "indeed"}},
            {"ctxs",
             {{{"title", "A"}, {"text", "a"}, {"isgold", false}},
              {{"title", "B"}, {"text", "yes"}, {"isgold", true}},
              {{"title", "C"}, {"text", "c"}, {"isgold", false}}}}};
}

json kvRecord(const std::string& key) {
    const auto pair = [](const std::string& first, const std::string& second) { return json::array({first, second}); };
    return {{"ordered_kv_records",
             json::array({pair("other", "thing"), pair(key, "value of " + key), pair("third", "word")})},
            {"key", key},
            {"value", "value of " + key}};
}

json ownRecord(const std::string& question) {
    return {{"documents", {"The ferry leaves at six.", {{"title", "Bakery"}, {"text", "It opens at seven."}}, "Shut."}},
            {"gold", 1},
            {"question", question},
            {"answers", {"at seven"}}};
}

json zeroScrollsRecord(const std::string& document) {
    const std::string before = "Instruction.\n\n", question = "\n\nwhat?";
    const auto begin = before.size(), end = begin + document.size();
    return {{"id", document},
            {"input", before + document + question + "\n\nAnswer:\n"},
            {"output", "this"},
            {"document_start_index", begin},
            {"document_end_index", end},
            {"query_start_index", end + 2},
            {"query_end_index", end + question.size()},
            {"truncation_seperator", "...\n\n"}};
}

json levalRecord(const std::string& instruction) {
    return {{"instructions", {instruction}},
            {"outputs", {"B"}},
            {"input", "A document."},
            {"source", "x"},
            {"evaluation", "exam"}};
}

TEST(ContentHash, KnowsTheItemsOfEveryFileInAnyCopy) {
    expectKnownInAnyCopy("mdqa", {mdqaRecord("p?"), mdqaRecord("q?"), mdqaRecord("r?")});
    expectKnownInAnyCopy("kv", {kvRecord("k"), kvRecord("l"), kvRecord("m")});
    expectKnownInAnyCopy("jsonl", {ownRecord("p?"), ownRecord("q?"), ownRecord("r?")});
    expectKnownInAnyCopy("zeroscrolls:qasper", {zeroScrollsRecord("one"), zeroScrollsRecord("two")});
    expectKnownInAnyCopy("leval:quality", {levalRecord("p?"), levalRecord("q?"), levalRecord("r?")});
}

TEST(ContentHash, OtherContentIsAnotherItem) {
    const auto set = [](const char* pointer, const json& value) {
        return [=](json& record) { record[json::json_pointer(pointer)] = value; };
    };
    EXPECT_FALSE(staysTheSame("mdqa", mdqaRecord("q?"), set("/answers/0", "no")));
    EXPECT_FALSE(staysTheSame("mdqa", mdqaRecord("q?"), set("/ctxs/1/text", "yes!")));
    EXPECT_FALSE(staysTheSame("jsonl", ownRecord("q?"), set("/answers/0", "at eight")));
    EXPECT_FALSE(staysTheSame("jsonl", ownRecord("q?"), set("/gold", 0)));
    EXPECT_FALSE(staysTheSame("jsonl", ownRecord("q?"), set("/documents/1/text", "It opens at noon.")));
    EXPECT_FALSE(staysTheSame("zeroscrolls:qasper", zeroScrollsRecord("one"),
                              [](json& record) { record = zeroScrollsRecord("six"); }));
    EXPECT_FALSE(staysTheSame("leval:quality", levalRecord("q?"), set("/input", "Another document.")));
    EXPECT_FALSE(staysTheSame("leval:quality", levalRecord("q?"), set("/outputs/0", "C")));
    EXPECT_FALSE(staysTheSame("kv", kvRecord("k"),
                              [](json& record) { record["value"] = record["ordered_kv_records"][1][1] = "another"; }));
}

TEST(ContentHash, DistractorsAndTheirOrderDoNotCount) {
    const auto shuffle = [](json& record) {
        std::swap(record["ctxs"][0], record["ctxs"][1]);
        record["ctxs"][1]["text"] = "another passage";
    };
    EXPECT_TRUE(staysTheSame("mdqa", mdqaRecord("q?"), shuffle));
    EXPECT_TRUE(staysTheSame("kv", kvRecord("k"), [](json& record) {
        json& pairs = record["ordered_kv_records"];
        std::reverse(pairs.begin(), pairs.end());
        pairs.push_back({"fourth", "w"});
    }));
    EXPECT_TRUE(staysTheSame("jsonl", ownRecord("q?"), [](json& record) {
        std::reverse(record["documents"].begin(), record["documents"].end());
        record["documents"][0] = "The mill is open.";
    }));
}

TEST(ContentHash, APairsLimitLeavesTheItem) {
    const TempFolder folder;
    BenchmarkSpec spec = specFor("kv", folder.write("kv.jsonl", test::jsonLines({kvRecord("k"), kvRecord("l")})));
    const auto all = hashesOf(spec);
    spec.pairs = 2;
    EXPECT_EQ(hashesOf(spec), all);
}

TEST(ContentHash, HowAnItemIsAskedAndScoredDoesNotCount) {
    EXPECT_TRUE(staysTheSame("jsonl", ownRecord("q?"), [](json& record) {
        record["id"] = "seven";
        record["group"] = "shops";
        record["scoring"] = "best_subspan_em";
        record["system"] = "Be brief.";
        record["template"] = "{documents}\nQ: {question}";
        record["document"] = "({index}) {text}";
    }));
    EXPECT_TRUE(staysTheSame("zeroscrolls:qasper", zeroScrollsRecord("one"), [](json& record) {
        record["id"] = "other";
        record["output"] = "that";
    }));
}

TEST(ContentHash, WithoutGoldAllDocumentsCountInAnyOrder) {
    json record = ownRecord("q?");
    record.erase("gold");
    EXPECT_TRUE(staysTheSame("jsonl", record, [](json& changed) {
        std::reverse(changed["documents"].begin(), changed["documents"].end());
    }));
    EXPECT_FALSE(
        staysTheSame("jsonl", record, [](json& changed) { changed["documents"].erase(changed["documents"].begin()); }));
}

TEST(ContentHash, ChoicesAndTheRightOneCount) {
    const json record{{"question", "q?"}, {"choices", {"one", "two"}}, {"answer", 0}};
    EXPECT_FALSE(staysTheSame("jsonl", record, [](json& changed) { changed["answer"] = 1; }));
    EXPECT_FALSE(staysTheSame("jsonl", record, [](json& changed) { changed["choices"][1] = "three"; }));
}

TEST(ContentHash, TheQuestionsOfBothMultiDocumentTasksAreTheSame) {
    const TempFolder folder;
    const std::string lines = testing::linesOf(testing::goldenPrompts()["mdqa_random"]["lines"]);
    const auto path = folder.write("oracle.jsonl", lines);
    BenchmarkSpec spec = specFor("mdqa-random", path);
    spec.docs = 6;
    const auto asked = hashesOf(spec);
    ASSERT_EQ(asked.size(), 30u);
    spec.seed = 2;
    EXPECT_EQ(hashesOf(spec), asked) << "other distractors, the same questions";
    EXPECT_EQ(hashesOf(specFor("mdqa", path)), asked);
}

TEST(ContentHash, AnotherSeedGeneratesOtherItems) {
    BenchmarkSpec spec = specFor("kv");
    spec.generateCount = 200;
    spec.pairs = 12;
    // Short enough for the asked pair alone to come up again by chance.
    spec.keys = "hex:1";
    const auto hashes = hashesOf(spec);
    spec.limit = 20;
    EXPECT_EQ(hashesOf(spec), std::vector<std::string>(hashes.begin(), hashes.begin() + 20));
    spec.limit.reset();
    spec.seed = 2;
    EXPECT_THAT(inBoth(hashesOf(spec), hashes), IsEmpty());
}

TEST(ContentHash, ANeedleIsTheSameInALongerHaystack) {
    BenchmarkSpec spec = specFor("niah");
    spec.generateCount = 5;
    spec.niah.length = 600;
    const auto hashes = hashesOf(spec);
    spec.niah.length = 900;
    spec.niah.haystack = "needle";
    EXPECT_EQ(hashesOf(spec), hashes);
    spec.seed = 2;
    EXPECT_THAT(inBoth(hashesOf(spec), hashes), IsEmpty());
}

TEST(ContentHash, AnExamsQuestionIsTheSameWithOtherExamples) {
    BenchmarkSpec spec = specFor("mmlu", LPES_TEST_DATA "/data/mmlu");
    const auto all = hashesOf(spec);
    spec.shots = 1;
    EXPECT_EQ(hashesOf(spec), all);
    spec.subjects = "formal_logic";
    const auto part = hashesOf(spec);
    ASSERT_FALSE(part.empty());
    EXPECT_EQ(inBoth(part, all).size(), part.size());
}

TEST(ContentHash, TasksDoNotShareItems) {
    const auto quality = hashesOf("leval:quality", std::vector<json>{levalRecord("q?")});
    EXPECT_THAT(hashesOf("leval:tpo", std::vector<json>{levalRecord("q?")}), Not(Contains(quality.front())));
}

}  // namespace
}  // namespace lpes::tasks
