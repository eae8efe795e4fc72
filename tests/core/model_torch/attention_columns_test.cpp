#include "core/model/torch/attention_columns.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/model/torch/own_kernels.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

struct Case {
    std::int64_t heads, kvHeads, headDim, tokens;
    double softcap;
    std::int64_t window;
};

const Case kCases[] = {
    {1, 1, 8, 1, 0.0, 0},    {4, 4, 16, 70, 0.0, 0},    {9, 3, 64, 700, 0.0, 0}, {8, 2, 32, 530, 0.0, 100},
    {4, 2, 64, 300, 5.0, 0}, {6, 2, 36, 777, 3.0, 257}, {2, 1, 16, 200, 0.0, 1}, {2, 2, 16, 40, 2.0, 64},
};

/// The definition, written out in float64: [T].
at::Tensor definition(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule) {
    const std::int64_t heads = q.size(0), tokens = q.size(1);
    const at::Tensor keys = k.to(at::kDouble).repeat_interleave(heads / k.size(0), 0);
    at::Tensor scores = at::matmul(q.to(at::kDouble), keys.transpose(1, 2)) * rule.scale;
    if (rule.softcap > 0.0) scores = at::tanh(scores / rule.softcap) * rule.softcap;
    const at::Tensor position = at::arange(tokens, at::kLong);
    const at::Tensor distance = position.unsqueeze(1) - position.unsqueeze(0);
    at::Tensor hidden = distance < 0;
    if (rule.window > 0) hidden = hidden.logical_or(distance >= rule.window);
    return at::softmax(scores.masked_fill(hidden, -INFINITY), -1).sum(1).mean(0);
}

class AttentionColumns : public testing::TestWithParam<std::tuple<Case, at::ScalarType>> {
  protected:
    void SetUp() override {
        at::manual_seed(5);
        const auto& [c, type] = GetParam();
        // Strided as in a packed batch: rows of other prompts before and behind.
        q = at::randn({c.heads, c.tokens + 7, c.headDim}).to(type).narrow(1, 3, c.tokens);
        k = at::randn({c.kvHeads, c.tokens + 7, c.headDim}).to(type).narrow(1, 3, c.tokens);
        rule = {2.0 / std::sqrt(static_cast<double>(c.headDim)), c.softcap, c.window};
    }
    static void expectNear(const at::Tensor& got, const at::Tensor& expected) {
        ASSERT_EQ(got.scalar_type(), at::kDouble);
        ASSERT_TRUE(at::allclose(got, expected, 2e-5, 1e-9)) << (got - expected).abs().max().item<double>();
    }
    const c10::InferenceMode on;
    at::Tensor q, k;
    AttentionRule rule;
};

TEST_P(AttentionColumns, FollowTheDefinition) {
    const at::Tensor sums = columnSums(q, k, rule, {});
    expectNear(sums, definition(q, k, rule));
    EXPECT_NEAR(sums.sum().item<double>(), static_cast<double>(q.size(1)), 1e-5 * static_cast<double>(q.size(1)));
}

TEST_P(AttentionColumns, ReachTheKernelWithTheirSizesAndStrides) {
    const auto sums = own_kernels::columnSums(q, k, rule);
    ASSERT_TRUE(sums.has_value());
    expectNear(*sums, definition(q, k, rule));
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionColumns,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(at::kFloat, at::kBFloat16, at::kHalf)));

TEST(AttentionColumnsOfALongPrompt, StopBetweenBlocks) {
    const c10::InferenceMode on;
    const at::Tensor q = at::randn({2, 600, 16}), k = at::randn({1, 600, 16});
    std::stop_source source;
    source.request_stop();
    EXPECT_THROW((void)columnSums(q, k, {0.25, 0.0, 0}, source.get_token()), StopRequested);
}

TEST(OwnKernels, LeaveOtherTypesToLibTorch) {
    const at::Tensor q = at::randn({2, 6, 16}, at::kDouble);
    EXPECT_FALSE(own_kernels::columnSums(q, q, {0.25, 0.0, 0}).has_value());
    const at::Tensor turned = at::randn({2, 16, 6}).transpose(1, 2);
    EXPECT_FALSE(own_kernels::columnSums(turned, turned, {0.25, 0.0, 0}).has_value());
}

}  // namespace
}  // namespace lpes::model
