#include "core/tasks/l_eval.h"

#include <gmock/gmock.h>

#include "tests/core/tasks/golden_prompts.h"
#include "tests/core/tasks/gzip_text.h"

namespace lpes::tasks {
namespace {

using nlohmann::json;
using test::examPrompts;
using test::TempFolder;
using ::testing::HasSubstr;

json record(const char* evaluation = "exam", std::vector<std::string> outputs = {"A", "(B) bee"}) {
    return {{"instructions", std::vector<std::string>(outputs.size(), "Which?")},
            {"outputs", std::move(outputs)},
            {"input", "A dócument."},
            {"source", "x"},
            {"evaluation", evaluation}};
}

Result<std::shared_ptr<const Benchmark>> open(const std::string& task, const std::string& text,
                                              std::optional<std::int64_t> limit = std::nullopt) {
    const TempFolder folder;
    BenchmarkSpec spec;
    spec.task = task;
    spec.data = folder.write("data.jsonl", text);
    spec.limit = limit;
    return openLEval(spec);
}

Error errorOf(const std::vector<json>& records, const std::string& task = "leval:quality") {
    const auto opened = open(task, test::jsonLines(records));
    EXPECT_FALSE(opened) << test::jsonLines(records);
    return opened ? Error{} : opened.error();
}

TEST(LEval, MakesTheOfficialPromptsOfAllTasks) {
    ASSERT_EQ(examPrompts().at("leval").size(), 20u);
    for (const json& family : examPrompts().at("leval")) {
        const auto opened = open(family.at("task"), test::jsonLines(family.at("lines").get<std::vector<json>>()));
        ASSERT_TRUE(opened) << opened.error().text();
        EXPECT_EQ((*opened)->size(), family.at("size").get<std::int64_t>());
        for (const json& expected : family.at("cases")) test::expectGoldenPrompt(**opened, expected);
        // Exams take an answer apart as the task's own script does.
        const std::map<std::string, Metric> exams{
            {"coursera", Metric::ExamSomeLetters}, {"gsm100", Metric::ExamMath}, {"quality", Metric::ExamOneLetter},
            {"tpo", Metric::ExamOneLetter},        {"codeU", Metric::ExamCode},  {"sci_fi", Metric::ExamJudgement}};
        const std::map<std::string, Metric> texts{{"f1", Metric::F1LEval}, {"rouge", Metric::RougeGeometricRaw}};
        const auto prompt = (*opened)->prompt(0, 0).value();
        const std::string task = family.at("task").get<std::string>().substr(std::string("leval:").size());
        const auto text = texts.find(family.at("metric"));
        const auto exam = exams.find(task);
        EXPECT_EQ(prompt.rule.metric, text != texts.end()   ? text->second
                                      : exam != exams.end() ? exam->second
                                                            : Metric::ExamLEval)
            << task;
        EXPECT_EQ(prompt.rule.maxNewTokens, family.at("tokens").get<int>());
        EXPECT_EQ((*opened)->info().defaultScore.kind, ScoreKind::Kind::Generate);
        EXPECT_THAT((*opened)->info().templateText, HasSubstr("{document}"));
    }
}

TEST(LEval, KnowsWhereThePartsStand) {
    const auto prompt = open("leval:quality", test::jsonLines({record()})).value()->prompt(1, 0).value();
    EXPECT_EQ(test::partOf(prompt, prompt.instruction), "Document is as follows. ");
    EXPECT_EQ(test::partOf(prompt, prompt.records.at(0)), "A dócument.");
    EXPECT_EQ(test::partOf(prompt, prompt.question), " \nQuestion: Which? \nAnswer:");
    EXPECT_EQ(prompt.answer, " B");
}

TEST(LEval, AsksSciFiTwice) {
    const auto opened = open("leval:sci_fi", test::jsonLines({record("exam", {"True [fact: False]"})})).value();
    ASSERT_EQ(opened->size(), 2);
    EXPECT_EQ(opened->id(0), "sci_fi/0/0");
    EXPECT_EQ(opened->id(1), "sci_fi/0/0/fact");
    EXPECT_EQ(opened->prompt(0, 0).value().references.at(0), "true");
    const auto fact = opened->prompt(1, 0).value();
    EXPECT_EQ(fact.references.at(0), "false");
    EXPECT_EQ(fact.text, "Which?\nAnswer:");
    EXPECT_TRUE(fact.system.empty());
    EXPECT_TRUE(fact.records.empty());
    // The older release has the first answer alone.
    EXPECT_EQ(open("leval:sci_fi", test::jsonLines({record("exam", {"True", "False"})})).value()->size(), 2);
}

TEST(LEval, LeavesJudgedRecordsOutUnlessThereAreNoOthers) {
    const std::vector<json> both{record("LLM", {"x"}), record("f1", {"y", "z"}), record("human", {"x"})};
    const auto mixed = open("leval:scientific_qa", test::jsonLines(both)).value();
    EXPECT_EQ(mixed->size(), 2);
    EXPECT_EQ(mixed->id(0), "scientific_qa/1/0");
    const auto judged = open("leval:scientific_qa", test::jsonLines({both[0], both[2]})).value();
    EXPECT_EQ(judged->size(), 2);
    EXPECT_EQ(judged->prompt(1, 0).value().rule.metric, Metric::F1LEval);
}

TEST(LEval, HashesItemsWhateverTheFileIsLike) {
    const std::vector<json> two{record(), record()};
    const auto base = open("leval:quality", test::jsonLines(two)).value();
    EXPECT_EQ(open("leval:quality", test::gzipText(test::jsonLines(two))).value()->info().hash, base->info().hash);
    const auto limited = open("leval:quality", test::jsonLines(two) + test::jsonLines(two) + "not JSON\n", 4).value();
    EXPECT_EQ(limited->info().hash, base->info().hash);
    EXPECT_EQ(open("leval:quality", test::jsonLines(two), 3).value()->size(), 3);
    EXPECT_NE(open("leval:quality", test::jsonLines(two), 3).value()->info().hash, base->info().hash);
    EXPECT_NE(open("leval:tpo", test::jsonLines(two)).value()->info().hash, base->info().hash);
}

TEST(LEval, FindsItsFileInAFolder) {
    const TempFolder folder;
    std::filesystem::create_directory(folder.path() / "Closed-ended-tasks");
    folder.write("Closed-ended-tasks/quality.jsonl", test::jsonLines({record()}));
    BenchmarkSpec spec;
    spec.task = "leval:quality";
    spec.data = folder.path();
    EXPECT_EQ(openLEval(spec).value()->info().name, "quality");
    spec.task = "leval:tpo";
    EXPECT_THAT(openLEval(spec).error().message, HasSubstr("looked for tpo.jsonl"));
}

// The sources of the official files, as far as they were seen.
TEST(LEval, RefusesTheRecordsOfAnotherTaskByTheirSource) {
    const std::vector<std::pair<std::string, std::string>> sources{{"coursera_a", "coursera"},
                                                                   {"quality_raw", "quality"},
                                                                   {"toefl_tpo", "tpo"},
                                                                   {"topic_retrieval", "topic_retrieval_longchat"},
                                                                   {"SFGram-dataset", "sci_fi"},
                                                                   {"financial", "financial_qa"},
                                                                   {"wiki", "natural_question"},
                                                                   {"paper_review", "paper_assistant"},
                                                                   {"meeting_summ", "meeting_summ"}};
    for (const auto& [source, task] : sources) {
        const bool closed = lEvalTask(task)->layout != LEvalTask::Layout::Instruction;
        json of = task == "sci_fi" ? record("exam", {"True"}) : record(closed ? "exam" : "f1");
        of["source"] = source;
        const auto opened = open("leval:" + task, test::jsonLines({of}));
        EXPECT_TRUE(opened) << opened.error().text();
        const Error error = errorOf({of}, task == "quality" ? "leval:tpo" : "leval:quality");
        EXPECT_EQ(error.code, ErrorCode::BadInput);
        EXPECT_THAT(error.message, HasSubstr("data.jsonl', line 1:"));
        EXPECT_THAT(error.message, HasSubstr("'source' is '" + source + "', which is a record of leval:" + task));
    }
}

TEST(LEval, TakesARecordWhoseSourceDoesNotTell) {
    json untold = record();
    for (const json& source : {json("my own"), json(""), json(7), json(nullptr)}) {
        untold["source"] = source;
        EXPECT_TRUE(open("leval:quality", test::jsonLines({untold}))) << source;
    }
    untold.erase("source");
    EXPECT_TRUE(open("leval:quality", test::jsonLines({untold})));
}

TEST(LEval, NamesFileLineAndFieldOfWhatIsWrong) {
    const auto changed = [](const char* field, const json& value) {
        json bad = record();
        bad[field] = value;
        return bad;
    };
    const std::vector<std::pair<json, std::string>> wrong{
        {json(3), "is not a JSON object"},
        {changed("outputs", {"A"}), "'outputs' has 1 entries, 'instructions' has 2"},
        {changed("outputs", {"A", 2}), "'outputs[1]' is not a text"},
        {changed("outputs", {"A", ""}), "'outputs[1]' is empty"},
        {changed("outputs", {"A", "(E) no"}), "'outputs[1]' is '(E) no', which names none of the choices"},
        {changed("outputs", "A"), "'outputs' is not an array"},
        {changed("input", nullptr), "'input' is not a text"},
        {changed("evaluation", "f1"), "'evaluation' is 'f1'; 'quality' takes exam"}};
    for (const auto& [bad, part] : wrong) {
        const Error error = errorOf({record(), bad});
        EXPECT_EQ(error.code, ErrorCode::BadInput) << bad.dump();
        EXPECT_THAT(error.message, HasSubstr("data.jsonl', line 2:"));
        EXPECT_THAT(error.message, HasSubstr(part));
    }
    EXPECT_THAT(errorOf({record("exam", {})}).message, HasSubstr("'instructions' is empty"));
    EXPECT_THAT(errorOf({record("BLEU", {"x"})}, "leval:news_summ").message,
                HasSubstr("takes f1, rouge, LLM or human"));
    for (const char* output : {"maybe", "True [fact: False", "True [fact: perhaps]"}) {
        EXPECT_THAT(errorOf({record("exam", {output})}, "leval:sci_fi").message, HasSubstr("outputs[0]")) << output;
    }
    EXPECT_THAT(errorOf({record("exam", {"True", "True [fact: True]"})}, "leval:sci_fi").message,
                HasSubstr("'outputs[1]' has a fact, unlike"));
    EXPECT_THAT(open("leval:quality", "").error().message, HasSubstr("is empty"));
    EXPECT_EQ(open("leval:qualities", "").error().code, ErrorCode::Usage);
}

}  // namespace
}  // namespace lpes::tasks
