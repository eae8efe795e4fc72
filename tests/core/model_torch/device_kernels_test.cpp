#include "core/model/torch/device_kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/model/torch/kernels.h"
#include "core/model/torch/own_kernels.h"
#include "core/model/torch/table_rows.h"

namespace lpes::model {
namespace {

/// What a layer's rotation reads and writes.
struct Layer {
    Layer(at::ScalarType type, std::int64_t headDim, std::int64_t rotaryDim, std::int64_t rows,
          std::int64_t tableRows) {
        at::manual_seed(3);
        const at::Tensor angles = at::rand({tableRows, rotaryDim / 2}) * 6;
        table = {angles.cos().to(type), angles.sin().to(type)};
        fused = at::randn({rows, 5 * headDim}).to(type);
        q = fused.narrow(1, 0, 3 * headDim);
        k = fused.narrow(1, 3 * headDim, headDim);
        v = fused.narrow(1, 4 * headDim, headDim);
        // Keys and values go behind what a cache holds.
        qOut = at::zeros({3, rows, headDim}, type);
        kOut = at::zeros({1, rows + 5, headDim}, type).narrow(1, 5, rows);
        vOut = at::zeros({1, rows + 5, headDim}, type).narrow(1, 5, rows);
    }
    [[nodiscard]] at::Tensor result() const {
        return at::cat({qOut.reshape({-1}), kOut.reshape({-1}), vOut.reshape({-1})});
    }
    RotaryTable table;
    at::Tensor fused, q, k, v, qOut, kOut, vOut;
};

std::vector<std::int32_t> from(std::int32_t first, std::int64_t count) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    return rows;
}

std::vector<std::int32_t> joined(std::initializer_list<std::vector<std::int32_t>> parts) {
    std::vector<std::int32_t> rows;
    for (const auto& part : parts) rows.insert(rows.end(), part.begin(), part.end());
    return rows;
}

/// Consecutive rows; prompts of one batch; prompts whose tables stand in another order, with ends that look
/// consecutive (as dynamic NTK leaves them).
const std::vector<std::int32_t> kRows[] = {
    from(4, 20),
    joined({from(0, 5), from(0, 15)}),
    joined({from(0, 3), from(10, 6), from(3, 7), from(16, 4)}),
};

class DeviceRotation : public testing::TestWithParam<at::ScalarType> {};

TEST_P(DeviceRotation, OfTheKernelAndOfTheOperatorsHaveTheSameBits) {
    for (const auto& [headDim, rotaryDim] : {std::pair{64, 64}, {80, 32}, {36, 36}, {16, 10}}) {
        for (const std::vector<std::int32_t>& rows : kRows) {
            const auto count = static_cast<std::int64_t>(rows.size());
            const Layer byOperators(GetParam(), headDim, rotaryDim, count, 30);
            const Layer byKernel(GetParam(), headDim, rotaryDim, count, 30);
            const auto run = [&](const Layer& layer) {
                device_kernels::rotateAndSplit(layer.q, layer.k, layer.v, layer.table, rows, layer.qOut, layer.kOut,
                                               layer.vOut);
            };
            run(byOperators);
            ASSERT_TRUE(own_kernels::rotateAndSplit(byKernel.q, byKernel.k, byKernel.v, byKernel.table, rows,
                                                    byKernel.qOut, byKernel.kOut, byKernel.vOut));
            EXPECT_TRUE(at::equal(byOperators.result(), byKernel.result())) << headDim << " " << rotaryDim;
        }
    }
}

TEST_P(DeviceRotation, AgreesWithTheProcessors) {
    if (GetParam() == at::kHalf) GTEST_SKIP() << "float16 is for GPUs only";
    for (const std::vector<std::int32_t>& rows : kRows) {
        const auto count = static_cast<std::int64_t>(rows.size());
        const Layer onDevice(GetParam(), 80, 32, count, 30), onProcessor(GetParam(), 80, 32, count, 30);
        device_kernels::rotateAndSplit(onDevice.q, onDevice.k, onDevice.v, onDevice.table, rows, onDevice.qOut,
                                       onDevice.kOut, onDevice.vOut);
        kernels::rotateAndSplit(onProcessor.q, onProcessor.k, onProcessor.v, onProcessor.table, rows, onProcessor.qOut,
                                onProcessor.kOut, onProcessor.vOut);
        const double rounding = GetParam() == at::kFloat ? 1e-6 : 0.0;
        EXPECT_TRUE(
            at::allclose(onDevice.result().to(at::kFloat), onProcessor.result().to(at::kFloat), rounding, rounding));
    }
}

INSTANTIATE_TEST_SUITE_P(Types, DeviceRotation, testing::Values(at::kFloat, at::kBFloat16, at::kHalf));

TEST(DeviceRotation, LeavesWhatTheKernelDoesNotKnowToLibTorch) {
    const Layer wide(at::kDouble, 16, 16, 4, 4);
    EXPECT_FALSE(
        own_kernels::rotateAndSplit(wide.q, wide.k, wide.v, wide.table, from(0, 4), wide.qOut, wide.kOut, wide.vOut));
    Layer mixed(at::kBFloat16, 16, 16, 4, 4);
    mixed.table.cos = mixed.table.cos.to(at::kFloat);
    EXPECT_FALSE(own_kernels::rotateAndSplit(mixed.q, mixed.k, mixed.v, mixed.table, from(0, 4), mixed.qOut, mixed.kOut,
                                             mixed.vOut));
}

TEST(TableRows, AreConsecutiveWhenEachFollowsTheLast) {
    EXPECT_EQ(firstOfConsecutive(from(7, 1)), 7);
    EXPECT_EQ(firstOfConsecutive(from(3, 9)), 3);
    EXPECT_FALSE(firstOfConsecutive({}).has_value());
    EXPECT_FALSE(firstOfConsecutive(kRows[1]).has_value());
    EXPECT_FALSE(firstOfConsecutive(kRows[2]).has_value());
}

TEST(TableRows, OnADeviceAreThoseThatAreAskedFor) {
    const auto values = [](const at::Tensor& rows) {
        return std::vector<std::int32_t>(rows.const_data_ptr<std::int32_t>(),
                                         rows.const_data_ptr<std::int32_t>() + rows.numel());
    };
    const at::Tensor first = rowsOn(at::kCPU, kRows[1]);
    EXPECT_EQ(values(first), kRows[1]);
    EXPECT_EQ(rowsOn(at::kCPU, kRows[1]).const_data_ptr(), first.const_data_ptr()) << "the next layer's are the same";
    EXPECT_EQ(values(rowsOn(at::kCPU, kRows[2])), kRows[2]);
    EXPECT_EQ(values(first), kRows[1]);
}

}  // namespace
}  // namespace lpes::model
