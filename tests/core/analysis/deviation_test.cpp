#include "core/analysis/deviation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lpes::analysis {
namespace {

using ::testing::HasSubstr;

std::vector<PromptDeviation> prompts() {
    return {{{0.1, 0.2}, {0.9, 0.8}, {0.99, 0.98}},
            {{0.3, 0.4}, {0.7, 0.6}, {0.97, 0.96}},
            {{0.2, 0.6}, {0.8, 0.1}, {0.98, 0.91}}};
}

TEST(Deviation, IsTheMeanOverPromptsLayerByLayer) {
    const auto summary = summariseDeviation("smooth", prompts(), 1);
    ASSERT_TRUE(summary) << summary.error().text();
    EXPECT_EQ(summary->variant, "smooth");
    EXPECT_EQ(summary->prompts, 3);
    ASSERT_EQ(summary->layers.size(), 2u);
    EXPECT_EQ(summary->layers[1].layer, 1);
    EXPECT_DOUBLE_EQ(summary->layers[0].deviation, 0.2);
    EXPECT_DOUBLE_EQ(summary->layers[1].deviation, 0.4);
    EXPECT_DOUBLE_EQ(summary->layers[1].rsa, 0.5);
    EXPECT_DOUBLE_EQ(summary->layers[1].cosine, 0.95);
    EXPECT_DOUBLE_EQ(summary->meanDeviation, 0.3);
    EXPECT_LE(summary->layers[0].interval.low, 0.2);
    EXPECT_GE(summary->layers[0].interval.high, 0.2);
    EXPECT_GE(summary->layers[0].interval.low, 0.1);
    EXPECT_LE(summary->layers[0].interval.high, 0.3);
    EXPECT_LT(summary->meanInterval.low, 0.3);
}

TEST(Deviation, OfOnePromptHasNoWidth) {
    const auto one = prompts();
    const auto summary = summariseDeviation("noisy", std::span(one).first(1), 1).value();
    EXPECT_EQ(summary.layers[1].interval.low, 0.2);
    EXPECT_EQ(summary.layers[1].interval.high, 0.2);
}

TEST(Deviation, RefusesWhatDoesNotFitTogether) {
    EXPECT_FALSE(summariseDeviation("smooth", {}, 1));
    auto uneven = prompts();
    uneven[2].rsa.pop_back();
    EXPECT_THAT(summariseDeviation("smooth", uneven, 1).error().message, HasSubstr("prompt 2"));
    auto notFinite = prompts();
    notFinite[1].deviation[1] = std::nan("");
    const auto refused = summariseDeviation("smooth", notFinite, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Failed);
    EXPECT_THAT(refused.error().message, HasSubstr("layer 1"));
    EXPECT_FALSE(summariseDeviation("smooth", std::vector<PromptDeviation>(1), 1));
}

TEST(Deviation, BecomesASeriesOfThePlot) {
    const auto summary = summariseDeviation("shuffled", prompts(), 1).value();
    const auto series = deviationSeries(summary, SeriesRole::Other);
    EXPECT_EQ(series.name, "shuffled");
    EXPECT_EQ(series.role, SeriesRole::Other);
    EXPECT_EQ(series.deviation[1], summary.layers[1].deviation);
    EXPECT_EQ(series.low[1], summary.layers[1].interval.low);
    EXPECT_EQ(series.high[1], summary.layers[1].interval.high);
}

}  // namespace
}  // namespace lpes::analysis
