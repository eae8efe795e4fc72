#include "core/model/torch/attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/model/torch/kernels.h"
#include "core/model/torch/tile_attention.h"
#include "core/model/torch/tile_product.h"

namespace lpes::model {
namespace {

/// Attention written out in float64.
at::Tensor reference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionRule& rule) {
    const std::int64_t heads = q.size(0), queries = q.size(1), keys = k.size(1), group = heads / k.size(0);
    const at::Tensor wideK = k.to(at::kDouble).repeat_interleave(group, 0),
                     wideV = v.to(at::kDouble).repeat_interleave(group, 0);
    at::Tensor scores = at::matmul(q.to(at::kDouble), wideK.transpose(1, 2)) * rule.scale;
    if (rule.softcap > 0.0) scores = at::tanh(scores / rule.softcap) * rule.softcap;
    const at::Tensor distance =
        at::arange(keys - queries, keys, at::kLong).unsqueeze(1) - at::arange(keys, at::kLong).unsqueeze(0);
    at::Tensor hidden = distance < 0;
    if (rule.window > 0) hidden = hidden.logical_or(distance >= rule.window);
    const at::Tensor shares = at::softmax(scores.masked_fill(hidden, -INFINITY), -1);
    return at::matmul(shares, wideV).transpose(0, 1).reshape({queries, heads * q.size(2)});
}

struct Shape {
    std::int64_t heads, kvHeads, headDim, queries, keys;
};

struct Score {
    double softcap;
    std::int64_t window;
};

AttentionRule ruleOf(const Shape& shape, const Score& score) {
    return {1.0 / std::sqrt(static_cast<double>(shape.headDim)), score.softcap, score.window};
}

struct Way {
    const char* name;
    at::ScalarType type;
    AttentionWay way;
};

class CausalAttention : public testing::TestWithParam<std::tuple<Shape, Score, Way>> {};

TEST_P(CausalAttention, AgreesWithAttentionWrittenOut) {
    const c10::InferenceMode on;
    const auto [shape, score, way] = GetParam();
    const at::ScalarType type = way.type;
    if (way.way == AttentionWay::Blocks && !hasBlockAttention()) GTEST_SKIP() << "no bfloat16 matrix products here";
    if (way.way == AttentionWay::Tiles && !hasTiles()) GTEST_SKIP() << "no AMX here";
    useAttention(way.way);
    at::manual_seed(5);
    // Strided as in a packed batch: rows of other prompts before and behind.
    const auto packed = [&](std::int64_t heads, std::int64_t rows) {
        return (at::randn({heads, rows + 7, shape.headDim}) * 1.5).to(type).narrow(1, 3, rows);
    };
    const at::Tensor q = packed(shape.heads, shape.queries), k = packed(shape.kvHeads, shape.keys),
                     v = packed(shape.kvHeads, shape.keys);
    const at::Tensor out = at::full({shape.queries, shape.heads * shape.headDim}, NAN, type);
    BlockAttentionScratch scratch;
    const AttentionPart part{0, shape.queries, 0, shape.keys};
    const AttentionRule rule = ruleOf(shape, score);
    const at::Tensor expected = reference(q, k, v, rule);
    for (const bool wide : {true, false}) {
        kernels::useWideVectors(wide);
        causalAttention(q, k, v, std::span(&part, 1), rule, out, scratch);
        const at::Tensor difference = (out.to(at::kDouble) - expected).abs();
        const double tolerance = type == at::kFloat ? 2e-5 : 4e-2;
        EXPECT_LT(difference.max().item<double>(), tolerance) << (wide ? "wide" : "portable");
        EXPECT_LT(difference.mean().item<double>(), tolerance / 20) << (wide ? "wide" : "portable");
    }
    kernels::useWideVectors(true);
    useAttention(AttentionWay::Tiles);
}

std::string caseName(const testing::TestParamInfo<CausalAttention::ParamType>& info) {
    const auto& [s, score, way] = info.param;
    return fmt::format("{}x{}x{}x{}x{}{}{}{}", s.heads, s.kvHeads, s.headDim, s.queries, s.keys,
                       score.softcap > 0.0 ? fmt::format("Capped{}", score.softcap) : "",
                       score.window > 0 ? fmt::format("Window{}", score.window) : "", way.name);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CausalAttention,
    testing::Combine(testing::Values(Shape{9, 3, 64, 190, 190}, Shape{4, 4, 32, 65, 65}, Shape{4, 2, 16, 1, 1},
                                     Shape{9, 3, 64, 1, 77}, Shape{4, 1, 16, 10, 300}, Shape{2, 1, 128, 1100, 1100},
                                     Shape{3, 3, 64, 100, 777}, Shape{2, 2, 64, 16, 16}, Shape{6, 2, 80, 130, 131},
                                     Shape{4, 2, 24, 33, 33}, Shape{4, 2, 96, 257, 600}, Shape{2, 1, 256, 321, 321},
                                     Shape{20, 2, 40, 70, 99}),
                     testing::Values(Score{0.0, 0}, Score{3.0, 0}, Score{0.0, 1}, Score{0.0, 37}, Score{0.0, 600},
                                     Score{50.0, 150}),
                     testing::Values(Way{"Float32", at::kFloat, AttentionWay::LibTorch},
                                     Way{"BFloat16", at::kBFloat16, AttentionWay::LibTorch},
                                     Way{"Blocks", at::kBFloat16, AttentionWay::Blocks},
                                     Way{"Tiles", at::kBFloat16, AttentionWay::Tiles})),
    caseName);

void expectSameBitsAloneAndTogether(decltype(&blockAttention) attend) {
    const c10::InferenceMode on;
    at::manual_seed(8);
    const at::Tensor q = at::randn({6, 900, 32}).to(at::kBFloat16), k = at::randn({2, 900, 32}).to(at::kBFloat16),
                     v = at::randn({2, 900, 32}).to(at::kBFloat16);
    const at::Tensor together = at::zeros({900, 192}, at::kBFloat16), alone = at::zeros_like(together);
    const std::vector<AttentionPart> parts{{0, 190, 0, 190}, {190, 17, 190, 17}, {207, 693, 207, 693}};
    BlockAttentionScratch scratch, other;
    const int threads = at::get_num_threads();
    for (const AttentionRule& rule : {AttentionRule{0.2, 0.0, 0}, AttentionRule{0.2, 20.0, 100}}) {
        at::set_num_threads(2);
        attend(q, k, v, parts, rule, together, scratch);
        at::set_num_threads(1);
        for (const AttentionPart& part : parts) attend(q, k, v, std::span(&part, 1), rule, alone, other);
        EXPECT_TRUE(at::equal(together, alone)) << rule.window;
    }
    at::set_num_threads(threads);
}

TEST(BlockAttention, OfAPromptIsTheSameBitsWhateverSharesTheBatchAndTheThreads) {
    if (!hasBlockAttention()) GTEST_SKIP() << "no bfloat16 matrix products here";
    expectSameBitsAloneAndTogether(blockAttention);
}

TEST(TileAttention, OfAPromptIsTheSameBitsWhateverSharesTheBatchAndTheThreads) {
    if (!hasTiles()) GTEST_SKIP() << "no AMX here";
    expectSameBitsAloneAndTogether(tileAttention);
}

/// Scores of ±hundreds, where a query's maximum rises from block to block: no overflow, no underflow to 0/0.
TEST(TileAttention, StandsScoresOfAnySize) {
    if (!hasTiles()) GTEST_SKIP() << "no AMX here";
    const c10::InferenceMode on;
    at::manual_seed(9);
    const std::int64_t keys = 700;
    const at::Tensor q = at::ones({1, keys, 64}, at::kBFloat16);
    const at::Tensor rising = at::linspace(-40.0, 40.0, keys).view({1, keys, 1});
    const at::Tensor v = at::randn({1, keys, 64}).to(at::kBFloat16);
    const at::Tensor out = at::empty({keys, 64}, at::kBFloat16);
    BlockAttentionScratch scratch;
    const AttentionPart part{0, keys, 0, keys};
    for (const double sign : {1.0, -1.0}) {
        for (const std::int64_t window : {std::int64_t{0}, std::int64_t{130}}) {
            const AttentionRule rule{0.125, 0.0, window};
            const at::Tensor k = (rising * sign).expand({1, keys, 64}).to(at::kBFloat16);
            tileAttention(q, k, v, std::span(&part, 1), rule, out, scratch);
            const at::Tensor difference = (out.to(at::kDouble) - reference(q, k, v, rule)).abs();
            EXPECT_LT(difference.max().item<double>(), 4e-2) << sign << ' ' << window;
        }
    }
}

TEST(LastRowAttention, IsTheLastRowOfTheSoftmax) {
    at::manual_seed(6);
    const at::Tensor q = at::randn({6, 32}), k = at::randn({2, 50, 32});
    const at::Tensor shares = lastRowProbabilities(q, k, {1.0 / std::sqrt(32.0)});
    const at::Tensor scores =
        at::matmul(k.repeat_interleave(3, 0).to(at::kDouble), q.to(at::kDouble).unsqueeze(2)).squeeze(2) /
        std::sqrt(32.0);
    EXPECT_TRUE(at::allclose(shares.to(at::kDouble), at::softmax(scores, -1), 1e-5, 1e-7));

    const at::Tensor ruled = lastRowProbabilities(q, k, {1.0 / std::sqrt(32.0), 2.0, 7});
    const at::Tensor capped = (at::tanh(scores / 2.0) * 2.0).narrow(1, 43, 7);
    EXPECT_TRUE(at::allclose(ruled.narrow(1, 43, 7).to(at::kDouble), at::softmax(capped, -1), 1e-5, 1e-7));
    EXPECT_TRUE(at::equal(ruled.narrow(1, 0, 43), at::zeros({6, 43})));
}

}  // namespace
}  // namespace lpes::model
