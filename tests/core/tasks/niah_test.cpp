#include <gmock/gmock.h>

#include "core/tasks/niah.h"
#include "tests/core/tasks/benchmark_check.h"
#include "tests/core/tasks/word_tokenizer.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using nlohmann::json;
using test::TempFolder;
using testing::goldenPrompts;
using ::testing::HasSubstr;
using testing::specFor;
using testing::textOf;

const testing::WordTokenizer kTokenizer;

std::size_t tokensOf(const std::string& text) {
    return kTokenizer.encode(text, {.addSpecial = true}).value().ids.size();
}

Error niahError(const BenchmarkSpec& spec) {
    const auto opened = openBenchmark(spec, &kTokenizer);
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
}

TEST(Niah, MakesRulersPromptsByteForByte) {
    const json golden = goldenPrompts().at("niah");
    const TempFolder folder;
    for (const json& set : golden.at("sets")) {
        const json& wanted = set.at("spec");
        BenchmarkSpec spec = specFor("niah");
        spec.niah = {wanted.at("haystack"), wanted.at("length"),   wanted.at("keys"),      wanted.at("values"),
                     wanted.at("queries"),  wanted.at("key_kind"), wanted.at("value_kind")};
        spec.seed = set.at("seed");
        spec.limit = 3;
        if (spec.niah.haystack == "essay") spec.data = folder.write("essay.txt", golden.at("essay").get<std::string>());
        const auto benchmark = openBenchmark(spec, &kTokenizer);
        ASSERT_TRUE(benchmark) << benchmark.error().text();
        EXPECT_EQ((*benchmark)->places(0), set.at("places").get<int>());
        for (const json& expected : set.at("prompts")) {
            const TaskPrompt prompt = (*benchmark)->prompt(expected.at("item"), expected.at("gold_index")).value();
            EXPECT_EQ(prompt.text, expected.at("prompt").get<std::string>());
            EXPECT_EQ(prompt.references, expected.at("answers").get<std::vector<std::string>>());
            EXPECT_LE(tokensOf(prompt.text) + 128, static_cast<std::size_t>(spec.niah.length));
            EXPECT_EQ(prompt.rule.metric, Metric::ContainsAll);
            EXPECT_EQ(prompt.rule.maxNewTokens, 128);
        }
        testing::expectSoundItems(**benchmark);
    }
}

TEST(Niah, MovesTheAskedNeedleThroughAllGaps) {
    BenchmarkSpec spec = specFor("niah");
    spec.limit = 2;
    const auto benchmark = openBenchmark(spec, &kTokenizer).value();
    EXPECT_TRUE(benchmark->info().movable);
    EXPECT_EQ(benchmark->info().defaultScore.kind, ScoreKind::Kind::Generate);
    for (int place = 0; place < benchmark->places(1); ++place) {
        const TaskPrompt prompt = benchmark->prompt(1, place).value();
        ASSERT_EQ(prompt.records.size(), static_cast<std::size_t>(benchmark->places(1)));
        ASSERT_EQ(prompt.evidence.size(), 1u);
        EXPECT_EQ(prompt.evidence[0].begin, prompt.records[static_cast<std::size_t>(place)].begin);
        EXPECT_THAT(textOf(prompt, prompt.evidence[0]), HasSubstr(" is: " + prompt.references[0] + "."));
        EXPECT_EQ(prompt.answer, " " + prompt.references[0]);
        EXPECT_TRUE(prompt.text.ends_with(" mentioned in the provided text is"));
        EXPECT_LE(tokensOf(prompt.text) + 128, 2000u);
    }
    // As long as fits: one more sentence of noise would be too much.
    EXPECT_GT(tokensOf(benchmark->prompt(0, 0)->text) + 128 + 45, 2000u);
}

TEST(Niah, LeavesTheOtherNeedlesWhereTheyAre) {
    BenchmarkSpec spec = specFor("niah");
    spec.niah.keys = 6;
    spec.niah.length = 1500;
    spec.limit = 2;
    const auto benchmark = openBenchmark(spec, &kTokenizer).value();
    const auto without = [](TaskPrompt prompt) {
        const ByteSpan moved = prompt.evidence.at(0);
        prompt.text.erase(moved.begin, moved.end - moved.begin + 1);
        return prompt.text.substr(0, prompt.text.rfind("\nWhat"));
    };
    const TaskPrompt first = benchmark->prompt(1, 0).value();
    for (int place = 1; place + 1 < benchmark->places(1); ++place) {
        EXPECT_EQ(without(benchmark->prompt(1, place).value()), without(first));
    }
    EXPECT_EQ(first.references.size(), 1u);
    EXPECT_EQ(first.records.size(), static_cast<std::size_t>(benchmark->places(1)) + 5);
}

TEST(Niah, MarksEveryNeedleThatIsAskedFor) {
    BenchmarkSpec spec = specFor("niah");
    spec.niah.values = 3;
    spec.niah.keys = 3;
    spec.niah.queries = 2;
    spec.limit = 1;
    const auto benchmark = openBenchmark(spec, &kTokenizer).value();
    const TaskPrompt prompt = benchmark->prompt(0, 4).value();
    EXPECT_EQ(prompt.references.size(), 6u);
    ASSERT_EQ(prompt.evidence.size(), 6u);
    std::string marked;
    for (const ByteSpan span : prompt.evidence) marked += textOf(prompt, span);
    for (const std::string& answer : prompt.references) EXPECT_THAT(marked, HasSubstr(answer));
    EXPECT_THAT(prompt.text, HasSubstr(", and "));
    EXPECT_TRUE(prompt.text.ends_with("mentioned in the provided text are"));
    EXPECT_FALSE(prompt.rule.binary);
}

TEST(Niah, ItemDependsOnSeedAndIndexAlone) {
    BenchmarkSpec spec = specFor("niah");
    spec.limit = 5;
    const auto many = openBenchmark(spec, &kTokenizer).value();
    spec.limit = 2;
    const auto few = openBenchmark(spec, &kTokenizer).value();
    EXPECT_EQ(many->prompt(1, 0)->references, few->prompt(1, 0)->references);
    EXPECT_NE(many->info().hash, few->info().hash);
    EXPECT_EQ(few->info().hash, openBenchmark(spec, &kTokenizer).value()->info().hash);
    spec.seed = 2;
    EXPECT_NE(few->info().hash, openBenchmark(spec, &kTokenizer).value()->info().hash);
    EXPECT_NE(few->prompt(0, 0)->references, openBenchmark(spec, &kTokenizer).value()->prompt(0, 0)->references);
}

TEST(Niah, TakesAFolderOfTextsInTheOrderOfTheirNames) {
    const TempFolder folder;
    folder.write("b.txt", "Second text. It ends");
    folder.write("a.txt", "First text!\n\nIt (really)   goes on.");
    folder.write("c.md", "Never this.");
    const auto sentences = readEssay(folder.path(), 1 << 20).value();
    EXPECT_EQ(sentences, (std::vector<std::string>{"First text!", "It (really) goes on.", "Second text.", "It ends"}));
    EXPECT_EQ(readEssay(folder.path(), 5).value().size(), 1u) << "no more is read than is needed";
}

TEST(Niah, RefusesWhatMakesNoSense) {
    const auto expectRefused = [](const NiahSpec& niah, const std::string& part) {
        BenchmarkSpec spec = specFor("niah");
        spec.niah = niah;
        const Error error = niahError(spec);
        EXPECT_EQ(error.code, ErrorCode::Usage);
        EXPECT_THAT(error.message, HasSubstr(part));
    };
    expectRefused({.haystack = "repeat"}, "noise, needle, essay");
    expectRefused({.haystack = "essay"}, "--data");
    expectRefused({.keyKind = "word"}, "words, numbers, uuids");
    expectRefused({.valueKind = "hex"}, "'hex'");
    expectRefused({.keys = 0}, "keys");
    expectRefused({.values = -1}, "values");
    expectRefused({.queries = 20'000}, "queries");
    expectRefused({.keys = 200, .values = 200}, "needles");
    expectRefused({.length = 0}, "0 tokens");
    expectRefused({.length = 150}, "the length is 150");
    expectRefused({.length = 500, .keys = 40}, "the length is 500");
    BenchmarkSpec spec = specFor("niah", "some.txt");
    EXPECT_THAT(niahError(spec).message, HasSubstr("'noise'"));
    spec = specFor("niah");
    spec.limit = 0;
    EXPECT_EQ(niahError(spec).code, ErrorCode::Usage);
}

TEST(Niah, RefusesATextThatIsNone) {
    const TempFolder folder;
    BenchmarkSpec spec = specFor("niah", folder.path());
    spec.niah.haystack = "essay";
    EXPECT_THAT(niahError(spec).message, HasSubstr(".txt"));
    folder.write("a.txt", " \n ");
    EXPECT_THAT(niahError(spec).message, HasSubstr("no text"));
    folder.write("a.txt", "fine\nbad \xff byte");
    const Error error = niahError(spec);
    EXPECT_EQ(error.code, ErrorCode::BadInput);
    EXPECT_THAT(error.message, HasSubstr("line 2"));
    spec.data = folder.path() / "missing.txt";
    EXPECT_EQ(niahError(spec).code, ErrorCode::BadInput);
}

}  // namespace
}  // namespace lpes::tasks
