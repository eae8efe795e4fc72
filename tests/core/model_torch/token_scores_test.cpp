#include "core/model/torch/token_scores.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace lpes::model {
namespace {

TEST(TokenScores, OfTheOperatorsAreThoseOfTheProcessor) {
    at::manual_seed(3);
    at::Tensor logits = at::randn({7, 1201}) * 8;
    logits[2][40] = logits[2][900] = 60.0f;  // a tie goes to the lower id
    const std::vector<TokenId> targets{0, 1200, -1, 7, 500, -1, 40};
    const auto expected = reduceLogits(logits, targets);
    ASSERT_TRUE(expected.has_value());
    const auto scores = reduceByOperators(logits, targets);
    ASSERT_EQ(scores.size(), expected->size());
    for (std::size_t row = 0; row < scores.size(); ++row) {
        EXPECT_NEAR(scores[row].logSumExp, (*expected)[row].logSumExp, 1e-6);
        EXPECT_EQ(scores[row].argmax, (*expected)[row].argmax);
        EXPECT_EQ(scores[row].targetLogit, (*expected)[row].targetLogit);
    }
    EXPECT_EQ(scores[2].argmax, 40);
    EXPECT_EQ(reduceByOperators(logits, {})[3].argmax, (*expected)[3].argmax);
}

TEST(TokenScores, OfTheOperatorsShowALogitThatIsNotFinite) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        at::Tensor logits = at::randn({2, 50});
        logits[1][7] = bad;
        const auto scores = reduceByOperators(logits, {});
        EXPECT_TRUE(std::isfinite(scores[0].logSumExp));
        EXPECT_FALSE(std::isfinite(scores[1].logSumExp));
    }
}

}  // namespace
}  // namespace lpes::model
