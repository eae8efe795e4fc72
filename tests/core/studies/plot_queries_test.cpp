#include "core/studies/plot_queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_THAT(*kinds, testing::ElementsAre("curve", "accuracy", "convergence", "attention", "deviation"));
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
