#include "core/model/torch/packed_weight.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lpes::model
