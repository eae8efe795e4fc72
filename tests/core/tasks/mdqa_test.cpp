#include <gmock/gmock.h>

#include "tests/core/tasks/benchmark_check.h"
#include "tests/core/tasks/gzip_text.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using nlohmann::json;
using test::gzipText;
using test::TempFolder;
using testing::goldenPrompts;
using ::testing::HasSubstr;
using testing::linesOf;
using testing::openingError;
using testing::specFor;
using testing::textOf;

json goodRecord() {
    return {{"question", "q"},
            {"answers", {"yes"}},
            {"ctxs",
             {{{"title", "A"}, {"text", "a"}, {"isgold", false}},
              {{"title", "B"}, {"text", "yes"}, {"isgold", true}},
              {{"title", "C"}, {"text", "c"}, {"isgold", false}}}}};
}

Error errorOfLines(const std::string& task, const std::string& text, std::optional<int> docs = std::nullopt) {
    const TempFolder folder;
    BenchmarkSpec spec = specFor(task, folder.write("bad.jsonl", text));
    spec.docs = docs;
    return openingError(spec);
}

TEST(Mdqa, MakesTheOfficialPromptsByteForByte) {
    const json golden = goldenPrompts().at("mdqa");
    const TempFolder folder;
    const auto path = folder.write("nq-open-10_total_documents.jsonl", linesOf(golden.at("lines")));
    ASSERT_GE(golden.at("prompts").size(), 40u);
    for (const json& expected : golden.at("prompts")) {
        BenchmarkSpec spec = specFor("mdqa", path);
        if (!expected.at("docs").is_null()) spec.docs = expected.at("docs").get<int>();
        const auto benchmark = openBenchmark(spec);
        ASSERT_TRUE(benchmark) << benchmark.error().text();
        EXPECT_EQ((*benchmark)->places(0), spec.docs.value_or(10));
        const TaskPrompt prompt = (*benchmark)->prompt(expected.at("item"), expected.at("gold_index")).value();
        EXPECT_EQ(prompt.text, expected.at("prompt").get<std::string>());
        EXPECT_EQ(prompt.answer, expected.at("answer").get<std::string>());
        EXPECT_EQ(prompt.rule.metric, Metric::BestSubspan);
        EXPECT_EQ(prompt.rule.maxNewTokens, 100);
    }
}

TEST(Mdqa, KnowsWhereItsPartsStand) {
    const TempFolder folder;
    const auto benchmark = openBenchmark(specFor("mdqa", folder.write("a.jsonl", goodRecord().dump()))).value();
    EXPECT_EQ(benchmark->id(0), "a/0");
    EXPECT_EQ(benchmark->info().defaultScore.kind, ScoreKind::Kind::Generate);
    EXPECT_TRUE(benchmark->info().movable);
    const TaskPrompt prompt = benchmark->prompt(0, 2).value();
    ASSERT_EQ(prompt.records.size(), 3u);
    EXPECT_EQ(textOf(prompt, prompt.records[1]), "Document [2](Title: C) c");
    EXPECT_EQ(textOf(prompt, prompt.evidence.at(0)), "Document [3](Title: B) yes");
    EXPECT_EQ(textOf(prompt, prompt.question), "Question: q\nAnswer:");
    EXPECT_EQ(prompt.instruction.end, prompt.records[0].begin);
    EXPECT_THAT(benchmark->info().templateText, HasSubstr("Document [1](Title: {title_1}) {text_1}\n"));
    testing::expectSoundItems(*benchmark);
}

TEST(Mdqa, IsTheSameDataSetCompressed) {
    const TempFolder folder;
    const std::string text = linesOf(goldenPrompts().at("mdqa").at("lines"));
    const auto plain = openBenchmark(specFor("mdqa", folder.write("a.jsonl", text))).value();
    const auto compressed = openBenchmark(specFor("mdqa", folder.write("a.jsonl.gz", gzipText(text)))).value();
    EXPECT_EQ(plain->info().hash, compressed->info().hash);
    EXPECT_EQ(plain->info().name, compressed->info().name);
    BenchmarkSpec few = specFor("mdqa", folder.path() / "a.jsonl");
    few.limit = 2;
    EXPECT_EQ(openBenchmark(few).value()->size(), 2);
    EXPECT_NE(openBenchmark(few).value()->info().hash, plain->info().hash);
    few.limit = 500;
    EXPECT_EQ(openBenchmark(few).value()->info().hash, plain->info().hash);
    few.docs = 9;
    EXPECT_NE(openBenchmark(few).value()->info().hash, plain->info().hash);
}

TEST(Mdqa, OneDocumentCannotBeMoved) {
    BenchmarkSpec spec = specFor("mdqa");
    const TempFolder folder;
    spec.data = folder.write("a.jsonl", goodRecord().dump());
    spec.docs = 1;
    const auto benchmark = openBenchmark(spec).value();
    EXPECT_FALSE(benchmark->info().movable);
    EXPECT_EQ(benchmark->places(0), 1);
}

TEST(Mdqa, NamesFileLineAndFieldOfWhatIsWrong) {
    const auto changed = [](const std::string& pointer, const json& value) {
        json record = goodRecord();
        if (value.is_discarded()) {
            record = record.patch(json::array({{{"op", "remove"}, {"path", pointer}}}));
        } else {
            record[json::json_pointer(pointer)] = value;
        }
        return record.dump();
    };
    const json removed(json::value_t::discarded);
    const std::vector<std::pair<std::string, std::string>> cases{
        {"{", "JSON"},
        {"", "JSON"},
        {"[]", "object"},
        {"{\"question\": \"\xff\"}", "JSON"},
        {changed("/question", removed), "'question'"},
        {changed("/question", ""), "'question' is empty"},
        {changed("/question", 3), "'question' is not a text"},
        {changed("/answers", removed), "'answers'"},
        {changed("/answers", json::array()), "'answers' is empty"},
        {changed("/answers", "yes"), "'answers' is not an array"},
        {changed("/answers/0", ""), "'answers[0]' is empty"},
        {changed("/answers/0", nullptr), "'answers[0]' is not a text"},
        {changed("/ctxs", removed), "'ctxs'"},
        {changed("/ctxs", json::array()), "'isgold'"},
        {changed("/ctxs/1", 5), "'ctxs[1]' is not an object"},
        {changed("/ctxs/1/isgold", removed), "'ctxs[1]': lacks the field 'isgold'"},
        {changed("/ctxs/1/isgold", "true"), "'ctxs[1]': 'isgold' is neither"},
        {changed("/ctxs/1/isgold", false), "none of 'ctxs' has 'isgold'"},
        {changed("/ctxs/2/isgold", true), "'ctxs[1]' and 'ctxs[2]' both"},
        {changed("/ctxs/0/title", removed), "'ctxs[0]': lacks the field 'title'"},
        {changed("/ctxs/0/text", json::object()), "'ctxs[0]': 'text' is not a text"},
        {changed("/ctxs/0", removed), "2 documents, line 1 has 3"},
        {std::string(1'000'000, '['), "JSON"},
    };
    for (const auto& [line, part] : cases) {
        const Error error = errorOfLines("mdqa", goodRecord().dump() + "\n" + line + "\n");
        EXPECT_EQ(error.code, ErrorCode::BadInput) << line.substr(0, 200);
        EXPECT_THAT(error.message, HasSubstr("bad.jsonl', line 2:"));
        EXPECT_THAT(error.message, HasSubstr(part));
    }
}

TEST(Mdqa, RefusesMoreDocumentsThanTheFileHas) {
    const Error error = errorOfLines("mdqa", goodRecord().dump(), 4);
    EXPECT_EQ(error.code, ErrorCode::Usage);
    EXPECT_THAT(error.message, HasSubstr("3 documents"));
    EXPECT_THAT(error.message, HasSubstr("4"));
    EXPECT_EQ(errorOfLines("mdqa", goodRecord().dump(), 0).code, ErrorCode::Usage);
}

TEST(Mdqa, GivesNothingOfADamagedOrEmptyFile) {
    for (const std::string task : {"mdqa", "mdqa-random"}) {
        EXPECT_EQ(errorOfLines(task, "").code, ErrorCode::BadInput);
        const std::string whole = gzipText(linesOf(goldenPrompts().at("mdqa").at("lines")));
        EXPECT_THAT(errorOfLines(task, whole.substr(0, whole.size() - 5)).message, HasSubstr("incomplete"));
        const std::string plain = goodRecord().dump();
        EXPECT_EQ(errorOfLines(task, plain.substr(0, plain.size() - 3)).code, ErrorCode::BadInput);
    }
}

TEST(MdqaRandom, DrawsTheGoldenDocuments) {
    const json golden = goldenPrompts().at("mdqa_random");
    const TempFolder folder;
    const auto path = folder.write("oracle.jsonl", linesOf(golden.at("lines")));
    for (const json& expected : golden.at("prompts")) {
        BenchmarkSpec spec = specFor("mdqa-random", path);
        spec.docs = expected.at("docs").get<int>();
        spec.seed = expected.at("seed");
        const auto benchmark = openBenchmark(spec);
        ASSERT_TRUE(benchmark) << benchmark.error().text();
        const TaskPrompt prompt = (*benchmark)->prompt(expected.at("item"), expected.at("gold_index")).value();
        EXPECT_EQ(prompt.text, expected.at("prompt").get<std::string>());
        EXPECT_EQ(prompt.answer, expected.at("answer").get<std::string>());
    }
}

TEST(MdqaRandom, DependsOnSeedAndItemAlone) {
    const TempFolder folder;
    BenchmarkSpec spec =
        specFor("mdqa-random", folder.write("o.jsonl", linesOf(goldenPrompts()["mdqa_random"]["lines"])));
    spec.docs = 6;
    const auto all = openBenchmark(spec).value();
    spec.limit = 3;
    const auto few = openBenchmark(spec).value();
    spec.seed = 2;
    const auto other = openBenchmark(spec).value();
    EXPECT_EQ(all->size(), 30);
    EXPECT_EQ(few->size(), 3);
    EXPECT_EQ(few->id(2), all->id(2));
    EXPECT_EQ(few->prompt(2, 1)->text, all->prompt(2, 1)->text);
    EXPECT_NE(few->prompt(2, 1)->text, other->prompt(2, 1)->text);
    EXPECT_NE(few->info().hash, all->info().hash);
    EXPECT_NE(few->info().hash, other->info().hash);
    EXPECT_EQ(few->info().templateHash, all->info().templateHash);
    EXPECT_EQ(all->info().name, "MDQA-random 6 documents of o, seed 1");
    EXPECT_EQ(openBenchmark(specFor("mdqa-random", spec.data)).value()->places(0), 20);
    testing::expectSoundItems(*all);
}

TEST(MdqaRandom, SaysWhenTheFileHasTooFewPassages) {
    const std::string lines = linesOf(goldenPrompts()["mdqa_random"]["lines"]);
    const Error error = errorOfLines("mdqa-random", lines, 28);
    EXPECT_EQ(error.code, ErrorCode::Usage);
    EXPECT_THAT(error.message, HasSubstr("28 documents need 27"));
    EXPECT_EQ(errorOfLines("mdqa-random", lines, 1).code, ErrorCode::Usage);
    EXPECT_EQ(errorOfLines("mdqa-random", lines, 1'000'000'000).code, ErrorCode::Usage);
}

TEST(MdqaRandom, ReadsTheOfficialOracleFile) {
    const auto path = testing::sharedData("lost-in-the-middle/nq-open-oracle.jsonl.gz");
    if (!path)
        GTEST_SKIP() << "LPES_SHARED_DATA does not name a folder with lost-in-the-middle/nq-open-oracle.jsonl.gz";
    const auto oracle = openBenchmark(specFor("mdqa", *path));
    ASSERT_TRUE(oracle) << oracle.error().text();
    EXPECT_EQ((*oracle)->size(), 2655);
    EXPECT_FALSE((*oracle)->info().movable);
    EXPECT_EQ((*oracle)->prompt(0, 0)->references, std::vector<std::string>{"Wilhelm Conrad Röntgen"});

    const auto benchmark = openBenchmark(specFor("mdqa-random", *path));
    ASSERT_TRUE(benchmark) << benchmark.error().text();
    EXPECT_EQ((*benchmark)->size(), 2655);
    for (std::int64_t i = 0; i < 2655; i += 50) {
        const TaskPrompt prompt = (*benchmark)->prompt(i, 7).value();
        ASSERT_EQ(prompt.records.size(), 20u);
        std::set<std::string> texts;
        for (std::size_t d = 0; d < prompt.records.size(); ++d) {
            std::string text = textOf(prompt, prompt.records[d]);
            EXPECT_TRUE(texts.insert(text.substr(text.find(')'))).second);
        }
    }
}

}  // namespace
}  // namespace lpes::tasks
