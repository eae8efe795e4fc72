#include "core/studies/search_forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <numeric>

#include "core/studies/paper_forecast.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(SearchForecast, PassesLieBetweenTheMeasuredLengthsAndBeyondThemInProportion) {
    const std::vector<studies::PassCost> costs{{100, 1.0}, {300, 5.0}};
    EXPECT_DOUBLE_EQ(studies::passSeconds(costs, 100), 1.0);
    EXPECT_DOUBLE_EQ(studies::passSeconds(costs, 200), 3.0);
    EXPECT_DOUBLE_EQ(studies::passSeconds(costs, 300), 5.0);
    EXPECT_DOUBLE_EQ(studies::passSeconds(costs, 600), 10.0);
    EXPECT_DOUBLE_EQ(studies::passSeconds(costs, 50), 0.5);
    EXPECT_DOUBLE_EQ(studies::passSeconds(std::span(costs).first(1), 250), 2.5);
}

TEST(SearchForecast, GenerationsAddUpToTheMostCandidates) {
    search::SearchSettings settings;
    settings.population = 7;
    settings.maxGenerations = 3;
    EXPECT_EQ(studies::generationSizes(settings, 4), (std::vector<std::int64_t>{7, 3, 3, 3}));
    settings.maxEvals = 9;
    EXPECT_EQ(studies::generationSizes(settings, 4), (std::vector<std::int64_t>{7, 2}));
    settings.maxEvals = 5;
    EXPECT_EQ(studies::generationSizes(settings, 4), (std::vector<std::int64_t>{5}));
    settings.maxEvals.reset();
    settings.optimizer = search::OptimizerKind::Exhaustive;
    settings.curve = curve::CurveKind::Linear;
    settings.points = 2;
    settings.constraints = {1.0, 1.3, 0.1};
    EXPECT_EQ(studies::generationSizes(settings, 4), (std::vector<std::int64_t>{7, 7, 2}));
}

class ForecastTest : public testing::Test {
  protected:
    ForecastTest() { settings.guardrail.items = 0; }
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    NullObserver observer;
};

TEST_F(ForecastTest, PromptsAreThoseThatTheSearchThenRuns) {
    const auto forecast = take(studies::forecastSearch(settings, observer, {}));
    auto store = openStore(folder / "lpes.db");
    const auto outcome = take(studies::runSearch(settings, *store, observer, {}));
    const auto duplicates = outcome.result["cache_hits"].get<std::int64_t>();
    EXPECT_EQ(forecast["prompts"].get<std::int64_t>() - duplicates * 9, outcome.result["prompts"].get<std::int64_t>());
}

TEST_F(ForecastTest, CountsTheStepsOfDescents) {
    settings.search.optimizer = search::OptimizerKind::Gradient;
    settings.search.gradient.starts = 2;
    settings.search.gradient.steps = 2;
    settings.search.gradient.items = 2;
    const auto forecast = take(studies::forecastSearch(settings, observer, {}));
    EXPECT_EQ(forecast["stages"][2]["stage"], "descents");
    EXPECT_EQ(forecast["stages"][2]["prompts"], 3 * 2 * 2 * 2 * 3 * 3)
        << "generations, starts, steps, items, places, passes";
    auto store = openStore(folder / "lpes.db");
    const auto outcome = take(studies::runSearch(settings, *store, observer, {}));
    const auto duplicates = outcome.result["cache_hits"].get<std::int64_t>();
    EXPECT_EQ(forecast["prompts"].get<std::int64_t>() - duplicates * 9, outcome.result["prompts"].get<std::int64_t>());
}

TEST_F(ForecastTest, StagesAndMemoryAddUp) {
    settings.guardrail.items = 6;
    const auto forecast = take(studies::forecastSearch(settings, observer, {}));
    std::vector<std::string> names;
    double seconds = 0.0;
    std::int64_t prompts = 0, tokens = 0;
    for (const json& stage : forecast["stages"]) {
        names.push_back(stage["stage"]);
        seconds += stage["seconds"].get<double>();
        tokens += stage["tokens"].get<std::int64_t>();
        prompts += stage["prompts"].is_null() ? 0 : stage["prompts"].get<std::int64_t>();
        EXPECT_GT(stage["seconds"], 0.0) << stage;
        EXPECT_FALSE(stage["derivation"].get<std::string>().empty()) << stage;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"generation 0", "generations 1–3", "selection", "report", "probes",
                                               "guardrail"}));
    EXPECT_NEAR(forecast["seconds"].get<double>(), seconds, 1e-9 * seconds);
    EXPECT_EQ(forecast["prompts"], prompts);
    EXPECT_EQ(forecast["tokens"], tokens);
    const json& memory = forecast["memory"];
    std::int64_t sum = 0;
    for (const char* key : {"program_bytes", "loaded_bytes", "activation_bytes", "cache_bytes"})
        sum += memory[key].get<std::int64_t>();
    EXPECT_EQ(memory["total_bytes"], sum);
    EXPECT_GT(memory["reuse_bytes"], 0);
    EXPECT_GT(memory["measured_bytes"], memory["weight_bytes"]);
    EXPECT_GT(forecast["calibration"]["passes"], 0);
    EXPECT_GT(forecast["calibration"]["seconds"], 0.0);
}

TEST_F(ForecastTest, WorkersShareAGenerationAndEachHasItsMemory) {
    const auto one = take(studies::forecastSearch(settings, observer, {}));
    settings.compute.workers = 2;
    const auto two = take(studies::forecastSearch(settings, observer, {}));
    for (const std::size_t stage : {0u, 2u, 3u}) {  // a generation, selection, report
        EXPECT_THAT(one["stages"][stage]["derivation"].get<std::string>(), HasSubstr("shared by 1 worker(s)"));
        EXPECT_THAT(two["stages"][stage]["derivation"].get<std::string>(), HasSubstr("shared by 2 worker(s)"));
    }
    EXPECT_EQ(two["memory"]["activation_bytes"].get<std::int64_t>(),
              2 * one["memory"]["activation_bytes"].get<std::int64_t>());
    EXPECT_EQ(two["prompts"], one["prompts"]);
    EXPECT_EQ(two["calibration"]["workers"], 2);
}

TEST_F(ForecastTest, ATimeLimitCapsTheSearchAndNotWhatFollows) {
    settings.search.timeLimitSeconds = 1e-6;
    const auto forecast = take(studies::forecastSearch(settings, observer, {}));
    double after = 1e-6;
    for (const json& stage : forecast["stages"]) {
        if (!stage["stage"].get<std::string>().starts_with("generation")) after += stage["seconds"].get<double>();
    }
    EXPECT_NEAR(forecast["seconds"].get<double>(), after, 1e-9);
}

TEST_F(ForecastTest, GeneratedAnswersAreTimedAsWell) {
    settings.score = "generate";
    const auto forecast = take(studies::forecastSearch(settings, observer, {}));
    EXPECT_GT(forecast["seconds"], 0.0);
}

TEST_F(ForecastTest, RefusesWhatTheSearchRefusesAndLeavesNothingBehind) {
    const std::filesystem::path scratch = folder / "scratch";
    std::filesystem::create_directory(scratch);
    ASSERT_EQ(setenv("TMPDIR", scratch.c_str(), 1), 0);
    auto wrong = settings;
    wrong.weights = {1.0, 2.0};
    const auto refused = studies::forecastSearch(wrong, observer, {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("--weights"));
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = studies::forecastSearch(settings, observer, stop.get_token());
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(model::wasStopped(stopped.error())) << stopped.error().text();
    EXPECT_TRUE(studies::forecastSearch(settings, observer, {}));
    EXPECT_TRUE(std::filesystem::is_empty(scratch));
    std::filesystem::remove(scratch);
    const auto homeless = studies::forecastSearch(settings, observer, {});
    ASSERT_FALSE(homeless);
    EXPECT_THAT(homeless.error().message, HasSubstr("TMPDIR"));
    unsetenv("TMPDIR");
}

TEST(PaperForecast, IsTheArithmeticThatItStates) {
    const json paper = studies::paperForecast();
    // 32 candidates and 12 times 16; three positions.
    EXPECT_EQ(paper["candidates"], 224);
    EXPECT_EQ(paper["prompts"], 3 * (224 * 200 + 6 * 100 + 2 * 500));
    const double flop = 3.0 * (224 * 200 + 600 + 1000) * 1600.0 * (2 * 6.74e9 + 2.0 * 1600 * 32 * 4096);
    EXPECT_NEAR(paper["flop"].get<double>(), flop, 1e-9 * flop);
    EXPECT_NEAR(paper["hours"].get<double>(), flop / (4 * 989e12 * 0.4) / 3600, 1e-9);
    EXPECT_LT(paper["hours_low"], paper["hours"]);
    EXPECT_GT(paper["hours_high"], paper["hours"]);
    EXPECT_EQ(paper["published_hours"], (json{3.0, 4.0}));
}

}  // namespace
}  // namespace lpes::test
