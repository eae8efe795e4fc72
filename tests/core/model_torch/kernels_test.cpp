#include "core/model/torch/kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>

namespace lpes::model {
namespace {

/// Both versions of each kernel, in both types, against LibTorch's own operations.
class Kernels : public testing::TestWithParam<std::tuple<bool, at::ScalarType>> {
  protected:
    void SetUp() override {
        if (std::get<0>(GetParam()) && !kernels::hasWideVectors()) {
            GTEST_SKIP() << "this processor has no AVX-512 with BF16";
        }
        kernels::useWideVectors(std::get<0>(GetParam()));
        at::manual_seed(3);
    }
    void TearDown() override { kernels::useWideVectors(true); }

    at::Tensor random(at::IntArrayRef shape) const { return at::randn(shape).to(type()); }
    static at::ScalarType type() { return std::get<1>(GetParam()); }
    /// Relative rounding of the type.
    static double rounding() { return type() == at::kBFloat16 ? 0x1p-8 : 4e-7; }
    static void expectClose(const at::Tensor& actual, const at::Tensor& expected) {
        ASSERT_EQ(actual.sizes(), expected.sizes());
        EXPECT_TRUE(at::allclose(actual.to(at::kFloat), expected.to(at::kFloat), rounding(), rounding()))
            << (actual.to(at::kFloat) - expected.to(at::kFloat)).abs().max().item<float>();
    }
    static at::Tensor referenceNorm(const at::Tensor& x, const at::Tensor& weight, double eps) {
        const at::Tensor wide = x.to(at::kFloat);
        return weight * (wide * at::rsqrt(wide.pow(2).mean({1}, true) + eps)).to(type());
    }
};

TEST_P(Kernels, NormaliseRowsOfAnyWidth) {
    for (const std::int64_t width : {1, 15, 16, 64, 77, 576}) {
        const at::Tensor x = random({37, width}), weight = random({width}), out = at::empty_like(x);
        kernels::rmsNorm(x, weight, 1e-5, out);
        expectClose(out, referenceNorm(x, weight, 1e-5));
    }
}

TEST_P(Kernels, AddBeforeTheyNormalise) {
    for (const std::int64_t width : {16, 77, 576}) {
        const at::Tensor x = random({11, width}), delta = random({11, width}), weight = random({width});
        const at::Tensor sum = x + delta, out = at::empty_like(x);
        kernels::addRmsNorm(x, delta, weight, 1e-6, out);
        EXPECT_TRUE(at::equal(x, sum)) << "the residual stream is rounded as LibTorch rounds it";
        expectClose(out, referenceNorm(sum, weight, 1e-6));
    }
}

TEST_P(Kernels, GateWithSiluOfStridedRows) {
    for (const std::int64_t width : {5, 16, 1536}) {
        const at::Tensor both = random({23, 2 * width}) * 6;
        const at::Tensor gate = both.narrow(1, 0, width), up = both.narrow(1, width, width);
        const at::Tensor out = at::empty({23, width}, type());
        kernels::gatedActivation(Activation::Silu, gate, up, out);
        expectClose(out, at::silu(gate) * up);
    }
}

TEST_P(Kernels, KeepSiluFiniteAtTheEnds) {
    const at::Tensor gate = at::tensor({-1e30f, -200.0f, -88.0f, 0.0f, 88.0f, 200.0f, 1e30f}).to(type()).view({1, 7});
    const at::Tensor out = at::empty_like(gate);
    kernels::gatedActivation(Activation::Silu, gate, at::ones_like(gate), out);
    EXPECT_TRUE(out.isfinite().all().item<bool>());
    EXPECT_EQ(out[0][3].item<float>(), 0.0f);
    EXPECT_EQ(out[0][6].item<float>(), gate[0][6].item<float>());
    EXPECT_NEAR(out[0][1].item<float>(), 0.0f, 1e-30f);
}

TEST_P(Kernels, GateWithGeluAsLibTorchDoes) {
    const at::Tensor gate = random({23, 53}) * 4, up = random({23, 53});
    const at::Tensor out = at::empty({23, 53}, type());
    kernels::gatedActivation(Activation::GeluTanh, gate, up, out);
    expectClose(out, at::gelu(gate, "tanh") * up);
    const at::Tensor ends = at::tensor({-1e30f, -60.0f, 0.0f, 60.0f, 1e30f}).to(type()).view({1, 5});
    const at::Tensor finite = at::empty_like(ends);
    kernels::gatedActivation(Activation::GeluTanh, ends, at::ones_like(ends), finite);
    EXPECT_TRUE(finite.isfinite().all().item<bool>());
    EXPECT_EQ(finite[0][3].item<float>(), ends[0][3].item<float>());
    EXPECT_NEAR(finite[0][1].item<float>(), 0.0f, 1e-20f);
}

TEST_P(Kernels, NormWithAFloat32WeightRoundsOnce) {
    const at::Tensor x = random({9, 70}), weight = at::rand({70}) + 0.5;
    const at::Tensor out = at::empty({9, 70}, type());
    kernels::rmsNorm(x, weight, 1e-6, out);
    const at::Tensor wide = x.to(at::kFloat);
    expectClose(out, (wide * at::rsqrt(wide.pow(2).mean({1}, true) + 1e-6) * weight).to(type()));
}

TEST_P(Kernels, NormEveryHeadOnItsOwnAndInPlace) {
    for (const at::ScalarType weightType : {type(), at::kFloat}) {
        const at::Tensor all = random({7, 5 * 24});
        const at::Tensor heads = all.narrow(1, 24, 3 * 24);
        const at::Tensor before = all.clone(), weight = (at::rand({24}) + 0.5).to(weightType);
        const at::Tensor expected = at::empty({21, 24}, type());
        kernels::rmsNorm(heads.reshape({21, 24}), weight, 1e-6, expected);
        kernels::normHeads(heads, weight, 1e-6);
        EXPECT_TRUE(at::equal(heads.reshape({21, 24}), expected));
        EXPECT_TRUE(at::equal(all.narrow(1, 0, 24), before.narrow(1, 0, 24)));
        EXPECT_TRUE(at::equal(all.narrow(1, 96, 24), before.narrow(1, 96, 24)));
    }
}

TEST_P(Kernels, RotateALeadingPartAndLetTheRestPass) {
    const std::int64_t rows = 5, headDim = 32, half = 10;
    const std::vector<std::int32_t> tableRows{3, 0, 7, 7, 1};
    const at::Tensor angles = at::rand({8, half}) * 6;
    const RotaryTable table{angles.cos().to(type()), angles.sin().to(type())};
    const at::Tensor q = random({rows, 2 * headDim}), k = random({rows, headDim}), v = random({rows, headDim});
    const at::Tensor qOut = at::empty({2, rows, headDim}, type()), kOut = at::empty({1, rows, headDim}, type()),
                     vOut = at::empty_like(kOut);
    kernels::rotateAndSplit(q, k, v, table, tableRows, qOut, kOut, vOut);
    const at::Tensor index = at::tensor(std::vector<std::int64_t>(tableRows.begin(), tableRows.end()));
    const at::Tensor cos = table.cos.index_select(0, index), sin = table.sin.index_select(0, index);
    const at::Tensor byHead = q.view({rows, 2, headDim}).transpose(0, 1);
    const at::Tensor a = byHead.narrow(2, 0, half), b = byHead.narrow(2, half, half);
    expectClose(qOut.narrow(2, 0, half), a * cos - b * sin);
    expectClose(qOut.narrow(2, half, half), b * cos + a * sin);
    EXPECT_TRUE(
        at::equal(qOut.narrow(2, 2 * half, headDim - 2 * half), byHead.narrow(2, 2 * half, headDim - 2 * half)));
}

TEST_P(Kernels, RotateHalfSplitHeadsAtTheirPositions) {
    for (const std::int64_t headDim : {8, 16, 32, 64, 80}) {
        const std::int64_t rows = 19, heads = 3, kvHeads = 2, half = headDim / 2;
        std::vector<std::int32_t> positions(rows);
        std::iota(positions.begin(), positions.end(), 4);
        positions[10] = 0;
        const at::Tensor angles = at::rand({64, half}) * 6;
        const RotaryTable table{angles.cos().to(type()), angles.sin().to(type())};
        const at::Tensor all = random({rows, (heads + 2 * kvHeads) * headDim});
        const at::Tensor q = all.narrow(1, 0, heads * headDim), k = all.narrow(1, heads * headDim, kvHeads * headDim),
                         v = all.narrow(1, (heads + kvHeads) * headDim, kvHeads * headDim);
        const at::Tensor qOut = at::empty({heads, rows, headDim}, type());
        // As in a cache: room before and behind.
        const at::Tensor kRoom = at::zeros({kvHeads, rows + 9, headDim}, type()), vRoom = at::zeros_like(kRoom);
        kernels::rotateAndSplit(q, k, v, table, positions, qOut, kRoom.narrow(1, 5, rows), vRoom.narrow(1, 5, rows));

        const at::Tensor index = at::tensor(std::vector<std::int64_t>(positions.begin(), positions.end()));
        const at::Tensor cos = at::cat({table.cos, table.cos}, 1).index_select(0, index),
                         sin = at::cat({table.sin, table.sin}, 1).index_select(0, index);
        const auto reference = [&](const at::Tensor& in) {
            const at::Tensor byHead = in.reshape({rows, -1, headDim}).transpose(0, 1);
            const auto halves = byHead.chunk(2, 2);
            return byHead * cos + at::cat({-halves[1], halves[0]}, 2) * sin;
        };
        expectClose(qOut, reference(q));
        expectClose(kRoom.narrow(1, 5, rows), reference(k));
        EXPECT_TRUE(at::equal(vRoom.narrow(1, 5, rows), v.reshape({rows, kvHeads, headDim}).transpose(0, 1)));
        EXPECT_EQ(kRoom.narrow(1, 0, 5).abs().sum().item<float>(), 0.0f);
        EXPECT_EQ(kRoom.narrow(1, rows + 5, 4).abs().sum().item<float>(), 0.0f);
    }
}

INSTANTIATE_TEST_SUITE_P(BothVersions, Kernels,
                         testing::Combine(testing::Bool(), testing::Values(at::kFloat, at::kBFloat16)),
                         [](const auto& param) {
                             return std::string(std::get<0>(param.param) ? "Wide" : "Portable") +
                                    (std::get<1>(param.param) == at::kFloat ? "Float32" : "BFloat16");
                         });

}  // namespace
}  // namespace lpes::model
