#include "core/studies/search_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/analysis/position_accuracy.h"
#include "core/studies/json_rows.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report.h"
#include "core/studies/run_parts.h"
#include "core/studies/slope_evaluator.h"
#include "core/studies/suite_study.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::StudyKind;
using testing::ElementsAre;
using testing::HasSubstr;

class SearchSeries : public testing::Test {
  protected:
    SearchSeries() {
        settings.search = smallSearch(folder);
        settings.search.guardrail.items = 0;
        settings.search.analysisItems = 0;
        settings.search.search.maxGenerations = 1;
        settings.search.search.population = 4;
        settings.search.finalists = 2;
    }
    void set(StudyKind kind, std::vector<std::string> values, std::optional<int> repeats) {
        settings.kind = kind;
        settings.values = std::move(values);
        settings.repeats = repeats;
    }
    [[nodiscard]] studies::StudyOutcome run() { return take(studies::runStudy(settings, *store, observer, {})); }
    void refused(const std::string& part) {
        const auto outcome = studies::runStudy(settings, *store, observer, {});
        ASSERT_FALSE(outcome) << part;
        EXPECT_EQ(outcome.error().code, ErrorCode::Usage) << outcome.error().text();
        EXPECT_THAT(outcome.error().text(), HasSubstr(part));
    }
    /// Runs of the study's searches by label.
    [[nodiscard]] std::map<std::string, store::RunRow> searches(std::int64_t id) {
        return take(studies::partsOf(store->reader(), id, "search"));
    }

    const StudyFolder folder;
    studies::StudySettings settings;
    std::unique_ptr<store::StoreWriter> store = openStore(folder / "lpes.db");
    NullObserver observer;
};

std::vector<std::string> labelsOf(const std::vector<studies::StudyPart>& parts) {
    std::vector<std::string> labels;
    for (const auto& part : parts) labels.push_back(part.label);
    return labels;
}

TEST_F(SearchSeries, NamesItsSearches) {
    set(StudyKind::Curves, {}, {});
    EXPECT_THAT(labelsOf(take(studies::studyParts(settings))),
                ElementsAre("bezier", "linear", "monotone", "step", "free"));
    set(StudyKind::Points, {"2", "5"}, 2);
    const auto points = take(studies::studyParts(settings));
    EXPECT_THAT(labelsOf(points),
                ElementsAre("2 points, seed 7", "2 points, seed 8", "5 points, seed 7", "5 points, seed 8"));
    EXPECT_EQ(points[2].search.search.points, 5);
    EXPECT_EQ(points[3].search.search.seed, 8u);
    EXPECT_EQ(points[3].level, "5 points");
    for (const auto& part : points) EXPECT_EQ(part.search.splitSeed, 7u) << "they share their items";
    set(StudyKind::Seeds, {}, 3);
    EXPECT_THAT(labelsOf(take(studies::studyParts(settings))), ElementsAre("seed 7", "seed 8", "seed 9"));
    set(StudyKind::Resample, {}, 2);
    const auto resamples = take(studies::studyParts(settings));
    EXPECT_THAT(labelsOf(resamples), ElementsAre("resample 1", "resample 2"));
    EXPECT_EQ(resamples[1].search.resample, 1);
    EXPECT_EQ(resamples[1].search.search.seed, 7u) << "only the items differ";
    set(StudyKind::Convergence, {"random", "genetic"}, 1);
    EXPECT_EQ(take(studies::studyParts(settings))[0].search.search.optimizer, search::OptimizerKind::Random);
}

TEST_F(SearchSeries, SettingsRoundTrip) {
    set(StudyKind::Points, {"2", "5"}, 2);
    settings.search.origins["values"] = "flag";
    const json stored = studies::toJson(settings);
    EXPECT_EQ(stored["study"]["value"], "points");
    EXPECT_EQ(stored["values"]["origin"], "flag");
    EXPECT_EQ(studies::toJson(take(studies::studySettingsFromJson(stored))), stored);
    json wrong = stored;
    wrong["surprise"] = 1;
    EXPECT_FALSE(studies::studySettingsFromJson(wrong));
    wrong = stored;
    wrong["study"]["value"] = "surprise";
    EXPECT_FALSE(studies::studySettingsFromJson(wrong));
}

TEST_F(SearchSeries, WhatMakesNoStudyIsRefusedBeforeAnythingRuns) {
    set(StudyKind::Curves, {"bezier", "spiral"}, {});
    refused("spiral");
    set(StudyKind::Curves, {"bezier", "bezier"}, {});
    refused("twice");
    set(StudyKind::Curves, {"bezier"}, {});
    refused("single search");
    set(StudyKind::Points, {"2", "many"}, {});
    refused("many");
    set(StudyKind::Points, {"2", "9"}, {});
    refused("points");
    set(StudyKind::Points, {"2", "3"}, {});
    settings.search.search.curve = curve::CurveKind::Free;
    refused("free");
    settings.search.search.curve = curve::CurveKind::Bezier;
    set(StudyKind::Seeds, {"1", "2"}, {});
    refused("--values");
    set(StudyKind::Seeds, {}, 0);
    refused("--repeats");
    set(StudyKind::Seeds, {}, 2);
    settings.search.searchItems = 0;
    refused("--search-items");
    EXPECT_TRUE(take(store->reader().runs()).empty());
    EXPECT_FALSE(studies::parseStudyKind("curve"));
}

TEST_F(SearchSeries, SearchesShareItemsAndAreComparedOnTheHeldOutOnes) {
    set(StudyKind::Curves, {"bezier", "step"}, 2);
    const auto outcome = run();
    EXPECT_FALSE(outcome.stoppedEarly);
    const json& result = outcome.result;
    EXPECT_EQ(result["state"], "finished");
    EXPECT_EQ(result["study"], "curves");
    EXPECT_EQ(result["failed"], 0);
    const auto parts = searches(outcome.runId);
    ASSERT_EQ(parts.size(), 4u);
    store::StoreReader& reader = store->reader();
    const auto first = parts.at("bezier, seed 7").id;
    for (const auto& [label, run] : parts) {
        EXPECT_EQ(run.state, store::RunState::Finished) << label;
        EXPECT_TRUE(studies::isPartOfSuite(run)) << "its study takes it up again";
        for (const char* split : {"search", "select", "report"})
            EXPECT_EQ(take(reader.split(run.id, split)), take(reader.split(first, split))) << label << split;
    }
    ASSERT_EQ(result["levels"].size(), 2u);
    ASSERT_EQ(result["pairs"].size(), 1u);
    EXPECT_EQ(result["levels"][0]["searches"], 2);
    EXPECT_EQ(result["levels"][1]["level"], "step");
    EXPECT_EQ(result["profiles"].size(), 2u);
    EXPECT_EQ(result["spread"]["searches"], 4);
    EXPECT_TRUE(result["shared_items"].is_null());
    // A level's figures are means over its searches, and so are differences of differences.
    const auto nllOf = [&](const char* label) {
        for (const json& search : result["searches"]) {
            if (search["label"] == label) return search["answer_nll"].get<double>();
        }
        return 0.0;
    };
    const double bezier = (nllOf("bezier, seed 7") + nllOf("bezier, seed 8")) / 2;
    EXPECT_NEAR(result["levels"][0]["answer_nll"].get<double>(), bezier, 1e-12);
    const double baseline = result["baseline"]["answer_nll"];
    EXPECT_NEAR(result["levels"][0]["nll_difference"].get<double>(), bezier - baseline, 1e-9);
    EXPECT_NEAR(
        result["pairs"][0]["nll_difference"].get<double>(),
        result["levels"][1]["nll_difference"].get<double>() - result["levels"][0]["nll_difference"].get<double>(),
        1e-9);
    for (const char* key : {"p_value", "p_holm"}) EXPECT_EQ(result["levels"][0][key], nullptr) << "six items are few";
    EXPECT_TRUE(result["pairs"][0].contains("p_holm"));
    // One search of the study is that search alone.
    studies::SearchRunSettings alone = settings.search;
    alone.search.seed = 8;
    alone.splitSeed = 7;
    alone.search.curve = curve::CurveKind::Step;
    const auto same = take(studies::runSearch(alone, *store, observer, {}));
    EXPECT_EQ(historyOf(reader, same.runId), historyOf(reader, parts.at("step, seed 8").id));
}

TEST_F(SearchSeries, ResamplesSeeOtherSearchItemsAndReportOnTheSame) {
    set(StudyKind::Resample, {}, 3);
    const auto outcome = run();
    const auto parts = searches(outcome.runId);
    ASSERT_EQ(parts.size(), 3u);
    store::StoreReader& reader = store->reader();
    std::set<std::string> seen;
    for (const auto& [label, run] : parts) {
        EXPECT_EQ(take(reader.split(run.id, "report")), take(reader.split(parts.begin()->second.id, "report")));
        EXPECT_EQ(take(reader.split(run.id, "select")), take(reader.split(parts.begin()->second.id, "select")));
        for (const std::string& id : take(reader.split(run.id, "search"))) EXPECT_TRUE(seen.insert(id).second) << id;
    }
    EXPECT_EQ(outcome.result["shared_items"], 0.0);
    ASSERT_EQ(outcome.result["profiles"].size(), 1u);
    const json& all = outcome.result["profiles"][0];
    EXPECT_EQ(all["level"], "all");
    EXPECT_EQ(all["searches"], 3);
    double mean = 0.0;
    for (const json& search : outcome.result["searches"]) mean += search["scales"][0].get<double>() / 3;
    EXPECT_NEAR(all["mean"][0].get<double>(), mean, 1e-12);
}

json lasting(json result) {
    for (const char* key : {"run_id", "seconds", "settings"}) result.erase(key);
    for (json& search : result["searches"]) {
        for (const char* key : {"run_id", "seconds"}) search.erase(key);
    }
    return result;
}

TEST_F(SearchSeries, StoppedAnywhereAndResumedEndsInTheSameResult) {
    set(StudyKind::Seeds, {}, 2);
    const json whole = lasting(run().result);
    for (const std::string stage : {"seed 7 (1 of 2): generation 0", "seed 7 (1 of 2): report",
                                    "seed 8 (2 of 2): generation 0", "seed 8 (2 of 2): selection"}) {
        auto other = openStore(folder / (stage + ".db"));
        StopAtStage watcher(stage);
        auto outcome = take(studies::runStudy(settings, *other, watcher, watcher.token()));
        ASSERT_TRUE(outcome.stoppedEarly) << stage;
        EXPECT_EQ(outcome.result["state"], "stopped");
        EXPECT_EQ(take(other->reader().run(outcome.runId)).state, store::RunState::Stopped);
        const auto id = outcome.runId;
        // Another number of workers changes nothing.
        outcome = take(studies::resumeStudy(id, 2, *other, observer, {}));
        EXPECT_FALSE(outcome.stoppedEarly);
        EXPECT_EQ(lasting(outcome.result), whole) << stage;
        EXPECT_FALSE(studies::resumeStudy(id, {}, *other, observer, {})) << "it is finished";
    }
}

TEST_F(SearchSeries, PlotsAndReportShowItsLevelsAlsoUnderWay) {
    set(StudyKind::Convergence, {"genetic", "random"}, 2);
    StopAtStage watcher("random, seed 7");
    const auto stopped = take(studies::runStudy(settings, *store, watcher, watcher.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    store::StoreReader& reader = store->reader();
    auto run = take(reader.run(stopped.runId));
    EXPECT_TRUE(studies::plotData(reader, run, "convergence"));
    EXPECT_THAT(take(studies::reportHtml(reader, run, {})), HasSubstr("Searches"));
    ASSERT_TRUE(studies::resumeStudy(stopped.runId, {}, *store, observer, {}));
    run = take(reader.run(stopped.runId));
    EXPECT_THAT(take(studies::availablePlots(reader, run)), ElementsAre("curve", "accuracy", "convergence", "methods"));
    const auto progress = std::get<analysis::ProgressPlot>(take(studies::plotData(reader, run, "convergence")));
    ASSERT_EQ(progress.series.size(), 2u);
    EXPECT_EQ(progress.series[0].name, "genetic");
    EXPECT_EQ(progress.series[0].searches, 2);
    ASSERT_EQ(progress.series[0].byGeneration.size(), 2u);
    EXPECT_GE(progress.series[0].byGeneration[1].mean, progress.series[0].byGeneration[0].mean);
    EXPECT_LE(progress.series[0].byGeneration[0].low, progress.series[0].byGeneration[0].mean);
    // Four candidates on three items at three positions.
    EXPECT_EQ(progress.series[0].byPrompts[0].x, 36.0);
    EXPECT_TRUE(std::isfinite(progress.baselineFitness)) << "the same items, so the same baseline";
    const auto curves = std::get<analysis::CurvePlot>(take(studies::plotData(reader, run, "curve")));
    ASSERT_EQ(curves.series.size(), 2u);
    EXPECT_EQ(curves.series[0].low.size(), curves.series[0].scales.size());
    const auto scores = std::get<analysis::MethodsPlot>(take(studies::plotData(reader, run, "methods")));
    ASSERT_EQ(scores.methods.size(), 3u);
    EXPECT_EQ(scores.methods[0].name, "baseline");
    const auto accuracy = std::get<analysis::AccuracyPlot>(take(studies::plotData(reader, run, "accuracy")));
    EXPECT_EQ(accuracy.series.size(), 3u);
    const std::string html = take(studies::reportHtml(reader, run, {}));
    for (const char* part : {"Held-out items", "Against each other", "genetic", "random, seed 8", "Holm"})
        EXPECT_THAT(html, HasSubstr(part));
}

TEST_F(SearchSeries, EveryFigureHasItsIntervalOverItems) {
    set(StudyKind::Seeds, {}, 2);
    settings.search.reportItems = 12;
    const auto outcome = run();
    const auto bounded = [](const json& row) {
        for (const auto& [value, ends] : {std::pair<std::string, std::string>{"mean_accuracy", "accuracy"},
                                          {"gap", "gap"},
                                          {"answer_nll", "answer_nll"}}) {
            EXPECT_LE(row[ends + "_low"].get<double>(), row[value].get<double>() + 1e-12) << row.dump();
            EXPECT_GE(row[ends + "_high"].get<double>(), row[value].get<double>() - 1e-12) << row.dump();
            EXPECT_LT(row[ends + "_low"], row[ends + "_high"]) << row.dump();
        }
    };
    bounded(outcome.result["baseline"]);
    for (const char* list : {"levels", "searches"}) {
        ASSERT_EQ(outcome.result[list].size(), 2u);
        for (const json& row : outcome.result[list]) bounded(row);
    }
    // Of a single search they are those that it printed itself.
    const json own = json::parse(searches(outcome.runId).at("seed 7").resultJson)["heldout"];
    const auto same = [](const json& row, const json& side) {
        EXPECT_EQ(row["accuracy_low"], side["mean_accuracy_interval"]["low"]);
        EXPECT_EQ(row["gap_high"], side["gap_interval"]["high"]);
        EXPECT_EQ(row["answer_nll_low"], side["mean_answer_nll_interval"]["low"]);
    };
    same(outcome.result["baseline"], own["baseline"]);
    same(outcome.result["searches"][0], own["best"]);
    const auto row = take(store->reader().run(outcome.runId));
    const auto plot = take(studies::plotData(store->reader(), row, "methods"));
    for (const auto& method : std::get<analysis::MethodsPlot>(plot).methods) {
        for (const auto& figure : {method.accuracy, method.gap, method.answerNll}) {
            EXPECT_TRUE(std::isfinite(figure.low)) << method.name;
            EXPECT_LT(figure.low, figure.high) << method.name;
        }
    }
    EXPECT_THAT(take(studies::reportHtml(store->reader(), row, {})), HasSubstr("gap (95 %)"));
}

TEST_F(SearchSeries, SaysWhereTheDataHoldTheirItemsTwice) {
    set(StudyKind::Seeds, {}, 2);
    EXPECT_EQ(run().result["searched_on"], nullptr);
    settings.search.task = ownTask(folder / "same.jsonl", std::vector<json>(12, bakery()));
    const auto outcome = run();
    EXPECT_EQ(outcome.result["searched_on"]["searched_items"], 6);
    const auto row = take(store->reader().run(outcome.runId));
    EXPECT_THAT(take(studies::reportHtml(store->reader(), row, {})),
                HasSubstr("NOT HELD OUT: the data hold items more than once, and 6 of the 6"));
}

/// Prompts of a search's candidates and descents, out of what they left in the data base.
std::int64_t promptsLeft(store::StoreReader& reader, std::int64_t runId) {
    std::int64_t prompts = 0;
    for (const store::CandidateRow& row : take(reader.candidates(runId))) {
        if (row.duplicateGeneration < 0) prompts += std::ssize(take(reader.outcomes(row.variantId, "search")));
    }
    for (const store::VariantRow& variant : take(reader.variants(runId)))
        prompts += studies::kSlopeCost * std::ssize(take(reader.slopes(variant.id, "search")));
    return prompts;
}

TEST_F(SearchSeries, ProgressCountsDescentsAndWhatWasSparedByGivingUp) {
    set(StudyKind::Convergence, {"genetic", "gradient"}, 1);
    settings.search.searchItems = 8;
    settings.search.search.racing = 0.4;
    settings.search.search.population = 8;
    settings.search.search.maxGenerations = 3;
    settings.search.search.gradient.starts = 2;
    settings.search.search.gradient.steps = 2;
    settings.search.search.gradient.items = 2;
    const auto outcome = run();
    store::StoreReader& reader = store->reader();
    const auto parts = searches(outcome.runId);
    std::int64_t givenUp = 0;
    for (const store::CandidateRow& row : take(reader.candidates(parts.at("genetic").id)))
        givenUp += row.state == store::CandidateRow::State::GivenUp ? 1 : 0;
    EXPECT_GT(givenUp, 0) << "otherwise nothing is shown";
    const auto progress = std::get<analysis::ProgressPlot>(
        take(studies::plotData(reader, take(reader.run(outcome.runId)), "convergence")));
    ASSERT_EQ(progress.series.size(), 2u);
    for (const auto& series : progress.series)
        EXPECT_EQ(series.byPrompts.back().x, promptsLeft(reader, parts.at(series.name).id)) << series.name;
}

/// Fails where weights are read.
class NoWeights final : public ProgressObserver {
  public:
    void progressed(const Progress& progress) override { FAIL() << progress.stage; }
    void warned(const std::string&) override {}
};

TEST_F(SearchSeries, WhatASearchRefusesShowsBeforeTheWeightsAreRead) {
    set(StudyKind::Points, {"2", "9"}, {});
    NoWeights noWeights;
    EXPECT_FALSE(studies::runStudy(settings, *store, noWeights, {})) << "the model has fewer layers";
    EXPECT_FALSE(studies::forecastStudy(settings, noWeights, {}));
    set(StudyKind::Seeds, {}, 2);
    settings.search.weights = {1.0, 2.0};
    EXPECT_FALSE(studies::runStudy(settings, *store, noWeights, {}));
    EXPECT_FALSE(studies::forecastStudy(settings, noWeights, {}));
}

TEST_F(SearchSeries, ForecastTimesTheStepsOfTheSearchesThatDescend) {
    set(StudyKind::Convergence, {"random", "gradient"}, 1);
    settings.search.search.gradient.starts = 2;
    settings.search.search.gradient.steps = 2;
    settings.search.search.gradient.items = 2;
    const json forecast = take(studies::forecastStudy(settings, observer, {}));
    const auto& searches = forecast["searches"];
    ASSERT_EQ(searches.size(), 2u);
    // Two descents of two steps on two items at three positions.
    const std::int64_t steps = studies::kSlopeCost * 2 * 2 * 2 * 3;
    const std::int64_t each = 9;
    EXPECT_EQ(
        searches[1]["prompts"].get<std::int64_t>() - each * searches[1]["candidates"].get<std::int64_t>(),
        searches[0]["prompts"].get<std::int64_t>() - each * searches[0]["candidates"].get<std::int64_t>() + steps);
    for (const json& stage : forecast["stages"]) EXPECT_NE(stage["stage"], "descents") << "the first search has none";
    EXPECT_EQ(forecast["prompts"],
              searches[0]["prompts"].get<std::int64_t>() + searches[1]["prompts"].get<std::int64_t>());
}

TEST_F(SearchSeries, ForecastCountsWhatItThenRuns) {
    set(StudyKind::Seeds, {}, 2);
    const json forecast = take(studies::forecastStudy(settings, observer, {}));
    EXPECT_TRUE(take(store->reader().runs()).empty());
    ASSERT_EQ(forecast["searches"].size(), 2u);
    const auto outcome = run();
    std::int64_t prompts = 0;
    for (const auto& [label, search] : searches(outcome.runId)) {
        const json result = json::parse(search.resultJson);
        prompts += result["prompts"].get<std::int64_t>() + 9 * result["cache_hits"].get<std::int64_t>();
    }
    EXPECT_EQ(forecast["prompts"], prompts);
    EXPECT_GT(forecast["seconds"], forecast["searches"][0]["seconds"]);
    EXPECT_EQ(forecast["study"], "seeds");
}

}  // namespace
}  // namespace lpes::test
