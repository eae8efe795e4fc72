#include "core/analysis/plot_csv.h"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>

namespace lpes::analysis {
namespace {

TEST(PlotCsv, WritesACurve) {
    CurvePlot plot;
    plot.series.push_back({"best", SeriesRole::Best, {1.55, 1.0, 0.5}, {{0.0, 1.55}}, {{0.5, 1.025}}});
    EXPECT_EQ(plotCsv(plot),
              "series,kind,layer,depth,scale\r\n"
              "best,scale,0,0,1.55\r\n"
              "best,scale,1,0.5,1\r\n"
              "best,scale,2,1,0.5\r\n"
              "best,control_point,,0,1.55\r\n"
              "best,line,,0.5,1.025\r\n");
}

TEST(PlotCsv, WritesAccuracyByPosition) {
    AccuracyPlot plot;
    plot.series.push_back(
        {"baseline", SeriesRole::Baseline, {{"begin", 0.0, 0, 40, {0.45, 0.3, 0.6}, {1.167, 1.0, 1.3}}}});
    plot.series.push_back({"few", SeriesRole::Other, {{"begin", 0.0, 0, 4, {0.25, 0.05, 0.7}, {2.5}}}});
    EXPECT_EQ(plotCsv(plot),
              "series,position,relative,gold_index,n,accuracy,ci_low,ci_high,answer_nll,answer_nll_ci_low,answer_nll_"
              "ci_high\r\n"
              "baseline,begin,0,0,40,0.45,0.3,0.6,1.167,1,1.3\r\n"
              "few,begin,0,0,4,0.25,0.05,0.7,2.5,,\r\n");
}

TEST(PlotCsv, WritesAParetoFrontAndItsGrowth) {
    ParetoPlot plot;
    plot.xLabel = "ends, of all";
    plot.yLabel = "middle";
    plot.members = {
        {-1.5, -2.0, 0.0, 1, true, false}, {-1.75, -2.5, 0.0, 0, false, false}, {-1.0, -3.0, 0.0, 2, false, true}};
    plot.generations = {{0, 2, 0.25}};
    EXPECT_EQ(plotCsv(plot),
              "row,number,\"ends, of all\",middle,,picked,generation,hypervolume\r\n"
              "front,1,-1.5,-2,,1,,\r\n"
              "dominated,0,-1.75,-2.5,,0,,\r\n"
              "baseline,2,-1,-3,,0,,\r\n"
              "generation,2,,,,,0,0.25\r\n");
}

TEST(PlotCsv, WritesConvergence) {
    ConvergencePlot plot;
    plot.generations = {{0, -1.5, -2.0, -3.0, 0.25}};
    plot.candidates = {{0, -1.5}};
    plot.baselineFitness = -1.75;
    plot.hasBaseline = true;
    EXPECT_EQ(plotCsv(plot),
              "series,generation,value\r\nbest,0,-1.5\r\nmean,0,-2\r\nworst,0,-3\r\ndiversity,0,0.25\r\n"
              "candidate,0,-1.5\r\nbaseline,,-1.75\r\n");
    plot.hasBaseline = false;
    EXPECT_EQ(plotCsv(plot).find("baseline"), std::string::npos);
}

TEST(PlotCsv, WritesAttention) {
    AttentionPlot plot;
    plot.series.push_back({"baseline", SeriesRole::Baseline, {{"end", 1, {0.25, 0.5}, {0.025, 0.05}, {{0.25, 0.5}}}}});
    EXPECT_EQ(plotCsv(plot),
              "series,position,gold_index,layer,record,share,mean_per_token\r\n"
              "baseline,end,1,,0,0.25,0.025\r\n"
              "baseline,end,1,,1,0.5,0.05\r\n"
              "baseline,end,1,0,0,0.25,\r\n"
              "baseline,end,1,0,1,0.5,\r\n");
}

TEST(PlotCsv, WritesMethodsWithNothingForWhatIsUnknown) {
    MethodsPlot plot;
    MethodsPlot::Method first;
    first.name = "baseline";
    first.accuracy = {0.5, 0.4, 0.6};
    first.gap = {0.25, 0.0, 0.375};
    first.answerNll = {1.5, 1.25, 1.75};
    first.tokensPerSecond = 1000;
    first.peakBytes = 1048576;
    MethodsPlot::Method other = first;
    other.name = "pi:1.5";
    other.nllDifference = {-0.25, -0.5, 0.125};
    other.pValue = 0.25;
    other.pHolm = 0.5;
    other.scoreDifference = {0.125, -0.25, 0.5};
    other.scoreHolm = 0.75;
    other.timeRatio = {1.25, 1.0, 1.5};
    other.passes = 2;
    other.verdict = "No clear difference, p = 0.25";
    other.bias = "none found";
    other.guardrail = "amber";
    other.perplexityRatio = 1.03125;
    other.searchedItems = 4;
    plot.methods = {first, other};
    EXPECT_EQ(
        plotCsv(plot),
        "method,accuracy,accuracy_low,accuracy_high,gap,gap_low,gap_high,answer_nll,answer_nll_low,answer_nll_high,"
        "nll_difference,nll_low,nll_high,p_value,"
        "p_holm,score_difference,score_low,score_high,score_p_holm,time_ratio,time_low,time_high,tokens_per_"
        "second,peak_bytes,passes,attentions_per_layer,verdict,"
        "position_bias,guardrail,perplexity_ratio,searched_items\r\n"
        "baseline,0.5,0.4,0.6,0.25,0,0.375,1.5,1.25,1.75,,,,,,,,,,,,,1000,1048576,1,1,,,,,0\r\n"
        "pi:1.5,0.5,0.4,0.6,0.25,0,0.375,1.5,1.25,1.75,-0.25,-0.5,0.125,0.25,0.5,0.125,-0.25,0.5,0.75,1.25,1,1.5,1000,"
        "1048576,2,1,"
        "\"No clear difference, p = 0.25\",none found,amber,1.03125,4\r\n");
}

TEST(PlotCsv, WritesTheStepsOfATraining) {
    LossPlot plot;
    plot.steps = {{1, 2.5, 7.0, 4.6, 1.25, 512}, {2, 2.25, 6.5, 4.2, std::numeric_limits<double>::quiet_NaN(), 500}};
    EXPECT_EQ(plotCsv(plot),
              "step,loss,lm_loss,aux_loss,grad_norm,tokens\r\n1,4.6,2.5,7,1.25,512\r\n2,4.2,2.25,6.5,,500\r\n");
}

TEST(PlotCsv, WritesDeviation) {
    DeviationPlot plot;
    plot.series.push_back({"smooth", SeriesRole::Best, {0.0012, 0.0043}, {0.001, 0.004}, {0.002, 0.005}});
    EXPECT_EQ(
        plotCsv(plot),
        "series,layer,deviation,ci_low,ci_high\r\nsmooth,0,0.0012,0.001,0.002\r\nsmooth,1,0.0043,0.004,0.005\r\n");
}

TEST(PlotCsv, QuotesWhatNeedsIt) {
    DeviationPlot plot;
    plot.series.push_back({"a, \"b\"\n", SeriesRole::Other, {0.5}, {}, {}});
    EXPECT_EQ(plotCsv(plot), "series,layer,deviation,ci_low,ci_high\r\n\"a, \"\"b\"\"\n\",0,0.5,,\r\n");
}

TEST(PlotCsv, WritesDigitsThatReadBackAndNothingForWhatIsNoNumber) {
    DeviationPlot plot;
    const double third = 1.0 / 3.0, tiny = 5e-324;
    plot.series.push_back({"x", SeriesRole::Other, {third, tiny, std::numeric_limits<double>::quiet_NaN()}, {}, {}});
    const std::string csv = plotCsv(plot);
    EXPECT_NE(csv.find("0.3333333333333333,"), std::string::npos);
    EXPECT_NE(csv.find("5e-324,"), std::string::npos);
    EXPECT_NE(csv.find("x,2,,,"), std::string::npos);
}

TEST(FieldReports, T30_CsvHasAPointUnderEveryLocale) {
    DeviationPlot plot;
    plot.series.push_back({"x", SeriesRole::Other, {0.5}, {0.25}, {0.75}});
    const std::string expected = plotCsv(plot);
    if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "no locale with a decimal comma is installed";
    const std::string german = plotCsv(plot);
    std::setlocale(LC_ALL, "C");
    EXPECT_EQ(german, expected);
}

}  // namespace
}  // namespace lpes::analysis
