#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::load;
using test::loadFrom;
using test::loadTiny;
using test::randomIds;

std::vector<TokenSpan> everyToken(int count) {
    std::vector<TokenSpan> spans;
    for (int token = 0; token < count; ++token) spans.push_back({token, token + 1});
    return spans;
}

/// α of every token [L][T] by its definition, out of the last token's attention in every prefix: a causal model's token
/// t sees in the whole prompt what it sees as the last one of t + 1.
std::vector<std::vector<double>> fromPrefixes(ModelSession& session, const std::vector<TokenId>& ids,
                                              const LayerScales& scales) {
    const auto tokens = ids.size();
    std::vector<std::vector<double>> alpha;
    for (std::size_t t = 0; t < tokens; ++t) {
        const auto seen = std::span(ids).first(t + 1);
        const auto probe = session.attentionOfLastToken(seen, everyToken(static_cast<int>(t) + 1), scales);
        if (!probe) throw std::runtime_error(probe.error().text());
        alpha.resize(probe->shareByLayer.size(), std::vector<double>(tokens));
        for (std::size_t layer = 0; layer < alpha.size(); ++layer) {
            for (std::size_t k = 0; k <= t; ++k) {
                alpha[layer][k] += probe->shareByLayer[layer][k] / static_cast<double>(tokens - k);
            }
        }
    }
    return alpha;
}

void expectTheDefinition(const CausalLm& lm, const std::vector<TokenId>& ids, const LayerScales& scales,
                         double tolerance) {
    const auto session = lm.newSession(1);
    const auto expected = fromPrefixes(*session, ids, scales);
    const auto probe = session->attentionOfAllTokens(ids, everyToken(static_cast<int>(ids.size())), scales);
    ASSERT_TRUE(probe.has_value()) << probe.error().text();
    ASSERT_EQ(probe->shareByLayer.size(), expected.size());
    for (std::size_t layer = 0; layer < expected.size(); ++layer) {
        double given = 0.0;
        for (std::size_t k = 0; k < ids.size(); ++k) {
            const double share = probe->shareByLayer[layer][k];
            ASSERT_NEAR(share, expected[layer][k], tolerance) << "layer " << layer << ", token " << k;
            given += share * static_cast<double>(ids.size() - k);
        }
        EXPECT_NEAR(given, static_cast<double>(ids.size()), 1e-4) << "every query gives away 1";
        EXPECT_DOUBLE_EQ(probe->sinkByLayer[layer], probe->shareByLayer[layer][0]);
    }
}

TEST(AttentionOfAllTokens, IsTheMeanOverEveryLaterQuery) {
    expectTheDefinition(*loadTiny(), randomIds(60, 1), LayerScales{1.3, 0.9}, 2e-6);
    test::TinyModelSpec oneGroup;
    oneGroup.numHeads = 6;
    oneGroup.numKvHeads = 1;
    oneGroup.headDim = 12;
    expectTheDefinition(*loadTiny(oneGroup), randomIds(45, 2), {}, 2e-6);
}

// Prefixes are rounded as the prompt is only up to the processor's ways with few and many rows.
TEST(AttentionOfAllTokens, IsTheMeanOverEveryLaterQueryInBFloat16) {
    expectTheDefinition(*loadTiny({}, ComputeType::BFloat16), randomIds(60, 1), LayerScales{1.3, 0.9}, 5e-3);
}

TEST(AttentionOfAllTokens, KnowsSlidingWindowsAndSoftCaps) {
    // Gemma 2: a cap, and a window in every second layer, which hides keys of a prompt of this length.
    const auto gemma = loadFrom(std::filesystem::path(LPES_TEST_DATA) / "golden/families/gemma2", ComputeType::Float32);
    ASSERT_GT(gemma->config().attentionSoftcap, 0.0);
    ASSERT_GT(gemma->config().slidingWindow, 0);
    const int tokens = gemma->config().slidingWindow + 20;
    ASSERT_LE(tokens, 200);
    expectTheDefinition(*gemma, randomIds(tokens, 3, gemma->config().vocabSize), {}, 5e-6);
}

TEST(AttentionOfAllTokens, SumsSpansAndSkipsEmptyOnes) {
    const auto session = loadTiny()->newSession(2);
    const auto ids = randomIds(50, 4);
    const auto tokens = session->attentionOfAllTokens(ids, everyToken(50), {});
    const auto spans = session->attentionOfAllTokens(ids, std::vector<TokenSpan>{{0, 1}, {10, 30}, {7, 7}}, {});
    ASSERT_TRUE(tokens.has_value() && spans.has_value());
    for (std::size_t layer = 0; layer < 2; ++layer) {
        double sum = 0.0;
        for (std::size_t k = 10; k < 30; ++k) sum += tokens->shareByLayer[layer][k];
        EXPECT_NEAR(spans->shareByLayer[layer][1], sum, 1e-12);
        EXPECT_EQ(spans->shareByLayer[layer][2], 0.0);
        EXPECT_EQ(spans->shareByLayer[layer][0], spans->sinkByLayer[layer]);
    }
}

TEST(AttentionOfAllTokens, OfOneTokenIsOne) {
    const auto probe = loadTiny()->newSession(1)->attentionOfAllTokens(randomIds(1, 1), everyToken(1), {});
    ASSERT_TRUE(probe.has_value());
    EXPECT_NEAR(probe->shareByLayer[1][0], 1.0, 1e-12);
}

TEST(AttentionOfAllTokens, StopsAndRefuses) {
    const auto session = loadTiny()->newSession(1);
    std::stop_source source;
    source.request_stop();
    const auto stopped = session->attentionOfAllTokens(randomIds(10, 1), everyToken(10), {}, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(wasStopped(stopped.error()));
    const auto outside = session->attentionOfAllTokens(randomIds(10, 1), everyToken(11), {});
    ASSERT_FALSE(outside.has_value());
    EXPECT_EQ(outside.error().code, ErrorCode::Usage);
}

}  // namespace
}  // namespace lpes::model
