// Every prompt of the published files, against digests that tests/golden/make_exam_prompts.py made of them.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/core/tasks/golden_prompts.h"

namespace lpes::tasks {
namespace {

/// The folder that LPES_BENCHMARK_DATA names, else LPES_SHARED_DATA; empty without either.
std::filesystem::path dataFolder() {
    for (const char* variable : {"LPES_BENCHMARK_DATA", "LPES_SHARED_DATA"}) {
        if (const char* folder = std::getenv(variable)) return folder;
    }
    return {};
}

void expectDigest(const Result<std::shared_ptr<const Benchmark>>& opened, const nlohmann::json& expected) {
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->size(), expected.at("items").get<std::int64_t>());
    Sha256 digest;
    for (std::int64_t item = 0; item < (*opened)->size(); ++item) {
        const auto prompt = (*opened)->prompt(item, 0);
        ASSERT_TRUE(prompt) << prompt.error().text();
        for (const std::string& part : {(*opened)->id(item), prompt->system, prompt->text, prompt->answer}) {
            digest.add(part + "\n");
        }
        for (const std::string& reference : prompt->references) digest.add(reference + "\n");
    }
    EXPECT_EQ(digest.hex(), expected.at("sha256").get<std::string>());
}

class PublishedExams : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedExams, GiveTheOfficialPromptsOfAllItems) {
    const std::string task = GetParam();
    if (dataFolder().empty()) GTEST_SKIP() << "LPES_BENCHMARK_DATA is not set";
    BenchmarkSpec spec;
    spec.task = task;
    spec.data = dataFolder() / task.substr(0, task.find(':'));
    if (task == "mmlu") *spec.data /= "mmlu-dev-test.tar.gz";
    if (task == "ceval") *spec.data /= "ceval-dev-val.tar.gz";
    if (!std::filesystem::exists(*spec.data)) GTEST_SKIP() << *spec.data << " is missing";
    const auto opened = task == "mmlu" ? openMmlu(spec) : task == "ceval" ? openCEval(spec) : openLEval(spec);
    expectDigest(opened, test::examPrompts().at("published").at(task));
}

INSTANTIATE_TEST_SUITE_P(Tasks, PublishedExams,
                         ::testing::Values("mmlu", "ceval", "leval:coursera", "leval:gov_report_summ",
                                           "leval:multidoc_qa", "leval:news_summ", "leval:quality",
                                           "leval:scientific_qa", "leval:tpo"));

}  // namespace
}  // namespace lpes::tasks
