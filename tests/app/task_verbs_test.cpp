// `lpes task show` and `lpes task check`.

#include "core/tasks/benchmark.h"
#include "core/tasks/jsonl.h"
#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class TaskVerbs : public RunVerbs {
  protected:
    /// The example of core/tasks/README.md.
    [[nodiscard]] std::string example() const {
        writeBytes(file("own.jsonl"),
                   R"({"documents": ["The ferry leaves at six.", {"title": "Bakery", "text": "The bakery opens at )"
                   R"(seven."}], "gold": 1, "question": "When does the bakery open?", "answers": ["at seven", "7"]})"
                   "\n");
        return file("own.jsonl");
    }
    [[nodiscard]] Finished show(std::vector<std::string> more) const {
        std::vector<std::string> arguments{"task", "show", "--model", model()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    }
};

TEST_F(TaskVerbs, ShowPrintsThePromptAndNothingElseOnStandardOutput) {
    const Finished done = show({"--task", "jsonl", "--data", example(), "--position", "begin"});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out,
              "Document [1](Title: Bakery) The bakery opens at seven.\nDocument [2] The ferry leaves at six.\n\n"
              "Question: When does the bakery open?\nAnswer:");
    EXPECT_THAT(done.err, HasSubstr("gold index 0"));
    EXPECT_THAT(done.err, HasSubstr("' at seven'"));
    EXPECT_THAT(done.err, Not(HasSubstr("\033")));
}

TEST_F(TaskVerbs, ShowGivesTheBytesOfTheBenchmark) {
    const std::vector<std::pair<std::string, std::string>> data{
        {"mmlu", LPES_TEST_DATA "/data/mmlu"},
        {"kv", LPES_TEST_DATA "/data/lost-in-the-middle/kv-retrieval-12_keys.jsonl"},
        {"jsonl", example()}};
    for (const auto& [name, path] : data) {
        tasks::BenchmarkSpec spec;
        spec.task = name;
        spec.data = path;
        if (name == "mmlu") spec.shots = 0;
        const auto benchmark = tasks::openBenchmark(spec).value();
        for (const std::int64_t item : {std::int64_t{0}, benchmark->size() - 1}) {
            const auto prompt = benchmark->prompt(item, 0).value();
            std::vector<std::string> arguments{"--task", name, "--data", path, "--item", benchmark->id(item)};
            if (name == "mmlu") arguments.insert(arguments.end(), {"--shots", "0"});
            const Finished done = show(arguments);
            ASSERT_EQ(done.code, 0) << done.err;
            EXPECT_EQ(done.out, prompt.text) << benchmark->id(item);
            arguments.push_back("--json");
            const json shown = show(arguments).json();
            ASSERT_TRUE(shown.is_object());
            EXPECT_EQ(shown["text"], prompt.text);
            EXPECT_EQ(shown["answer"], prompt.answer);
            EXPECT_EQ(shown["choices"], json(prompt.choices));
            EXPECT_EQ(shown["references"], json(prompt.references));
            EXPECT_EQ(shown["template_hash"], benchmark->info().templateHash);
            ASSERT_EQ(shown["evidence"].size(), prompt.evidence.size());
            for (std::size_t i = 0; i < prompt.evidence.size(); ++i)
                EXPECT_EQ(shown["evidence"][i], (json{prompt.evidence[i].begin, prompt.evidence[i].end}));
        }
    }
}

TEST_F(TaskVerbs, ShowHasTheDocumentedKeys) {
    const json shown = show({"--task", "jsonl", "--data", example(), "--chat", "chatml", "--json"}).json();
    for (const char* key : {"task",
                            "data",
                            "item",
                            "position",
                            "gold_index",
                            "text",
                            "answer",
                            "choices",
                            "references",
                            "rule",
                            "max_new_tokens",
                            "evidence",
                            "evidence_tokens",
                            "prompt_tokens",
                            "answer_tokens",
                            "fits",
                            "context",
                            "note",
                            "template",
                            "template_hash"}) {
        EXPECT_TRUE(shown.contains(key)) << key;
    }
    EXPECT_EQ(shown["item"], "own/0");
    EXPECT_EQ(shown["answer"], "at seven") << "behind the preset's line break";
    EXPECT_THAT(shown["text"], HasSubstr("<|im_start|>user\nDocument [1]"));
    EXPECT_EQ(shown["fits"], true);
    EXPECT_EQ(shown["context"], 512);
}

TEST_F(TaskVerbs, ShowSaysWhenAnItemIsTooLongAndCutsNothing) {
    writeBytes(file("long.jsonl"),
               json{{"documents", {std::string(900, 'x'), "short"}}, {"gold", 1}, {"question", "?"}, {"answers", {"a"}}}
                       .dump() +
                   "\n");
    const Finished done = show({"--task", "jsonl", "--data", file("long.jsonl")});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("too long for the context of 512"));
    EXPECT_THAT(done.out, HasSubstr(std::string(900, 'x')));
}

TEST_F(TaskVerbs, ShowRefusesWhatIsNotThere) {
    const std::string data = example();
    const auto refused = [&](const std::vector<std::string>& more, int code, const char* part) {
        std::vector<std::string> arguments{"--task", "jsonl", "--data", data};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Finished done = show(arguments);
        EXPECT_EQ(done.code, code) << done.err;
        EXPECT_THAT(done.err, HasSubstr(part));
        EXPECT_EQ(done.out, "");
    };
    refused({"--item", "1"}, 2, "--item 1");
    refused({"--item", "own/7"}, 2, "own/7");
    refused({"--item", "-1"}, 2, "-1");
    refused({"--item", "99999999999999999999"}, 2, "99999999999999999999");
    refused({"--positions", "begin,end", "--position", "25"}, 2, "--position 25");
    refused({"--positions", "#0,#2"}, 2, "own/0");
    refused({"--positions", "front"}, 2, "front");
    refused({"--shots", "5"}, 2, "--shots");
    refused({"--pairs", "5"}, 2, "--pairs");
    refused({"--chat", "gemma"}, 4, "<start_of_turn>");
    refused({"--chat", "chatml", "--bos", "model"}, 2, "--bos");
    EXPECT_EQ(show({"--task", "jsonl"}).code, 2) << "its file is missing";
    EXPECT_EQ(show({"--task", "jsonl", "--data", file("nowhere.jsonl")}).code, 3);
    EXPECT_EQ(show({"--task", "mmlu", "--data", LPES_TEST_DATA "/data/mmlu", "--positions", "begin"}).code, 2);
    EXPECT_EQ(show({"--task", "mmlu", "--data", LPES_TEST_DATA "/data/mmlu", "--subjects", "alchemy"}).code, 2);
    EXPECT_EQ(run({"task", "show", "--task", "kv"}).code, 2) << "no model";
    EXPECT_EQ(run({"task", "show", "--model", file("nowhere"), "--task", "kv"}).code, 3);
    EXPECT_EQ(run({"task"}).code, 2);
}

TEST_F(TaskVerbs, EmptyFilesAreRefusedByNameWhateverTheTask) {
    writeBytes(file("empty"), "");
    writeBytes(file("blank"), "\n\n");
    for (const std::string name :
         {"jsonl", "kv", "mdqa", "mdqa-random", "leval:quality", "zeroscrolls:qasper", "mmlu", "ceval"}) {
        for (const std::string data : {"empty", "blank"}) {
            const Finished done = show({"--task", name, "--data", file(data)});
            EXPECT_EQ(done.code, 3) << name << " " << done.err;
            EXPECT_THAT(done.err, HasSubstr(data)) << name;
            EXPECT_EQ(done.out, "");
        }
        const Finished folder = show({"--task", name, "--data", m_folder.path().string()});
        EXPECT_EQ(folder.code, 3) << name << " " << folder.err;
    }
}

TEST_F(TaskVerbs, CheckSaysEveryFaultWithItsLineAndItsField) {
    writeBytes(file("faulty.jsonl"),
               "{\"question\": \"a\", \"answers\": [\"b\"]}\n"
               "{\"question\": 5, \"answers\": [\"b\"]}\n"
               "not JSON\n"
               "{\"question\": \"a\", \"answers\": []}\n"
               "{\"question\": \"a\", \"answers\": [\"b\"], \"colour\": 1}\n");
    const Finished done = run({"task", "check", file("faulty.jsonl")});
    EXPECT_EQ(done.code, 3);
    for (const char* part : {"4 faults", "line 2", "question", "line 3", "line 4", "answers", "line 5", "colour"})
        EXPECT_THAT(done.out, HasSubstr(part));
    const Finished machine = run({"task", "check", file("faulty.jsonl"), "--json"});
    EXPECT_EQ(machine.code, 3);
    const json report = machine.json();
    ASSERT_TRUE(report.is_object()) << machine.out;
    EXPECT_EQ(report["complete"], true);
    ASSERT_EQ(report["faults"].size(), 4u);
    EXPECT_EQ(report["faults"][0]["line"], 2);
    EXPECT_EQ(report["faults"][0]["field"], "question");
    EXPECT_FALSE(report["faults"][0]["what"].get<std::string>().empty());

    const Finished good = run({"task", "check", example(), "--json"});
    EXPECT_EQ(good.code, 0);
    EXPECT_EQ(good.json()["items"], 1);
    EXPECT_TRUE(good.json()["faults"].empty());
    EXPECT_EQ(run({"task", "check", file("nowhere.jsonl")}).code, 3);
    EXPECT_EQ(run({"task", "check"}).code, 2);
    writeBytes(file("empty.jsonl"), "");
    EXPECT_EQ(run({"task", "check", file("empty.jsonl")}).code, 3);
}

}  // namespace
}  // namespace lpes::test
