#include <gmock/gmock.h>

#include "tests/core/tasks/golden_prompts.h"
#include "tests/core/tasks/gzip_text.h"

namespace lpes::tasks {
namespace {

using nlohmann::json;
using test::examPrompts;
using test::TempFolder;
using ::testing::HasSubstr;

BenchmarkSpec specOf(const std::string& task, const std::filesystem::path& data) {
    BenchmarkSpec spec;
    spec.task = task;
    spec.data = data;
    return spec;
}

/// A record whose indices are right; every part can be changed.
json record(const std::string& id = "a") {
    return {{"id", id},
            {"input", "Instruçtion.\n\nText:\ndocümént\n\nQuestion:\nwhat?\n\nAnswer:\n"},
            {"output", "this"},
            {"document_start_index", 20},
            {"document_end_index", 28},
            {"query_start_index", 30},
            {"query_end_index", 45},
            {"truncation_seperator", "...\n\n"}};
}

Error errorOf(const std::vector<json>& records, const std::string& task = "zeroscrolls:qasper") {
    const TempFolder folder;
    const auto opened = openZeroScrolls(specOf(task, folder.write("bad.jsonl", test::jsonLines(records))));
    EXPECT_FALSE(opened) << test::jsonLines(records);
    return opened ? Error{} : opened.error();
}

TEST(ZeroScrolls, MakesTheOfficialPromptsOfAllTasks) {
    ASSERT_EQ(examPrompts().at("zero_scrolls").size(), 10u);
    for (const json& family : examPrompts().at("zero_scrolls")) {
        const TempFolder folder;
        const auto opened = openZeroScrolls(
            specOf(family.at("task"),
                   folder.write("validation.jsonl", test::jsonLines(family.at("lines").get<std::vector<json>>()))));
        ASSERT_TRUE(opened) << opened.error().text();
        ASSERT_EQ((*opened)->size(), 2);
        for (const json& expected : family.at("cases")) test::expectGoldenPrompt(**opened, expected);

        const std::map<std::string, Metric> metrics{{"rouge", Metric::RougeGeometric},
                                                    {"f1", Metric::F1},
                                                    {"letter", Metric::ChoiceLetter},
                                                    {"similarity", Metric::ExpSimilarity},
                                                    {"concordance", Metric::Concordance}};
        const auto prompt = (*opened)->prompt(0, 0).value();
        EXPECT_EQ(prompt.rule.metric, metrics.at(family.at("metric")));
        EXPECT_EQ(prompt.rule.maxNewTokens, family.at("tokens").get<int>());
        EXPECT_EQ(prompt.rule.binary, family.at("metric") == "letter");
        EXPECT_EQ((*opened)->info().defaultScore.kind, ScoreKind::Kind::Generate);
        EXPECT_FALSE((*opened)->info().movable);
    }
}

TEST(ZeroScrolls, KnowsWhereThePartsStand) {
    const TempFolder folder;
    const auto opened =
        openZeroScrolls(specOf("zeroscrolls:qasper", folder.write("a.jsonl", test::jsonLines({record()})))).value();
    const auto plain = opened->prompt(0, 0).value();
    EXPECT_EQ(test::partOf(plain, plain.records.at(0)), "docümént");
    EXPECT_EQ(test::partOf(plain, plain.evidence.at(0)), "docümént");
    EXPECT_EQ(test::partOf(plain, plain.instruction), "Instruçtion.\n\nText:\n");
    EXPECT_EQ(test::partOf(plain, plain.question), "Question:\nwhat?\n\nAnswer:\n");

    PromptOptions options = test::fitting(100);
    options.chat = true;
    const auto cut = opened->prompt(0, 0, options).value();
    EXPECT_EQ(cut.text,
              "Instruçtion. Do not provide any explanation.\n\nText:\ndocümént"
              "\n\nQuestion:\nwhat?");
    options = test::fitting(54);
    const auto shorter = opened->prompt(0, 0, options).value();
    EXPECT_EQ(shorter.text, "Instruçtion.\n\nText:\ndoc...\n\nQuestion:\nwhat?\n\nAnswer:\n");
    EXPECT_EQ(test::partOf(shorter, shorter.records.at(0)), "doc");
    EXPECT_EQ(test::partOf(shorter, shorter.question), "Question:\nwhat?\n\nAnswer:\n");
}

TEST(ZeroScrolls, CutsOnlyWhereItIsAskedTo) {
    const TempFolder folder;
    const auto opened =
        openZeroScrolls(specOf("zeroscrolls:qasper", folder.write("a.jsonl", test::jsonLines({record()})))).value();
    PromptOptions options = test::fitting(54);
    options.officialTruncation = false;
    EXPECT_EQ(opened->prompt(0, 0, options).value().text, record().at("input").get<std::string>());
}

TEST(ZeroScrolls, FindsItsFileInAFolder) {
    for (const char* name : {"qasper.jsonl", "qasper/validation.jsonl", "qasper/test.jsonl.gz"}) {
        const TempFolder folder;
        std::filesystem::create_directory(folder.path() / "qasper");
        folder.write(name, test::gzipText(test::jsonLines({record()})));
        const auto opened = openZeroScrolls(specOf("zeroscrolls:qasper", folder.path()));
        ASSERT_TRUE(opened) << name << opened.error().text();
        EXPECT_EQ((*opened)->id(0), "qasper/a");
        EXPECT_TRUE((*opened)->info().name.starts_with("qasper"));
    }
    const TempFolder empty;
    const auto error = openZeroScrolls(specOf("zeroscrolls:qasper", empty.path())).error();
    EXPECT_EQ(error.code, ErrorCode::BadInput);
    EXPECT_THAT(error.message, HasSubstr("qasper/validation.jsonl"));
}

TEST(ZeroScrolls, HashesItemsWhateverTheFileIsLike) {
    const TempFolder folder;
    const auto hashOf = [&](const std::string& text, std::optional<std::int64_t> limit = std::nullopt) {
        auto spec = specOf("zeroscrolls:qasper", folder.write("a.jsonl", text));
        spec.limit = limit;
        return openZeroScrolls(spec).value()->info().hash;
    };
    const std::vector<json> two{record("a"), record("b")};
    const std::string base = hashOf(test::jsonLines(two));
    EXPECT_EQ(hashOf(test::gzipText(test::jsonLines(two))), base);
    EXPECT_EQ(hashOf(test::jsonLines({record("a"), record("b"), record("c")}), 2), base);
    EXPECT_NE(hashOf(test::jsonLines({record("a")})), base);
    json other = record("b");
    other["output"] = "that";
    EXPECT_NE(hashOf(test::jsonLines({record("a"), other})), base);
    other = record("b");
    other["document_end_index"] = 27;
    EXPECT_NE(hashOf(test::jsonLines({record("a"), other})), base);
}

TEST(ZeroScrolls, GathersTheReferencesOfOneIdAlsoBeyondTheLimit) {
    json again = record("a");
    again["output"] = "that";
    const TempFolder folder;
    auto spec =
        specOf("zeroscrolls:qasper", folder.write("a.jsonl", test::jsonLines({record("a"), record("b"), again})));
    spec.limit = 1;
    const auto opened = openZeroScrolls(spec).value();
    EXPECT_EQ(opened->size(), 1);
    EXPECT_EQ(opened->prompt(0, 0).value().references, (std::vector<std::string>{"this", "that"}));
    again["input"] = record().at("input").get<std::string>() + "more";
    EXPECT_THAT(errorOf({record("a"), again}).message, HasSubstr("line 2: 'id' is 'a', which an earlier line has"));
}

TEST(ZeroScrolls, RefusesItemsWithoutReferenceUnlessOnlyPromptsAreWanted) {
    for (const json& nothing : {json(nullptr), json(""), json(" \n")}) {
        json hidden = record("b");
        hidden["output"] = nothing;
        const Error error = errorOf({record("a"), hidden});
        EXPECT_EQ(error.code, ErrorCode::BadInput);
        EXPECT_THAT(error.message, HasSubstr("line 2: item 'qasper/b' has no reference"));
        EXPECT_THAT(error.message, HasSubstr("private"));
        const TempFolder folder;
        auto spec = specOf("zeroscrolls:qasper", folder.write("a.jsonl", test::jsonLines({record("a"), hidden})));
        spec.promptsOnly = true;
        const auto prompt = openZeroScrolls(spec).value()->prompt(1, 0).value();
        EXPECT_TRUE(prompt.references.empty());
        EXPECT_EQ(prompt.answer, "");
        EXPECT_EQ(prompt.text, hidden.at("input").get<std::string>());
    }
}

TEST(ZeroScrolls, TakesARecordWithoutTheStartOfItsDocument) {
    json one = record();
    one.erase("document_start_index");
    const TempFolder folder;
    const auto opened =
        openZeroScrolls(specOf("zeroscrolls:qasper", folder.write("a.jsonl", test::jsonLines({one})))).value();
    const auto prompt = opened->prompt(0, 0).value();
    EXPECT_EQ(test::partOf(prompt, prompt.records.at(0)), "Text:\ndocümént");
}

TEST(ZeroScrolls, NamesFileLineAndFieldOfWhatIsWrong) {
    const auto changed = [](const char* field, const json& value) {
        json bad = record("b");
        bad[field] = value;
        return bad;
    };
    json lacking = record("b");
    lacking.erase("truncation_seperator");
    const std::vector<std::pair<json, std::string>> wrong{
        {json::array(), "is not a JSON object"},
        {lacking, "'truncation_seperator'"},
        {changed("id", 7), "'id' is not a text"},
        {changed("id", ""), "'id' is empty"},
        {changed("input", nullptr), "'input' is not a text"},
        {changed("output", 3), "'output' is not a text"},
        {changed("input", "no blank line"), "no blank line behind its instruction"},
        // The input has 55 characters and 58 bytes: an index counts characters.
        {changed("query_end_index", 57), "'query_end_index' is 57, but 'input' has 55 characters"},
        {changed("query_end_index", 1000), "'query_end_index' is 1000"},
        {changed("document_end_index", -1), "'document_end_index' is -1"},
        {changed("document_end_index", 19), "'document_end_index' lies ahead"},
        {changed("query_start_index", 27), "'query_start_index' lies ahead"},
        {changed("query_end_index", 29), "'query_end_index' lies ahead"},
        {changed("query_end_index", 29.5), "'query_end_index' is not a whole number"},
        {changed("query_end_index", 18446744073709551615u), "'query_end_index' is not a whole number"}};
    for (const auto& [bad, part] : wrong) {
        const Error error = errorOf({record("a"), bad});
        EXPECT_EQ(error.code, ErrorCode::BadInput) << bad.dump();
        EXPECT_THAT(error.message, HasSubstr("bad.jsonl', line 2:"));
        EXPECT_THAT(error.message, HasSubstr(part));
    }
}

TEST(ZeroScrolls, RefusesDamagedFilesAndWrongOptions) {
    const TempFolder folder;
    const std::string whole = test::gzipText(test::jsonLines({record("a"), record("b")}));
    const auto open = [&](const std::string& bytes) {
        return openZeroScrolls(specOf("zeroscrolls:qasper", folder.write("a.jsonl.gz", bytes)));
    };
    EXPECT_THAT(open(whole.substr(0, whole.size() - 5)).error().message, HasSubstr("incomplete"));
    EXPECT_THAT(open("{\"id\"").error().message, HasSubstr("line 1: is not valid JSON"));
    EXPECT_THAT(open("").error().message, HasSubstr("is empty"));

    BenchmarkSpec spec = specOf("zeroscrolls:nothing", folder.path());
    EXPECT_EQ(openZeroScrolls(spec).error().code, ErrorCode::Usage);
    EXPECT_THAT(openZeroScrolls(spec).error().message, HasSubstr("space_digest"));
    spec.task = "zeroscrolls:qasper";
    spec.shots = 5;
    EXPECT_THAT(openZeroScrolls(spec).error().message, HasSubstr("no option 'shots'"));
    spec.shots.reset();
    spec.limit = 0;
    EXPECT_EQ(openZeroScrolls(spec).error().code, ErrorCode::Usage);
    spec.limit.reset();
    spec.data.reset();
    EXPECT_THAT(openZeroScrolls(spec).error().message, HasSubstr("--data"));
}

}  // namespace
}  // namespace lpes::tasks
