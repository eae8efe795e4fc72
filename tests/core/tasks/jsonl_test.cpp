#include <gmock/gmock.h>

#include <set>
#include <utility>

#include "core/base/process_memory.h"
#include "core/tasks/jsonl.h"
#include "tests/core/tasks/benchmark_check.h"
#include "tests/core/tasks/gzip_text.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using nlohmann::json;
using test::gzipText;
using test::TempFolder;
using ::testing::HasSubstr;
using testing::openingError;
using testing::specFor;
using testing::textOf;

const std::string kGood =
    R"({"documents": ["one", {"title": "T", "text": "two"}, "three"], "gold": 1, "question": "Q?", "answers": ["two", "2"]})";

std::shared_ptr<const Benchmark> opened(const std::string& text) {
    const TempFolder folder;
    const auto benchmark = openBenchmark(specFor("jsonl", folder.write("mine.jsonl", text)));
    EXPECT_TRUE(benchmark) << benchmark.error().text();
    return benchmark ? *benchmark : nullptr;
}

std::vector<JsonlFault> faultsOf(const std::string& text) {
    const TempFolder folder;
    const auto report = checkJsonl(folder.write("mine.jsonl", text));
    EXPECT_TRUE(report) << report.error().text();
    return report ? report->faults : std::vector<JsonlFault>{};
}

TEST(Jsonl, MakesThePromptOfItsReadme) {
    const auto benchmark = opened(kGood);
    const TaskPrompt prompt = benchmark->prompt(0, 2).value();
    EXPECT_EQ(prompt.text,
              "Document [1] one\n"
              "Document [2] three\n"
              "Document [3](Title: T) two\n"
              "\n"
              "Question: Q?\n"
              "Answer:");
    EXPECT_EQ(prompt.answer, " two");
    EXPECT_EQ(prompt.references, (std::vector<std::string>{"two", "2"}));
    EXPECT_EQ(textOf(prompt, prompt.evidence.at(0)), "Document [3](Title: T) two");
    EXPECT_EQ(textOf(prompt, prompt.question), "Question: Q?\nAnswer:");
    EXPECT_EQ(prompt.rule.metric, Metric::Contains);
    EXPECT_EQ(prompt.rule.maxNewTokens, 100);
    EXPECT_EQ(benchmark->id(0), "mine/0");
    EXPECT_EQ(benchmark->places(0), 3);
    EXPECT_TRUE(benchmark->info().movable);
    EXPECT_EQ(benchmark->info().defaultScore.kind, ScoreKind::Kind::Generate);
    testing::expectSoundItems(*benchmark);
}

TEST(Jsonl, KeepsSeveralGoldDocumentsTogether) {
    const auto benchmark =
        opened(R"({"documents": ["a", "b", "c", "d"], "gold": [3, 1], "question": "q", "answers": ["x"]})");
    EXPECT_EQ(benchmark->places(0), 3);
    const TaskPrompt prompt = benchmark->prompt(0, 1).value();
    EXPECT_TRUE(prompt.text.starts_with("Document [1] a\nDocument [2] b\nDocument [3] d\nDocument [4] c\n\n"))
        << prompt.text;
    ASSERT_EQ(prompt.evidence.size(), 2u);
    EXPECT_EQ(textOf(prompt, prompt.evidence[1]), "Document [3] d");
}

TEST(Jsonl, WithoutGoldNothingMoves) {
    const auto benchmark = opened(R"({"documents": ["a", "b"], "question": "q", "answers": ["x"]})");
    EXPECT_FALSE(benchmark->info().movable);
    EXPECT_EQ(benchmark->places(0), 1);
    const TaskPrompt prompt = benchmark->prompt(0, 0).value();
    EXPECT_TRUE(prompt.evidence.empty());
    EXPECT_TRUE(prompt.text.starts_with("Document [1] a\nDocument [2] b\n\nQuestion: q"));
    EXPECT_EQ(opened(R"({"question": "q", "answers": ["x"]})")->prompt(0, 0)->text, "Question: q\nAnswer:");
}

TEST(Jsonl, ShowsChoicesWithLettersAndTakesTheLikeliest) {
    const auto benchmark = opened(R"({"question": "q", "choices": ["red", "blue"], "answer": 1, "group": "colours"})");
    const TaskPrompt prompt = benchmark->prompt(0, 0).value();
    EXPECT_EQ(prompt.text, "Question: q\nA. red\nB. blue\nAnswer:");
    EXPECT_EQ(prompt.choices, (std::vector<std::string>{" A", " B"}));
    EXPECT_EQ(prompt.answer, " B");
    EXPECT_EQ(prompt.references, std::vector<std::string>{"B"});
    EXPECT_EQ(prompt.rule.metric, Metric::Likeliest);
    EXPECT_EQ(benchmark->info().defaultScore.kind, ScoreKind::Kind::Choice);
    EXPECT_EQ(benchmark->group(0), "colours");
    // Choices that the prompt does not show are themselves what is likely or not.
    const auto hidden =
        opened(R"({"question": "q", "template": "{question}", "choices": ["red", "blue"], "answer": 0})");
    EXPECT_EQ(hidden->prompt(0, 0)->choices, (std::vector<std::string>{" red", " blue"}));
    EXPECT_EQ(hidden->prompt(0, 0)->answer, " red");
}

TEST(Jsonl, FirstLineSetsTheFormOfAllOthers) {
    const auto benchmark = opened(
        R"({"lpes_task": {"template": "{{Read}}\n{documents}\n# {question}\n>", "document": "({index}) {title}: {text}", "scoring": "best_subspan_em", "max_new_tokens": 7, "system": "S"}})"
        "\n"
        R"({"documents": [{"title": "t {x}", "text": "u"}], "gold": 0, "question": "{documents}", "answers": ["u"]})"
        "\n\n"
        R"({"documents": [{"title": "", "text": "v"}], "gold": [0], "question": "w", "answers": ["v"], "system": "", "scoring": "contains", "template": "{question}{documents}", "max_new_tokens": 1})");
    ASSERT_EQ(benchmark->size(), 2);
    const TaskPrompt first = benchmark->prompt(0, 0).value();
    EXPECT_EQ(first.text, "{Read}\n(1) t {x}: u\n# {documents}\n>");
    EXPECT_EQ(first.system, "S");
    EXPECT_EQ(first.rule.metric, Metric::BestSubspan);
    EXPECT_EQ(first.rule.maxNewTokens, 7);
    EXPECT_EQ(textOf(first, first.question), "# {documents}\n>");
    const TaskPrompt second = benchmark->prompt(1, 0).value();
    EXPECT_EQ(second.text, "w(1) : v");
    EXPECT_EQ(second.system, "");
    EXPECT_EQ(second.rule.metric, Metric::Contains);
    EXPECT_EQ(second.rule.maxNewTokens, 1);
    EXPECT_EQ(second.question.begin, second.text.size()) << "nothing stands behind the documents";
    EXPECT_THAT(benchmark->info().templateText, HasSubstr("({index}) {title}: {text}"));
}

TEST(Jsonl, NamesItemsByTheirIds) {
    const auto benchmark = opened(R"({"id": "x", "question": "q", "answers": ["a"]})"
                                  "\n"
                                  R"({"id": "y/2", "question": "q", "answers": ["a"], "group": "g"})");
    EXPECT_EQ(benchmark->id(0), "mine/x");
    EXPECT_EQ(benchmark->id(1), "mine/y/2");
    EXPECT_EQ(benchmark->group(0), "");
    EXPECT_EQ(benchmark->group(1), "g");
}

TEST(Jsonl, IsTheSameDataSetCompressedAndWithOtherSpaces) {
    const TempFolder folder;
    const auto hashOf = [&](const std::string& name, const std::string& text) {
        return openBenchmark(specFor("jsonl", folder.write(name, text))).value()->info().hash;
    };
    const std::string hash = hashOf("a.jsonl", kGood);
    EXPECT_EQ(hash, hashOf("a.jsonl.gz", gzipText(kGood)));
    EXPECT_EQ(hash, hashOf("b.jsonl", "\xef\xbb\xbf" + json::parse(kGood).dump() + "\r\n\r\n"));
    json other = json::parse(kGood);
    other["gold"] = 2;
    EXPECT_NE(hash, hashOf("b.jsonl", other.dump()));
    other = json::parse(kGood);
    other["system"] = "s";
    EXPECT_NE(hash, hashOf("b.jsonl", other.dump()));
}

TEST(Jsonl, KeepsEveryTemplateAndSystemTurnThatItemsHave) {
    const BenchmarkInfo plain = opened(kGood + "\n" + kGood)->info();
    EXPECT_EQ(plain.templateText,
              "{documents}\n\nQuestion: {question}\nAnswer:\n\nDocument [{index}](Title: {title}) {text}");
    std::set<std::string> hashes{plain.templateHash};
    for (const auto& [key, value] : {std::pair("template", "{documents}\nQ: {question}"),
                                     std::pair("system", "Be brief."), std::pair("document", "* {text}")}) {
        json own = json::parse(kGood);
        own[key] = value;
        const BenchmarkInfo info = opened(kGood + "\n" + own.dump())->info();
        EXPECT_TRUE(hashes.insert(info.templateHash).second) << key;
        EXPECT_TRUE(info.templateText.starts_with(plain.templateText)) << "the first item's stands first";
        EXPECT_THAT(info.templateText, HasSubstr(value));
    }
    // What is asked without documents has no place for them in its template.
    const std::string bare = R"({"question": "q", "answers": ["x"]})";
    const std::string full = R"({"documents": ["a"], "question": "q", "answers": ["x"]})";
    EXPECT_NE(opened(full + "\n" + bare)->info().templateHash, opened(full + "\n" + full)->info().templateHash);
    EXPECT_NE(opened(full + "\n" + bare)->info().templateHash, opened(bare + "\n" + bare)->info().templateHash);
}

TEST(Jsonl, HashesTheTemplatesThatAreTooManyToShow) {
    const auto infoOf = [](int last) {
        std::string text;
        for (int i = 0; i < 40; ++i) {
            json item = json::parse(kGood);
            item["template"] = "{documents} " + std::to_string(i == 39 ? last : i) + " {question}";
            text += item.dump() + "\n";
        }
        return opened(text)->info();
    };
    const BenchmarkInfo info = infoOf(39);
    EXPECT_THAT(info.templateText, HasSubstr("24 items have templates that are not shown"));
    EXPECT_EQ(info.templateHash, infoOf(39).templateHash);
    EXPECT_NE(info.templateHash, infoOf(40).templateHash);
}

TEST(Jsonl, PointsAtLineAndFieldOfEveryFault) {
    struct Case {
        std::string change, field, part;  ///< RFC 7386 patch over the good line, or the line itself
    };
    for (const Case& wrong : std::vector<Case>{
             {R"({"question": null})", "question", "missing"},
             {R"({"question": 5})", "question", "not a text"},
             {R"({"question": ""})", "question", "empty"},
             {R"({"documents": "one"})", "documents", "not a list"},
             {R"({"documents": ["a", 7, "c"]})", "documents[1]", "neither"},
             {R"({"documents": ["a", {"title": "t"}, "c"]})", "documents[1].text", "missing"},
             {R"({"documents": ["a", {"text": "t", "titel": "x"}, "c"]})", "documents[1].titel", "not known"},
             {R"({"documents": ["a", {"text": "t", "title": []}, "c"]})", "documents[1].title", "not a text"},
             {R"({"gold": 3})", "gold", "3 documents"},
             {R"({"gold": -1})", "gold", "-1"},
             {R"({"gold": 1.0})", "gold", "1.0"},
             {R"({"gold": "1"})", "gold", "\"1\""},
             {R"({"gold": true})", "gold", "true"},
             {R"({"gold": 18446744073709551615})", "gold", "18446744073709551615"},
             {R"({"gold": []})", "gold", "empty list"},
             {R"({"gold": [0, 0]})", "gold[1]", "again"},
             {R"({"gold": [0, 9]})", "gold[1]", "9"},
             {R"({"answers": null})", "answers", "missing"},
             {R"({"answers": []})", "answers", "0 entries"},
             {R"({"answers": "two"})", "answers", "not a list"},
             {R"({"answers": ["two", ""]})", "answers[1]", "empty"},
             {R"({"answers": [2]})", "answers[0]", "not a text"},
             {R"({"answer": 0})", "answer", "for 'choices'"},
             {R"({"scoring": "magic"})", "scoring", "not understood"},
             {R"({"scoring": "likeliest"})", "scoring", "'choices'"},
             {R"({"scoring": 1})", "scoring", "not a text"},
             {R"({"max_new_tokens": 0})", "max_new_tokens", "0"},
             {R"({"max_new_tokens": 1e3})", "max_new_tokens", "1000.0"},
             {R"({"template": "{question}"})", "template", "{documents} 0 times"},
             {R"({"template": "{documents}"})", "template", "{question} 0 times"},
             {R"({"template": "{documents}{question}{question}"})", "template", "{question} 2 times"},
             {R"({"template": "{documents}{question}{choices}"})", "template", "{choices} 1 times"},
             {R"({"template": "{documents}{quest}"})", "template", "'{quest}'"},
             {R"({"template": "{documents}{question"})", "template", "without its partner"},
             {R"({"template": "{documents}{question}}"})", "template", "without its partner"},
             {R"({"template": ""})", "template", "empty"},
             {R"({"document": "{title} {text}"})", "documents[0]", "no title"},
             {R"({"document": "x"})", "document", "{text} 0 times"},
             {R"({"document": "{text}{text}"})", "document", "{text} 2 times"},
             {R"({"system": 1})", "system", "not a text"},
             {R"({"group": 1})", "group", "not a text"},
             {R"({"id": 7})", "id", "not a text"},
             {R"({"Question": "q"})", "Question", "not known"},
             {R"({"lpes_task": {}})", "lpes_task", "first line"},
             {"{", "", "not valid JSON"},
             {"[1]", "", "not a JSON object"},
             {"{\"question\": \"\xff\"}", "", "not valid JSON"},
             {std::string(1'000'000, '['), "", "not valid JSON"},
         }) {
        json record = json::parse(kGood);
        const json patch = json::parse(wrong.change, nullptr, false);
        std::string line = wrong.change;
        if (patch.is_object()) {
            record.merge_patch(patch);
            line = record.dump();
        }
        const auto faults = faultsOf(kGood + "\n" + line + "\n" + kGood);
        ASSERT_GE(faults.size(), 1u) << line.substr(0, 300);
        EXPECT_EQ(faults[0].line, 2);
        EXPECT_EQ(faults[0].field, wrong.field) << faults[0].text();
        EXPECT_THAT(faults[0].what, HasSubstr(wrong.part));
    }
}

TEST(Jsonl, PointsAtFaultsOfChoices) {
    const std::string good = R"({"question": "q", "choices": ["a", "b"], "answer": 0})";
    for (const auto& [patch, field] : std::vector<std::pair<std::string, std::string>>{
             {R"({"answer": 2})", "answer"},
             {R"({"answer": null})", "answer"},
             {R"({"answers": ["a"]})", "answers"},
             {R"({"scoring": "contains"})", "scoring"},
             {R"({"choices": ["a"]})", "choices"},
             {R"({"choices": ["a", ""]})", "choices[1]"},
         }) {
        json record = json::parse(good);
        record.merge_patch(json::parse(patch));
        const auto faults = faultsOf(good + "\n" + record.dump());
        ASSERT_GE(faults.size(), 1u) << patch;
        EXPECT_EQ(faults[0].field, field) << faults[0].text();
    }
}

TEST(Jsonl, PointsAtAnswersThatTellNothingUnderTheirRule) {
    struct Case {
        std::string scoring;
        std::vector<std::string> answers;
        std::string field, part;  ///< empty: sound
    };
    for (const Case& each : std::vector<Case>{
             {"contains", {"two", " \t"}, "answers[1]", "white space"},
             {"contains_all", {"two", " "}, "answers[1]", "white space"},
             {"contains", {"?"}, "", ""},
             {"best_subspan_em", {"two", "The..."}, "answers[1]", "where nothing is answered"},
             {"best_subspan_em", {"two\nlines"}, "", ""},
             {"f1", {"an"}, "answers[0]", "not score by 'f1' even against itself"},
             {"f1_leval", {"!"}, "answers[0]", "even against itself"},
             {"f1", {"the two"}, "", ""},
             {"rouge_gm", {"seven"}, "answers[0]", "one word"},
             {"rouge_gm", {"seven", "at seven"}, "", ""},
             {"rouge_gm_unstemmed", {"at seven", "七時"}, "answers[1]", "no word"},
             {"choice_letter", {"E"}, "answers[0]", "even against itself"},
             {"choice_letter", {"(B) blue"}, "", ""},
             {"exp_similarity", {"thirty"}, "answers[0]", "even against itself"},
             {"exp_similarity", {"30%"}, "", ""},
             {"concordance_index", {"none"}, "answers[0]", "even against itself"},
             {"concordance_index", {"3, 1, 2"}, "", ""},
             {"exam_leval", {"the"}, "answers[0]", "where nothing is answered"},
             {"exam_leval", {"two\nlines"}, "answers[0]", "even against itself"},
             {"exam_leval", {"AC"}, "", ""},
             {"exam_one_letter", {"B"}, "", ""},
             {"exam_some_letters", {"BD"}, "", ""},
             {"exam_math", {"seven"}, "answers[0]", "where nothing is answered"},
             {"exam_math", {"The answer is 7"}, "", ""},
             {"exam_code", {"[1, 2]"}, "", ""},
             {"exam_judgement", {"yes"}, "answers[0]", "even against itself"},
             {"exam_judgement", {"True [fact: False]"}, "", ""},
         }) {
        json record = json::parse(kGood);
        record["scoring"] = each.scoring;
        record["answers"] = each.answers;
        const auto faults = faultsOf(kGood + "\n" + record.dump());
        const std::string where = record.dump();
        ASSERT_EQ(faults.size(), each.field.empty() ? 0u : 1u) << where;
        if (faults.empty()) continue;
        EXPECT_EQ(faults[0].line, 2) << where;
        EXPECT_EQ(faults[0].field, each.field) << where;
        EXPECT_THAT(faults[0].what, HasSubstr(each.part)) << where;
    }
    // The rule may be the whole file's.
    const auto faults = faultsOf(R"({"lpes_task": {"scoring": "best_subspan_em"}})"
                                 "\n"
                                 R"({"question": "q", "answers": ["a"]})");
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_THAT(faults[0].text(), HasSubstr("line 2: 'answers[0]' scores 1 by 'best_subspan_em'"));
}

TEST(Jsonl, PointsAtKeysThatAreGivenTwice) {
    const auto faults = faultsOf(
        R"({"lpes_task": {"scoring": "f1", "system": "a", "scoring": "contains"}})"
        "\n"
        R"({"question": "q", "answers": ["x"], "question": "r"})"
        "\n"
        R"({"documents": ["a", {"text": "t"}, {"title": "u", "text": "t", "title": "v"}], "question": "q", "answers": ["x"]})"
        "\n"
        R"({"documents": [{"text": "a"}, {"text": "a"}], "question": "text", "answers": ["text"]})");
    std::vector<std::string> found;
    for (const JsonlFault& fault : faults) found.push_back(fault.text());
    EXPECT_THAT(
        found, ::testing::ElementsAre("line 1: 'lpes_task.scoring' is given twice; remove the one that is not meant",
                                      "line 2: 'question' is given twice; remove the one that is not meant",
                                      "line 3: 'documents[2].title' is given twice; remove the one that is not meant"));
}

TEST(Jsonl, SaysEverythingThatIsWrongAtOnce) {
    const std::string text = R"({"lpes_task": {"colour": 1, "scoring": "magic"}})"
                             "\n"
                             R"({"id": "a", "question": "q", "answers": ["x"]})"
                             "\nnonsense\n"
                             R"({"id": "b", "question": 1, "answers": [], "gold": 0})"
                             "\n"
                             R"({"id": "a", "question": "q", "answers": ["x"]})"
                             "\n"
                             R"({"question": "q", "answers": ["x"]})";
    const auto faults = faultsOf(text);
    std::vector<std::string> found;
    for (const JsonlFault& fault : faults) found.push_back(std::to_string(fault.line) + " " + fault.field);
    EXPECT_THAT(found, ::testing::ElementsAre("1 lpes_task.colour", "1 lpes_task.scoring", "3 ", "4 gold", "4 question",
                                              "4 answers", "4 gold", "5 id", "6 id"));
    const TempFolder folder;
    const Error error = openingError(specFor("jsonl", folder.write("mine.jsonl", text)));
    EXPECT_EQ(error.code, ErrorCode::BadInput);
    EXPECT_THAT(error.message, HasSubstr("mine.jsonl', line 1: 'lpes_task.colour'"));
    EXPECT_THAT(error.message, HasSubstr("9 faults"));
}

TEST(Jsonl, StopsAtAHundredFaults) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "x\n";
    const TempFolder folder;
    const auto report = checkJsonl(folder.write("mine.jsonl", text)).value();
    EXPECT_EQ(report.faults.size(), 100u);
    EXPECT_FALSE(report.complete);
    EXPECT_THAT(openingError(specFor("jsonl", folder.path() / "mine.jsonl")).message, HasSubstr("at least 100 faults"));
}

TEST(Jsonl, AllLinesAreOfOneKind) {
    const auto faults =
        faultsOf(kGood + "\n" + R"({"documents": ["a"], "question": "q", "answers": ["x"]})" + "\n" +
                 R"({"documents": ["a"], "gold": 0, "question": "q", "choices": ["x", "y"], "answer": 0})");
    ASSERT_EQ(faults.size(), 2u);
    EXPECT_EQ(faults[0].text(), "line 2: 'gold' is missing here and given in line 1; all lines need it or none");
    EXPECT_EQ(faults[1].text(), "line 3: 'choices' is given here and missing in line 1; all lines need it or none");
}

TEST(Jsonl, RefusesDamagedAndEmptyFiles) {
    const TempFolder folder;
    for (const std::string text : {"", "\n \n", "{\"lpes_task\": {}}\n"}) {
        EXPECT_THAT(openingError(specFor("jsonl", folder.write("e.jsonl", text))).message, HasSubstr("no item"));
    }
    const std::string whole = gzipText(kGood);
    EXPECT_THAT(openingError(specFor("jsonl", folder.write("e.jsonl", whole.substr(0, whole.size() - 2)))).message,
                HasSubstr("incomplete"));
    EXPECT_EQ(checkJsonl(folder.path() / "missing.jsonl").error().code, ErrorCode::BadInput);
}

TEST(Jsonl, ReadsNoFurtherThanTheLimit) {
    const TempFolder folder;
    BenchmarkSpec spec = specFor("jsonl", folder.write("a.jsonl", kGood + "\n" + kGood + "\nnonsense\n"));
    spec.limit = 2;
    EXPECT_EQ(openBenchmark(spec).value()->size(), 2);
    spec.limit = 3;
    EXPECT_EQ(openingError(spec).code, ErrorCode::BadInput);
}

TEST(Jsonl, MemoryHoldsTheIndexOfAMillionLines) {
    const TempFolder folder;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::int64_t kLines = 20'000;  // the sanitizers' own memory counts as well: nothing is measured
#else
    constexpr std::int64_t kLines = 1'000'000;
#endif
    const std::string padding(150, 'x');
    {
        std::ofstream file(folder.path() / "big.jsonl", std::ios::binary);
        for (std::int64_t i = 0; i < kLines; ++i) {
            file << R"({"id":")" << i << R"(","documents":["a","b"],"gold":0,"question":"q)" << padding
                 << R"(","answers":["x"]})" << '\n';
        }
    }
    releaseFreedMemory();
    if (!resetPeakResident()) GTEST_SKIP() << "this kernel does not let a process begin its peak anew";
    const auto before = residentBytes();
    const auto benchmark = openBenchmark(specFor("jsonl", folder.path() / "big.jsonl"));
    ASSERT_TRUE(benchmark) << benchmark.error().text();
    const auto peak = peakResidentBytes();
    EXPECT_EQ((*benchmark)->size(), kLines);
    EXPECT_EQ((*benchmark)->id(kLines - 1), "big/" + std::to_string(kLines - 1));
    EXPECT_THAT((*benchmark)->prompt(kLines - 1, 1)->text, HasSubstr("Document [2] a"));
    // More than 200 MB of text; about 50 bytes of index a line, twice that while a table grows.
    ASSERT_TRUE(before && peak);
    if (kLines == 1'000'000) {
        EXPECT_LT(*peak - *before, std::int64_t{120} << 20);
    }
    RecordProperty("bytes", static_cast<int>(*peak - *before));
}

}  // namespace
}  // namespace lpes::tasks
