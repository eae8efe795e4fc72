#include <gmock/gmock.h>

#include "tests/core/tasks/archive_bytes.h"
#include "tests/core/tasks/golden_prompts.h"

namespace lpes::tasks {
namespace {

using nlohmann::json;
using test::archiveBytes;
using test::examPrompts;
using test::TempFolder;
using ::testing::HasSubstr;

const std::filesystem::path kExcerpt = LPES_TEST_DATA "/data/mmlu";
using Files = std::vector<std::pair<std::string, std::string>>;

BenchmarkSpec specOf(const std::string& task, const std::filesystem::path& data,
                     std::optional<int> shots = std::nullopt) {
    BenchmarkSpec spec;
    spec.task = task;
    spec.data = data;
    spec.shots = shots;
    return spec;
}

Files filesOf(const json& object) {
    Files files;
    for (const auto& [name, text] : object.items()) files.emplace_back(name, text.get<std::string>());
    // The order of an archive must not matter.
    std::reverse(files.begin(), files.end());
    return files;
}

void expectGolden(const std::string& task, const std::filesystem::path& data, const json& cases) {
    std::map<int, std::shared_ptr<const Benchmark>> opened;
    for (const json& expected : cases) {
        const int shots = expected.at("shots");
        if (!opened.contains(shots)) {
            const auto made =
                task == "mmlu" ? openMmlu(specOf(task, data, shots)) : openCEval(specOf(task, data, shots));
            ASSERT_TRUE(made) << made.error().text();
            opened[shots] = *made;
        }
        test::expectGoldenPrompt(*opened[shots], expected);
    }
}

TEST(Mmlu, MakesTheOfficialPromptsFromBothSpellings) {
    const json& golden = examPrompts().at("mmlu");
    expectGolden("mmlu", kExcerpt, golden.at("cases"));
    const TempFolder folder;
    const auto original =
        folder.write("data.tar", archiveBytes(filesOf(golden.at("original")), test::ArchiveKind::Tar));
    expectGolden("mmlu", original, golden.at("cases"));
    EXPECT_EQ(openMmlu(specOf("mmlu", original)).value()->info().hash,
              openMmlu(specOf("mmlu", kExcerpt)).value()->info().hash);
}

TEST(Mmlu, DescribesItsItems) {
    const auto exam = openMmlu(specOf("mmlu", kExcerpt)).value();
    EXPECT_EQ(exam->size(), 7);
    EXPECT_EQ(exam->info().name, "mmlu-test");
    EXPECT_EQ(exam->info().defaultScore.kind, ScoreKind::Kind::Choice);
    EXPECT_FALSE(exam->info().movable);
    EXPECT_EQ(
        exam->info().templateText,
        "The following are multiple choice questions (with answers) about  {subject}.\n\n"
        "{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer: X\n\n{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer:");
    const auto prompt = exam->prompt(1, 0).value();
    EXPECT_EQ(prompt.choices, (std::vector<std::string>{" A", " B", " C", " D"}));
    EXPECT_EQ(prompt.answer, " B");
    EXPECT_EQ(prompt.rule.metric, Metric::Likeliest);
    ASSERT_EQ(prompt.records.size(), 5u);
    EXPECT_TRUE(test::partOf(prompt, prompt.records[4]).ends_with("\nAnswer: B\n\n"));
    EXPECT_TRUE(test::partOf(prompt, prompt.question).starts_with("A \"dished face\" profile"));
    EXPECT_EQ(prompt.instruction.end, prompt.records[0].begin);
}

TEST(Mmlu, TakesChosenSubjectsAndALimit) {
    auto spec = specOf("mmlu", kExcerpt);
    spec.subjects = "formal_logic";
    const auto logic = openMmlu(spec).value();
    EXPECT_EQ(logic->size(), 3);
    EXPECT_EQ(logic->id(0), "formal_logic/0");
    spec.subjects = "formal_logic,anatomy";
    const std::string both = openMmlu(spec).value()->info().hash;
    spec.subjects.reset();
    EXPECT_EQ(openMmlu(spec).value()->info().hash, both);
    spec.limit = 5;
    EXPECT_EQ(openMmlu(spec).value()->size(), 5);
    EXPECT_EQ(openMmlu(spec).value()->id(3), "formal_logic/0") << "the subjects take turns";
    EXPECT_NE(openMmlu(spec).value()->info().hash, both);
    spec.shots = 4;
    const std::string fewer = openMmlu(spec).value()->info().hash;
    spec.shots = 5;
    EXPECT_NE(openMmlu(spec).value()->info().hash, fewer);

    for (const auto& [list, part] : std::map<std::string, std::string>{{"anatomy,anatomy", "named twice"},
                                                                       {"astronomy", "use anatomy, formal_logic"},
                                                                       {"anatomy,", "subject '' is not there"},
                                                                       {"", "subject '' is not there"}}) {
        spec.subjects = list;
        const auto error = openMmlu(spec).error();
        EXPECT_EQ(error.code, ErrorCode::Usage);
        EXPECT_THAT(error.message, HasSubstr(part));
    }
}

TEST(Mmlu, TakesValWhereThereIsNoTest) {
    const TempFolder folder;
    const auto data = folder.write("a.tar.gz", archiveBytes({{"val/x_y_val.csv", "q,1,2,3,4,D\n"}}));
    const auto exam = openMmlu(specOf("mmlu", data, 0)).value();
    EXPECT_EQ(exam->info().name, "mmlu-val");
    EXPECT_EQ(
        exam->prompt(0, 0).value().text,
        "The following are multiple choice questions (with answers) about  x y.\n\nq\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:");
}

TEST(Mmlu, NamesWhatIsWrong) {
    const std::string good = "q,1,2,3,4,A\n", header = "question,choice0,choice1,choice2,choice3,answer\n";
    const auto errorOf = [](const Files& files, std::optional<int> shots) {
        const TempFolder folder;
        const auto opened = openMmlu(specOf("mmlu", folder.write("a.tar.gz", archiveBytes(files)), shots));
        EXPECT_FALSE(opened);
        return opened ? Error{} : opened.error();
    };
    for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
             {good + "q,1,2,3,A\n", "line 2: the row has 5 columns"},
             {good + "q,1,2,3,4,5,A\n", "line 2: the row has 7 columns"},
             {good + "\"two\nlines\",1,2,3,4,A\nq,1,2,3,4,E\n", "line 4: the answer is 'E'; A to D"},
             {good + "q,1,2,3,4,0\n", "the answer is '0'; A to D"},
             {header + "q,1,2,3,4,4\n", "line 2: the answer is '4'; 0 to 3"},
             {header + "q,1,2,3,4,A\n", "the answer is 'A'; 0 to 3"},
             {header + "q,1,2,3,4,-1\n", "the answer is '-1'"},
             {header, "has no questions"},
             {"", "has no questions"},
             {good + "\"q,1,2,3,4,A\n", "line 2: a quoted field has no end"}}) {
        const Error error = errorOf({{"dev/x_dev.csv", good}, {"test/x_test.csv", text}}, 1);
        EXPECT_EQ(error.code, ErrorCode::BadInput);
        EXPECT_THAT(error.message, HasSubstr("test/x_test.csv"));
        EXPECT_THAT(error.message, HasSubstr(part));
    }
    EXPECT_THAT(errorOf({{"test/x_test.csv", good}}, 1).message, HasSubstr("lacks 'dev/x_dev.csv'"));
    EXPECT_THAT(errorOf({{"test/x_test.csv", good}, {"b/test/x_test.csv", good}}, 0).message, HasSubstr("twice"));
    const Error few = errorOf({{"dev/x_dev.csv", good}, {"test/x_test.csv", good}}, 2);
    EXPECT_EQ(few.code, ErrorCode::Usage);
    EXPECT_THAT(few.message, HasSubstr("2 shots are asked for"));
    EXPECT_THAT(errorOf({{"dev/x_dev.csv", good}}, 0).message, HasSubstr("looked for test, val"));
    EXPECT_EQ(openMmlu(specOf("mmlu", kExcerpt, -1)).error().code, ErrorCode::Usage);
    BenchmarkSpec noData;
    noData.task = "mmlu";
    EXPECT_THAT(openMmlu(noData).error().message, HasSubstr("--data"));
}

TEST(CEval, MakesTheOfficialPrompts) {
    const json& golden = examPrompts().at("ceval");
    const TempFolder folder;
    const auto data = folder.write("c.tar.gz", archiveBytes(filesOf(golden.at("files"))));
    expectGolden("ceval", data, golden.at("cases"));
    const auto exam = openCEval(specOf("ceval", data)).value();
    EXPECT_EQ(exam->info().name, "ceval-val");
    EXPECT_THAT(exam->info().templateText, HasSubstr("关于{subject}考试"));
    EXPECT_EQ(exam->prompt(0, 0).value().choices, (std::vector<std::string>{"A", "B", "C", "D"}));
}

TEST(CEval, NamesWhatIsWrong) {
    const std::string header = "id,question,A,B,C,D,answer\n";
    const auto errorOf = [](const std::string& name, const std::string& text) {
        const TempFolder folder;
        const auto opened = openCEval(specOf("ceval", folder.write("a.tar.gz", archiveBytes({{name, text}})), 0));
        EXPECT_FALSE(opened);
        return opened ? Error{} : opened.error();
    };
    EXPECT_THAT(errorOf("val/law_val.csv", "0,q,1,2,3,4,A\n").message, HasSubstr("line 1: the header is not"));
    EXPECT_THAT(errorOf("val/law_val.csv", header + "0,q,1,2,3,4,A,because\n").message,
                HasSubstr("line 2: the row has 8 columns, the header 7"));
    EXPECT_THAT(errorOf("val/law_val.csv", header + "0,q,1,2,3,4,E\n").message, HasSubstr("the answer is 'E'"));
    EXPECT_THAT(errorOf("val/law_val.csv", header + "0,q,1,2,3,4,\n").message, HasSubstr("the answer is ''"));
    EXPECT_THAT(errorOf("val/alchemy_val.csv", header + "0,q,1,2,3,4,A\n").message,
                HasSubstr("'alchemy', which is none of C-Eval's 52 subjects"));
    EXPECT_THAT(errorOf("test/law_test.csv", header + "0,q,1,2,3,4,A\n").message, HasSubstr("looked for val"));
}

}  // namespace
}  // namespace lpes::tasks
