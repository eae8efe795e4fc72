#include "core/analysis/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lpes::analysis {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kLabels{"begin", "end"};

/// Two layers, two records, instruction, question.
PromptAttention prompt(int position, double scale) {
    PromptAttention one;
    one.position = position;
    one.goldIndex = position;
    one.shareByLayer = {{0.1 * scale, 0.2 * scale, 0.3, 0.4}, {0.3 * scale, 0.0, 0.5, 0.2}};
    one.tokensPerSpan = {10, 5, 20, 7};
    one.sinkByLayer = {0.25, 0.45};
    return one;
}

TEST(Attention, IsTheMeanOverLayersAndPrompts) {
    const std::vector<PromptAttention> prompts{prompt(0, 1.0), prompt(1, 1.0), prompt(0, 0.5)};
    const auto summary = summariseAttention(prompts, kLabels);
    ASSERT_TRUE(summary) << summary.error().text();
    ASSERT_EQ(summary->positions.size(), 2u);
    EXPECT_EQ(summary->promptsByPosition, (std::vector<std::int64_t>{2, 1}));
    const auto& begin = summary->positions[0];
    EXPECT_EQ(begin.label, "begin");
    EXPECT_EQ(begin.goldIndex, 0);
    EXPECT_DOUBLE_EQ(begin.share[0], 0.15);             // (0.2 + 0.1) / 2
    EXPECT_DOUBLE_EQ(begin.share[1], 0.075);            // (0.1 + 0.05) / 2
    EXPECT_DOUBLE_EQ(begin.meanPerToken[0], 0.015);     // 10 tokens
    EXPECT_DOUBLE_EQ(begin.meanPerToken[1], 0.015);     // 5 tokens
    EXPECT_DOUBLE_EQ(begin.shareByLayer[1][0], 0.225);  // (0.3 + 0.15) / 2
    EXPECT_DOUBLE_EQ(summary->positions[1].share[0], 0.2);
    EXPECT_DOUBLE_EQ(summary->sink, 0.35);
    EXPECT_DOUBLE_EQ(summary->instructionShare, 0.4);
    EXPECT_DOUBLE_EQ(summary->questionShare, 0.3);
}

TEST(Attention, AveragesPerTokenPromptByPrompt) {
    auto longer = prompt(0, 1.0);
    longer.tokensPerSpan[0] = 20;
    const std::vector<PromptAttention> prompts{prompt(0, 1.0), longer};
    const auto summary = summariseAttention(prompts, std::vector<std::string>{"begin"}).value();
    EXPECT_DOUBLE_EQ(summary.positions[0].meanPerToken[0], (0.2 / 10 + 0.2 / 20) / 2);
}

TEST(Attention, RefusesWhatDoesNotFitTogether) {
    const auto errorOf = [](auto change) {
        std::vector<PromptAttention> prompts{prompt(0, 1.0), prompt(1, 1.0), prompt(0, 1.0)};
        change(prompts[2]);
        const auto summary = summariseAttention(prompts, kLabels);
        EXPECT_FALSE(summary);
        return summary ? std::string() : summary.error().message;
    };
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.position = 2; }), HasSubstr("position 2"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.position = -1; }), HasSubstr("prompt 2"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.goldIndex = 1; }), HasSubstr("gold index 1"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.shareByLayer.pop_back(); }), HasSubstr("layers"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.shareByLayer[1].pop_back(); }), HasSubstr("layer 1"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.sinkByLayer.clear(); }), HasSubstr("sinks"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.tokensPerSpan.pop_back(); }), HasSubstr("3 spans"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.tokensPerSpan[0] = 0; }), HasSubstr("without tokens"));
    EXPECT_THAT(errorOf([](PromptAttention& p) { p.shareByLayer[1][0] = std::nan(""); }), HasSubstr("not finite"));
    EXPECT_FALSE(summariseAttention({}, kLabels));
    EXPECT_FALSE(summariseAttention(std::vector<PromptAttention>(1), kLabels));
    const auto missing = summariseAttention(std::vector<PromptAttention>{prompt(0, 1.0)}, kLabels);
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("'end'"));
}

TEST(Attention, BecomesASeriesOfThePlot) {
    const auto summary =
        summariseAttention(std::vector<PromptAttention>{prompt(0, 1.0), prompt(1, 1.0)}, kLabels).value();
    const auto series = attentionSeries(summary, "baseline", SeriesRole::Baseline);
    EXPECT_EQ(series.name, "baseline");
    ASSERT_EQ(series.positions.size(), 2u);
    EXPECT_EQ(series.positions[1].share, summary.positions[1].share);
}

}  // namespace
}  // namespace lpes::analysis
