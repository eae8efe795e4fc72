#include "core/model/torch/packed_weight.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "core/model/torch/tile_product.h"

namespace lpes::model {
namespace {

TEST(PackedWeight, MultipliesAsThePlainOneAndUnpacksToIt) {
    if (!hasPackedWeights()) GTEST_SKIP() << "this processor has no bfloat16 matrix products";
    at::manual_seed(2);
    for (const auto& [out, in] : {std::pair{960, 576}, std::pair{64, 96}, std::pair{33, 50}}) {
        const at::Tensor weight = at::randn({out, in}).to(at::kBFloat16), bias = at::randn({out}).to(at::kBFloat16);
        const at::Tensor packed = packWeight(weight);
        EXPECT_TRUE(at::equal(unpackWeight(packed), weight));
        const c10::InferenceMode on;
        for (const std::int64_t rows : {1, 17, 190, 570}) {
            const at::Tensor x = at::randn({rows, in}).to(at::kBFloat16);
            const auto close = [](const at::Tensor& a, const at::Tensor& b) {
                return at::allclose(a.to(at::kFloat), b.to(at::kFloat), 0x1p-7, 0.02);
            };
            EXPECT_TRUE(close(packedProduct(x, packed, {}), at::mm(x, weight.t())));
            EXPECT_TRUE(close(packedProduct(x, packed, bias), at::addmm(bias, x, weight.t())));
        }
    }
}

TEST(TileProduct, OfARowIsTheSameBitsWhateverTheOtherRowsAndTheThreads) {
    if (!hasTiles()) GTEST_SKIP() << "no AMX here";
    at::manual_seed(3);
    const at::Tensor packed = packTiles(at::randn({576, 320}).to(at::kBFloat16));
    const c10::InferenceMode on;
    const at::Tensor x = at::randn({300, 320}).to(at::kBFloat16);
    const at::Tensor all = at::empty({300, 576}, at::kBFloat16), some = at::empty({37, 576}, at::kBFloat16);
    const int threads = at::get_num_threads();
    at::set_num_threads(3);
    tileProduct(x, packed, {}, all);
    at::set_num_threads(1);
    tileProduct(x.narrow(0, 250, 37), packed, {}, some);
    EXPECT_TRUE(at::equal(all.narrow(0, 250, 37), some));
    const at::Tensor one = at::empty({1, 576}, at::kBFloat16), again = at::empty_like(one);
    tileProduct(x.narrow(0, 5, 1), packed, {}, one);
    at::set_num_threads(3);
    tileProduct(x.narrow(0, 5, 1), packed, {}, again);
    EXPECT_TRUE(at::equal(one, again));
    at::set_num_threads(threads);
}

}  // namespace
}  // namespace lpes::model
