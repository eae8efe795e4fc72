#include "core/studies/plot_queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/studies/report.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using testing::HasSubstr;

class PlotQueries : public testing::Test {
  protected:
    void SetUp() override {
        NullObserver observer;
        const auto outcome = studies::runSearch(smallSearch(m_folder), *m_store, observer, {});
        ASSERT_TRUE(outcome) << outcome.error().text();
        m_run = take(m_store->reader().run(outcome->runId));
    }

    StudyFolder m_folder;
    std::unique_ptr<store::StoreWriter> m_store = openStore(m_folder / "lpes.db");
    store::RunRow m_run;
};

TEST_F(PlotQueries, ASearchHasEveryPlot) {
    const auto kinds = studies::availablePlots(m_store->reader(), m_run);
    ASSERT_TRUE(kinds) << kinds.error().text();
    EXPECT_THAT(*kinds,
                testing::ElementsAre("curve", "accuracy", "convergence", "attention", "deviation", "sensitivity"));
}

TEST_F(PlotQueries, AccuracyShowsTheHeldOutItemsOfBothSides) {
    const auto data = studies::plotData(m_store->reader(), m_run, "accuracy");
    ASSERT_TRUE(data) << data.error().text();
    const auto& plot = std::get<analysis::AccuracyPlot>(*data);
    ASSERT_EQ(plot.series.size(), 2u);
    EXPECT_EQ(plot.series[0].points[0].n, 6);
    EXPECT_EQ(plot.series[0].points[1].relative, 0.5);
    int baselines = 0;
    for (const auto& series : plot.series) baselines += series.role == analysis::SeriesRole::Baseline ? 1 : 0;
    EXPECT_EQ(baselines, 1);
}

TEST_F(PlotQueries, AccuracyHasTheIntervalsOfTheAnswerNllThatTheResultHas) {
    studies::EvalSettings settings;
    settings.compute = smallSearch(m_folder).compute;
    settings.task = smallSearch(m_folder).task;
    settings.task.limit = 12;
    NullObserver observer;
    const auto outcome = take(studies::runEvaluation(settings, *m_store, observer, {}));
    const auto run = take(m_store->reader().run(outcome.runId));
    const auto plot = std::get<analysis::AccuracyPlot>(take(studies::plotData(m_store->reader(), run, "accuracy")));
    ASSERT_EQ(plot.series.size(), 1u);
    ASSERT_EQ(plot.series[0].points.size(), 3u);
    for (std::size_t p = 0; p < 3; ++p) {
        const auto& said = outcome.result["positions"][p];
        EXPECT_EQ(plot.series[0].points[p].answerNll.low, said["answer_nll_ci_low"].get<double>()) << p;
        EXPECT_EQ(plot.series[0].points[p].answerNll.high, said["answer_nll_ci_high"].get<double>()) << p;
        EXPECT_LT(plot.series[0].points[p].answerNll.low, plot.series[0].points[p].answerNll.high) << p;
    }
    const auto few = std::get<analysis::AccuracyPlot>(take(studies::plotData(m_store->reader(), m_run, "accuracy")));
    EXPECT_TRUE(std::isnan(few.series[0].points[0].answerNll.low)) << "six items";
}

TEST_F(PlotQueries, AnUnfinishedSearchShowsItsSearchItemsAndSaysSo) {
    StopAfter observer(30);
    const auto stopped = studies::runSearch(smallSearch(m_folder), *m_store, observer, observer.token());
    ASSERT_TRUE(stopped && stopped->stoppedEarly);
    const auto run = take(m_store->reader().run(stopped->runId));
    const auto data = studies::plotData(m_store->reader(), run, "accuracy");
    ASSERT_TRUE(data) << data.error().text();
    const auto& plot = std::get<analysis::AccuracyPlot>(*data);
    EXPECT_THAT(plot.subtitle, HasSubstr("the held-out ones come at its end"));
    ASSERT_FALSE(plot.series.empty());
    EXPECT_EQ(plot.series[0].role, analysis::SeriesRole::Baseline);
    EXPECT_EQ(plot.series[0].points.size(), 3u);
    EXPECT_EQ(plot.series[0].points[0].n, 3) << "the items of the search split";
}

TEST_F(PlotQueries, ThePopulationIsWhatTheSearchHasInHand) {
    const auto finished = take(studies::populationOf(m_store->reader(), m_run));
    const auto result = nlohmann::json::parse(m_run.resultJson);
    ASSERT_TRUE(finished.best);
    EXPECT_EQ(finished.best->scales, result["best"]["scales"].get<std::vector<double>>());
    EXPECT_EQ(finished.evaluated, result["evaluations"].get<std::int64_t>());
    EXPECT_LE(finished.members.size(), 6u) << "the last population";
    EXPECT_TRUE(finished.baselineFitness);
    StopAfter observer(12);
    const auto stopped = take(studies::runSearch(smallSearch(m_folder), *m_store, observer, observer.token()));
    const auto begun = take(studies::populationOf(m_store->reader(), take(m_store->reader().run(stopped.runId))));
    EXPECT_EQ(static_cast<std::int64_t>(begun.members.size()), begun.evaluated) << "the generation under way";
    store::RunRow other = m_run;
    other.kind = "eval";
    EXPECT_TRUE(take(studies::populationOf(m_store->reader(), other)).members.empty());
}

TEST_F(PlotQueries, ConvergenceKnowsTheBaseline) {
    const auto data = studies::plotData(m_store->reader(), m_run, "convergence");
    ASSERT_TRUE(data) << data.error().text();
    const auto& plot = std::get<analysis::ConvergencePlot>(*data);
    EXPECT_EQ(plot.generations.size(), 4u);
    EXPECT_TRUE(plot.hasBaseline);
    for (std::size_t i = 1; i < plot.generations.size(); ++i) {
        EXPECT_GE(plot.generations[i].best, plot.generations[i - 1].best);
    }
}

TEST_F(PlotQueries, AttentionHasARowPerLayerAndAColumnPerRecord) {
    const auto data = studies::plotData(m_store->reader(), m_run, "attention");
    ASSERT_TRUE(data) << data.error().text();
    const auto& plot = std::get<analysis::AttentionPlot>(*data);
    ASSERT_EQ(plot.series.size(), 2u);
    ASSERT_EQ(plot.series[0].positions.size(), 3u);
    EXPECT_EQ(plot.series[0].positions[0].shareByLayer.size(), 2u);
    EXPECT_EQ(plot.series[0].positions[0].share.size(), 4u);
    EXPECT_EQ(plot.series[0].positions[2].goldIndex, 3);
}

TEST_F(PlotQueries, AttentionSaysWhoseItIs) {
    const auto titleOf = [&](const store::RunRow& run) {
        return std::get<analysis::AttentionPlot>(take(studies::plotData(m_store->reader(), run, "attention"))).title;
    };
    EXPECT_EQ(titleOf(m_run), "Attention of the last prompt token by record");
    const studies::SearchRunSettings search = smallSearch(m_folder);
    studies::AttentionSettings settings;
    settings.compute = search.compute;
    settings.task = search.task;
    settings.task.limit = 2;
    settings.queries = "all";
    NullObserver observer;
    const auto measured = take(studies::runAttention(settings, *m_store, observer, {}));
    EXPECT_EQ(measured.result["queries"], "all");
    EXPECT_EQ(titleOf(take(m_store->reader().run(measured.runId))), "Attention of all prompt tokens by record");
    settings.queries = "none";
    EXPECT_EQ(studies::runAttention(settings, *m_store, observer, {}).error().code, ErrorCode::Usage);
}

TEST_F(PlotQueries, UnknownKindsAndMissingDataAreSaid) {
    const auto unknown = studies::plotData(m_store->reader(), m_run, "pie");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::Usage);
    EXPECT_FALSE(studies::findRun(m_store->reader(), "1x"));
    EXPECT_FALSE(studies::findRun(m_store->reader(), "99"));
    EXPECT_TRUE(studies::findRun(m_store->reader(), "last"));
}

TEST_F(PlotQueries, TheReportHoldsVerdictTablesAndPicturesAndNothingFromOutside) {
    const auto html =
        studies::reportHtml(m_store->reader(), m_run, {{"curve", "<?xml version=\"1.0\"?><svg id=\"x\"></svg>"}});
    ASSERT_TRUE(html) << html.error().text();
    EXPECT_THAT(*html, HasSubstr("<svg id=\"x\">"));
    EXPECT_THAT(*html, testing::Not(HasSubstr("<?xml")));
    EXPECT_THAT(*html, HasSubstr("best profile"));
    EXPECT_THAT(*html, HasSubstr("Wilson"));
    EXPECT_THAT(*html, HasSubstr("Attention on the record that holds the answer"));
    EXPECT_THAT(*html, HasSubstr("mean over layers"));
    EXPECT_THAT(*html, HasSubstr("could not be drawn")) << "kinds without a picture are named";
    EXPECT_THAT(*html, testing::Not(HasSubstr("http")));
    EXPECT_THAT(*html, testing::Not(HasSubstr("<script")));
}

TEST_F(PlotQueries, DescribeRunCountsItsRows) {
    const auto described = studies::describeRun(m_store->reader(), m_run);
    ASSERT_TRUE(described) << described.error().text();
    EXPECT_EQ((*described)["state"], "finished");
    EXPECT_EQ((*described)["rows"]["candidates"], 15);
    EXPECT_EQ((*described)["rows"]["profiles"], 1);
}

}  // namespace
}  // namespace lpes::test
