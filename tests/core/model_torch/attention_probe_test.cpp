#include <gtest/gtest.h>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;
using test::randomIds;

TEST(AttentionProbe, SharesOfAllTokensAddUpToOne) {
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const auto session = loadTiny({}, type)->newSession(1);
        const std::vector<TokenSpan> spans{{0, 1}, {1, 20}, {20, 55}, {55, 80}, {7, 7}};
        const auto probe = session->attentionOfLastToken(randomIds(80, 1), spans, LayerScales{1.3, 0.9});
        ASSERT_TRUE(probe.has_value());
        ASSERT_EQ(probe->shareByLayer.size(), 2u);
        for (std::size_t layer = 0; layer < 2; ++layer) {
            const auto& shares = probe->shareByLayer[layer];
            ASSERT_EQ(shares.size(), 5u);
            EXPECT_NEAR(shares[0] + shares[1] + shares[2] + shares[3], 1.0, 1e-6);
            EXPECT_DOUBLE_EQ(shares[0], probe->sinkByLayer[layer]);
            EXPECT_EQ(shares[4], 0.0);
            for (std::size_t i = 0; i < 4; ++i) EXPECT_GT(shares[i], 0.0);
        }
    }
}

TEST(AttentionProbe, AttendsToItselfAloneInAPromptOfOneToken) {
    const auto probe =
        loadTiny()->newSession(1)->attentionOfLastToken(randomIds(1, 1), std::vector{TokenSpan{0, 1}}, {});
    ASSERT_TRUE(probe.has_value());
    EXPECT_NEAR(probe->shareByLayer[1][0], 1.0, 1e-12);
    EXPECT_NEAR(probe->sinkByLayer[0], 1.0, 1e-12);
}

TEST(AttentionProbe, OfEqualTokensIsEvenWhenPositionsHardlyTurn) {
    // One token everywhere and nearly no rotation: every key is the same, so the last row is flat.
    const auto session = loadTiny()->newSession(1);
    const std::vector<TokenId> same(4, 42);
    const auto probe = session->attentionOfLastToken(same, std::vector{TokenSpan{0, 2}}, LayerScales{100.0, 100.0});
    ASSERT_TRUE(probe.has_value());
    EXPECT_NEAR(probe->shareByLayer[0][0], 0.5, 0.05);
}

TEST(AttentionProbe, ChangesWithTheScales) {
    const auto session = loadTiny()->newSession(1);
    const std::vector<TokenSpan> spans{{0, 40}};
    const auto ids = randomIds(80, 1);
    const auto plain = session->attentionOfLastToken(ids, spans, {});
    const auto scaled = session->attentionOfLastToken(ids, spans, LayerScales{3.0, 3.0});
    ASSERT_TRUE(plain.has_value() && scaled.has_value());
    EXPECT_GT(std::abs(plain->shareByLayer[0][0] - scaled->shareByLayer[0][0]), 1e-4);
}

TEST(AttentionProbe, RefusesSpansOutsideThePrompt) {
    const auto session = loadTiny()->newSession(1);
    for (const TokenSpan span : {TokenSpan{-1, 2}, TokenSpan{5, 4}, TokenSpan{0, 11}}) {
        const auto probe = session->attentionOfLastToken(randomIds(10, 1), std::vector{span}, {});
        ASSERT_FALSE(probe.has_value());
        EXPECT_EQ(probe.error().code, ErrorCode::Usage);
    }
}

}  // namespace
}  // namespace lpes::model
