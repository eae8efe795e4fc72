#include "core/studies/run_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lpes::studies {
namespace {

/// A value for every key.
TaskSpec everyTask() {
    TaskSpec task;
    task.task = "kv";
    task.data = "/data/items.jsonl";
    task.pairs = 12;
    task.keys = "hex:8";
    task.docs = 30;
    task.shots = 4;
    task.subjects = "anatomy,formal_logic";
    task.positions = "0,50,100";
    task.limit = 40;
    task.itemSeed = 9;
    task.chat = "chatml";
    task.bos = "model";
    task.truncation = "official";
    task.niah = {"needle", 3000, 4, 2, 3, "uuids", "words"};
    return task;
}

TEST(RunSettings, TasksRoundTripWithEveryKey) {
    const nlohmann::json stored = toJson(everyTask()), usual = toJson(TaskSpec{});
    for (const auto& [key, value] : stored.items()) EXPECT_NE(value, usual[key]) << key << " has no value of its own";
    const auto back = taskSpecFromJson(stored);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(toJson(*back), stored);
    EXPECT_TRUE(taskSpecFromJson(usual));
}

TEST(RunSettings, SearchSettingsRoundTripWithTheirOrigins) {
    SearchRunSettings settings;
    settings.compute = {"model", "bfloat16", "cpu", 3, 2, 5, 4096, false};
    settings.task = everyTask();
    settings.search.seed = ~std::uint64_t{0};
    settings.search.population = 10;
    settings.search.maxEvals = 77;
    settings.search.timeLimitSeconds = 12.5;
    settings.search.target = -1.5;
    settings.search.memo = false;
    settings.search.patience = 4;
    settings.search.minDelta = 0.125;
    settings.search.curve = curve::CurveKind::Step;
    settings.search.constraints = {0.75, 1.5, std::nullopt};
    settings.guardrail = {7, "/data/mmlu", "/data/ceval"};
    settings.score = "blend:0.5";
    settings.weights = {1, 2, 3};
    settings.gapPenalty = 0.1;
    settings.reportItems = 11;
    settings.reuseLayers = false;
    settings.reuseMemory = 77;
    settings.origins["population"] = "flag";
    const nlohmann::json json = toJson(settings);
    EXPECT_EQ(json["population"]["origin"], "flag");
    EXPECT_EQ(json["seed"]["origin"], "default");
    const auto back = searchSettingsFromJson(json);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(toJson(*back), json);
    EXPECT_EQ(back->search.seed, ~std::uint64_t{0});
    EXPECT_FALSE(back->search.constraints.gridStep.has_value());
}

TEST(RunSettings, UnknownKeysAndWrongTypesAreErrors) {
    nlohmann::json json = toJson(SearchRunSettings{});
    json["populaton"] = 3;
    const auto unknown = searchSettingsFromJson(json);
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, testing::HasSubstr("populaton"));
    json.erase("populaton");
    json["population"] = {{"value", "many"}, {"origin", "flag"}};
    const auto wrong = searchSettingsFromJson(json);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, testing::HasSubstr("population"));
}

TEST(RunSettings, TheDemoStudyIsTheOneOfTheDefinitions) {
    const auto demo = demoStudy();
    ASSERT_TRUE(demo) << demo.error().text();
    EXPECT_EQ(demo->compute.model, "demo");
    EXPECT_EQ(demo->task.keys, "words");
    EXPECT_EQ(demo->task.pairs, 20);
    EXPECT_EQ(demo->search.population, 12);
    EXPECT_EQ(demo->search.maxGenerations, 6);
    EXPECT_EQ(demo->searchItems, 16);
    EXPECT_EQ(demo->selectItems, 16);
    EXPECT_EQ(demo->reportItems, 40);
    EXPECT_EQ(demo->origins.at("population"), "demo study");
}

}  // namespace
}  // namespace lpes::studies
