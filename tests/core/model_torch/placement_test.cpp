#include "core/model/torch/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lpes::model {
namespace {

using testing::ElementsAre;

at::Device gpu(int index) {
    return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

TEST(Devices, AreReadInEverySpelling) {
    EXPECT_THAT(*parseDevices("cpu", 0), ElementsAre(ElementsAre(at::Device(at::kCPU))));
    EXPECT_THAT(*parseDevices("cuda:3", 8), ElementsAre(ElementsAre(gpu(3))));
    EXPECT_THAT(*parseDevices("cuda:0+cuda:2", 8), ElementsAre(ElementsAre(gpu(0), gpu(2))));
    EXPECT_THAT(*parseDevices("cuda:1,cuda:0", 8), ElementsAre(ElementsAre(gpu(1)), ElementsAre(gpu(0))));
    EXPECT_THAT(*parseDevices("cuda:0+cuda:1,cuda:2+cuda:3", 8),
                ElementsAre(ElementsAre(gpu(0), gpu(1)), ElementsAre(gpu(2), gpu(3))));
    EXPECT_THAT(*parseDevices("cuda", 3), ElementsAre(ElementsAre(gpu(0), gpu(1), gpu(2))));
    EXPECT_THAT(*parseDevices("cuda", 0), ElementsAre(ElementsAre(gpu(0))));
}

TEST(Devices, ThatAreNoneAreRefusedByName) {
    for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:200", "cpu,cuda:0", "cuda:0,", "+cuda:0",
                             "cuda:99999999999999999999", "CUDA:0"}) {
        const auto read = parseDevices(text, 2);
        ASSERT_FALSE(read.has_value()) << text;
        EXPECT_EQ(read.error().code, ErrorCode::Usage);
        EXPECT_THAT(read.error().message, testing::HasSubstr(std::string("'") + text + "'"));
    }
    EXPECT_THAT(parseDevices("cuda:1+cuda:1", 2).error().message, testing::HasSubstr("twice"));
}

std::vector<at::Device> spread(const Placement& placement, const std::vector<std::int64_t>& freeBytes,
                               const std::vector<std::int64_t>& layerBytes) {
    return spreadLayers(placement, freeBytes, layerBytes);
}

TEST(Layers, FillTheGpusAlikeAndLeaveATenth) {
    const std::vector<std::int64_t> layers(4, 10);
    EXPECT_THAT(spread({gpu(0)}, {100}, layers), ElementsAre(gpu(0), gpu(0), gpu(0), gpu(0)));
    EXPECT_THAT(spread({gpu(0), gpu(1)}, {30, 30}, layers), ElementsAre(gpu(0), gpu(0), gpu(1), gpu(1)));
    EXPECT_THAT(spread({gpu(0), gpu(1)}, {100, 100}, layers), ElementsAre(gpu(0), gpu(0), gpu(1), gpu(1)));
    EXPECT_THAT(spread({gpu(0), gpu(1)}, {20, 40}, layers), ElementsAre(gpu(0), gpu(1), gpu(1), gpu(1)));
    EXPECT_THAT(spread({gpu(0), gpu(1), gpu(2)}, {12, 5, 40}, layers), ElementsAre(gpu(0), gpu(2), gpu(2), gpu(2)));
    EXPECT_TRUE(spread({gpu(0), gpu(1)}, {24, 12}, layers).empty());
    EXPECT_TRUE(spread({gpu(0)}, {42}, layers).empty());
    EXPECT_EQ(usableBytes(1000), 900);
}

}  // namespace
}  // namespace lpes::model
