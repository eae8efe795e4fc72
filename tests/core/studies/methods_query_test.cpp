#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/studies/plot_queries.h"
#include "core/studies/report.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using analysis::AccuracyPlot;
using analysis::MethodsPlot;
using analysis::SeriesRole;
using testing::ElementsAre;
using testing::HasSubstr;

class MethodsQuery : public testing::Test {
  protected:
    [[nodiscard]] studies::CompareSettings settings() const {
        const studies::SearchRunSettings search = smallSearch(m_folder);
        studies::CompareSettings settings;
        settings.compute = search.compute;
        settings.task = search.task;
        settings.task.limit = 5;
        settings.methods = {"pi:1.5", "baseline", "uniform:1.05"};
        return settings;
    }
    store::RunRow compare(StopAfter&& observer = StopAfter(1000)) {
        const auto outcome = take(studies::runComparison(settings(), *m_store, observer, observer.token()));
        return take(m_store->reader().run(outcome.runId));
    }
    template <class Plot>
    Plot plot(const store::RunRow& run, const char* kind) {
        return std::get<Plot>(take(studies::plotData(m_store->reader(), run, kind)));
    }

    StudyFolder m_folder;
    std::unique_ptr<store::StoreWriter> m_store = openStore(m_folder / "lpes.db");
};

TEST_F(MethodsQuery, AComparisonHasItsMethodsInTheirOrder) {
    const auto run = compare();
    EXPECT_THAT(take(studies::availablePlots(m_store->reader(), run)), ElementsAre("accuracy", "methods"));
    const auto methods = plot<MethodsPlot>(run, "methods").methods;
    ASSERT_EQ(methods.size(), 3u);
    EXPECT_EQ(methods[0].name, "pi:1.5") << "what the others are compared with";
    EXPECT_EQ(methods[1].role, SeriesRole::Baseline);
    EXPECT_TRUE(std::isnan(methods[0].timeRatio.value) && std::isnan(methods[0].nllDifference.value));
    for (std::size_t i = 1; i < methods.size(); ++i) {
        const auto& one = methods[i];
        for (const auto& difference : {one.nllDifference, one.scoreDifference}) {
            EXPECT_TRUE(std::isfinite(difference.value));
            EXPECT_TRUE(std::isnan(difference.low) && std::isnan(difference.high)) << "five items are too few";
        }
        EXPECT_NEAR(one.answerNll.value - methods[0].answerNll.value, one.nllDifference.value, 1e-9);
        EXPECT_GT(one.timeRatio.value, 0.0);
        EXPECT_THAT(one.verdict, HasSubstr("No verdict: too few items"));
    }
    for (const auto& one : methods) {
        EXPECT_LE(one.accuracy.low, one.accuracy.value);
        EXPECT_GE(one.accuracy.high, one.accuracy.value);
        EXPECT_GT(one.tokensPerSecond, 0.0);
    }
    const auto accuracy = plot<AccuracyPlot>(run, "accuracy");
    ASSERT_EQ(accuracy.series.size(), 3u);
    EXPECT_EQ(accuracy.series[0].name, "pi:1.5");
    EXPECT_EQ(accuracy.series[0].points[0].n, 5);
}

TEST_F(MethodsQuery, OneUnderWayShowsWhatEveryMethodWasAskedSoFar) {
    auto run = compare(StopAfter(15));
    run.state = store::RunState::Running;
    const auto methods = plot<MethodsPlot>(run, "methods");
    ASSERT_EQ(methods.methods.size(), 3u);
    EXPECT_THAT(methods.subtitle, HasSubstr("so far"));
    EXPECT_TRUE(std::isnan(methods.methods[1].accuracy.low)) << "intervals come at the end";
    EXPECT_TRUE(std::isfinite(methods.methods[1].nllDifference.value));
    const auto accuracy = plot<AccuracyPlot>(run, "accuracy");
    for (const auto& series : accuracy.series) EXPECT_EQ(series.points[0].n, accuracy.series[0].points[0].n);
    EXPECT_LT(accuracy.series[0].points[0].n, 5);
}

TEST_F(MethodsQuery, TheReportHasEveryFigureAndTheVerdicts) {
    const auto html = take(studies::reportHtml(m_store->reader(), compare(), {}));
    for (const char* words : {"mean accuracy (95 %)", "gap", "answer NLL (nats)", "Differences to the first method",
                              "time / first", "tokens/s", "peak memory (MiB)", "passes", "attentions per layer",
                              "uniform:1.05", "the first method", "Wilson", "'methods' could not be drawn"})
        EXPECT_THAT(html, HasSubstr(words));
}

TEST_F(MethodsQuery, OtherRunsHaveNone) {
    auto run = compare();
    run.kind = "eval";
    const auto none = studies::plotData(m_store->reader(), run, "methods");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("not a comparison"));
}

}  // namespace
}  // namespace lpes::test
