#include "core/model/torch/layer_blocks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "core/model/torch/kernels.h"
#include "core/model/torch/packed_weight.h"
#include "core/model/torch/tile_product.h"

namespace lpes::model {
namespace {

Projection projection(std::int64_t out, std::int64_t in, bool bias) {
    Projection result;
    result.packed = packTiles((at::randn({out, in}) * 0.2).to(at::kBFloat16));
    if (bias) result.bias = at::randn({out}).to(at::kBFloat16);
    return result;
}

struct Case {
    Activation activation;
    bool bias, postNorms, wideNorms;
    std::int64_t rows;
};

/// The steps one after the other, as the decoder takes them where blocks do not pay.
class LayerBlocks : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        if (!hasTiles()) GTEST_SKIP() << "no AMX here";
        at::manual_seed(4);
        m_threads = at::get_num_threads();
        m_config.hiddenSize = 96;
        m_config.intermediateSize = 160;
        m_config.rmsNormEps = 1e-5;
        m_config.activation = GetParam().activation;
        m_config.postNorms = GetParam().postNorms;
        const auto norm = [&] { return at::randn({96}).to(GetParam().wideNorms ? at::kFloat : at::kBFloat16); };
        m_weights.attentionNorm = norm();
        m_weights.mlpNorm = norm();
        if (m_config.postNorms) {
            m_weights.postAttentionNorm = norm();
            m_weights.postMlpNorm = norm();
        }
        const bool bias = GetParam().bias;
        m_weights.qkv.push_back(projection(128, 96, bias));
        m_weights.output = projection(96, 64, bias);
        m_weights.gateUp.push_back(projection(320, 96, bias));
        m_weights.down = projection(96, 160, bias);
    }
    void TearDown() override {
        if (m_threads > 0) at::set_num_threads(m_threads);
    }
    static at::Tensor random(std::int64_t rows, std::int64_t columns) {
        return at::randn({rows, columns}).to(at::kBFloat16);
    }
    at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const {
        const at::Tensor out = at::empty_like(x);
        kernels::rmsNorm(x, weight, m_config.rmsNormEps, out);
        return out;
    }
    static at::Tensor multiply(const at::Tensor& x, const Projection& by) {
        return packedProduct(x, by.packed, by.bias);
    }

    ModelConfig m_config;
    LayerWeights m_weights;
    int m_threads = 0;
};

TEST_P(LayerBlocks, GiveTheBitsOfTheStepsOneAfterTheOther) {
    const c10::InferenceMode on;
    const std::int64_t rows = GetParam().rows;
    const at::Tensor hidden = random(rows, 96), pending = random(rows, 96), context = random(rows, 64);
    const at::Tensor before = hidden + pending;
    const at::Tensor qkv = multiply(norm(before, m_weights.attentionNorm), m_weights.qkv[0]);
    at::Tensor delta = multiply(context, m_weights.output);
    if (m_config.postNorms) delta = norm(delta, m_weights.postAttentionNorm);
    const at::Tensor middle = before + delta;
    const at::Tensor both = multiply(norm(middle, m_weights.mlpNorm), m_weights.gateUp[0]);
    const at::Tensor activated = at::empty({rows, 160}, at::kBFloat16);
    kernels::gatedActivation(m_config.activation, both.narrow(1, 0, 160), both.narrow(1, 160, 160), activated);
    delta = multiply(activated, m_weights.down);
    if (m_config.postNorms) delta = norm(delta, m_weights.postMlpNorm);
    const at::Tensor after = middle + delta;
    for (const int threads : {1, 2, 3}) {
        at::set_num_threads(threads);
        // Whatever the memory held before may be no number.
        const at::Tensor scratch = at::full({blockScratch(m_config, rows)}, NAN, at::kBFloat16);
        const at::Tensor x = hidden.clone(), out = at::empty_like(qkv);
        startLayer(m_config, m_weights, x, pending, out, scratch);
        EXPECT_TRUE(at::equal(out, qkv)) << threads << " threads";
        EXPECT_TRUE(at::equal(x, before));
        finishLayer(m_config, m_weights, context, x, scratch);
        EXPECT_TRUE(at::equal(x, after)) << threads << " threads";
        startLayer(m_config, m_weights, x, {}, out, scratch);
        EXPECT_TRUE(at::equal(out, multiply(norm(after, m_weights.attentionNorm), m_weights.qkv[0])));
    }
}

INSTANTIATE_TEST_SUITE_P(Families, LayerBlocks,
                         testing::Values(Case{Activation::Silu, false, false, false, 512},
                                         Case{Activation::Silu, true, false, false, 777},
                                         Case{Activation::GeluTanh, false, true, true, 300},
                                         Case{Activation::GeluTanh, true, true, false, 33},
                                         Case{Activation::Silu, false, false, true, 5}));

TEST(LayerBlocksOfMatrices, ThatAreNotInTilesDoNotPay) {
    if (!hasTiles()) GTEST_SKIP() << "no AMX here";
    ModelConfig config;
    config.hiddenSize = 96;
    config.intermediateSize = 160;
    LayerWeights weights;
    weights.qkv.push_back(projection(128, 96, false));
    weights.output = projection(96, 64, false);
    weights.gateUp.push_back(projection(320, 96, false));
    weights.down = projection(96, 160, false);
    EXPECT_TRUE(worthBlocks(config, weights, 4096));
    EXPECT_FALSE(worthBlocks(config, weights, 1));
    config.intermediateSize = 1 << 20;
    EXPECT_FALSE(worthBlocks(config, weights, 4096)) << "a row alone would fill the cache";
    config.intermediateSize = 176;
    EXPECT_FALSE(worthBlocks(config, weights, 4096)) << "gate and up share a panel";
    config.intermediateSize = 160;
    weights.down = {at::zeros({96, 160}, at::kBFloat16), {}, {}, {}};
    EXPECT_FALSE(worthBlocks(config, weights, 4096));
    weights.down = projection(96, 160, false);
    weights.gateUp.push_back(weights.gateUp[0]);
    EXPECT_FALSE(worthBlocks(config, weights, 4096));
}

}  // namespace
}  // namespace lpes::model
