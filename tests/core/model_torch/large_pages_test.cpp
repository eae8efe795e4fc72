#include "core/model/torch/large_pages.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

namespace lpes::model {
namespace {

TEST(LargePages, GiveTensorsOfAnySizeThatDoNotOverlap) {
    LargePages memory;
    std::vector<at::Tensor> taken;
    for (const std::int64_t size : {1, 0, 33, 576 * 960, 1, 300 << 20 >> 2, 7}) {
        const at::Tensor tensor = memory.take({size, 1}, at::kBFloat16);
        EXPECT_EQ(tensor.size(0), size);
        EXPECT_TRUE(tensor.is_contiguous());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0u);
        taken.push_back(tensor.fill_(static_cast<double>(taken.size())));
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
        EXPECT_TRUE(taken[i].eq(static_cast<double>(i)).all().item<bool>());
    }
}

TEST(LargePages, StayAsLongAsOneTensorOfThem) {
    at::Tensor kept;
    {
        LargePages memory;
        kept = memory.take({64, 96}, at::kFloat).fill_(3.0);
        (void)memory.take({5}, at::kFloat).fill_(4.0);
    }
    EXPECT_TRUE(kept.eq(3.0).all().item<bool>());
}

TEST(LargePages, OfASingleTensorAreWholeAndAligned) {
    for (const std::int64_t size : {10, (1 << 20) + 5, 5 << 20}) {
        const at::Tensor tensor = emptyOnLargePages({3, size}, at::kByte).fill_(9);
        EXPECT_EQ(tensor.numel(), 3 * size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0u);
        EXPECT_TRUE(tensor.eq(9).all().item<bool>());
    }
}

}  // namespace
}  // namespace lpes::model
