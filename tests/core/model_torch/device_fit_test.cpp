#include "core/model/torch/device_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/request_checks.h"
#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

at::Device gpu(int index) {
    return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

/// A model of four layers and numbers of its memory; no GPU is needed for them.
struct Fit : testing::Test {
    static test::TinyModelSpec spec() {
        test::TinyModelSpec tiny;
        tiny.numLayers = 4;
        tiny.contextLength = 4096;
        return tiny;
    }
    [[nodiscard]] const ModelConfig& config() const { return weights.config(); }
    [[nodiscard]] std::int64_t bytesOf(int firstLayer, int layers, bool several) const {
        const auto bytes = bytesByLayer(weights, kType, several);
        std::int64_t total = 0;
        for (int layer = firstLayer; layer < firstLayer + layers; ++layer)
            total += bytes[static_cast<std::size_t>(layer)];
        return total;
    }
    /// Free memory of a GPU on which `tokens` fit beside its layers, and not one more.
    [[nodiscard]] std::int64_t freeFor(int tokens, int firstLayer, int layers, bool several) const {
        const bool head = firstLayer + layers == config().numLayers;
        std::int64_t free =
            (bytesOf(firstLayer, layers, several) + estimateActivationBytes(config(), kType, tokens, layers, head)) *
            10 / 9;
        while (usableBytes(free) <
               bytesOf(firstLayer, layers, several) + estimateActivationBytes(config(), kType, tokens, layers, head)) {
            free += 100;
        }
        return free;
    }
    [[nodiscard]] Result<LayerPlan> plan(const Placement& placement, const std::vector<std::int64_t>& freeBytes) const {
        return planLayers(weights, kType, placement, freeBytes);
    }
    static constexpr ComputeType kType = ComputeType::BFloat16;
    test::MemoryWeights weights{test::makeTinyModel(spec())};
};

TEST_F(Fit, TheLongestContextOfOneGpuIsWhatItsFreeMemoryHolds) {
    const auto fits = plan({gpu(0)}, {freeFor(1000, 0, 4, false)});
    ASSERT_TRUE(fits.has_value()) << fits.error().text();
    EXPECT_THAT(fits->devices, Each(gpu(0)));
    EXPECT_NEAR(fits->longestContext, 1000, 1);
    EXPECT_EQ(fits->weightBytes, bytesOf(0, 4, false));
    EXPECT_EQ(plan({gpu(0)}, {std::int64_t{1} << 32})->longestContext, config().contextLength);
}

TEST_F(Fit, ASecondGpuIsTakenForTheSakeOfTheContext) {
    const std::int64_t enough = freeFor(4096, 0, 4, false), little = freeFor(300, 0, 4, false);
    EXPECT_THAT(plan({gpu(0), gpu(1)}, {enough, enough})->devices, Each(gpu(0)));
    const auto shared = plan({gpu(0), gpu(1)}, {little, little});
    ASSERT_TRUE(shared.has_value());
    EXPECT_THAT(shared->devices, ElementsAre(gpu(0), gpu(0), gpu(1), gpu(1)));
    EXPECT_GT(shared->longestContext, 300);
    // Where a second one does not help, the first keeps everything.
    const auto useless = plan({gpu(0), gpu(1)}, {little, bytesOf(3, 1, true) * 10 / 9});
    ASSERT_TRUE(useless.has_value());
    EXPECT_THAT(useless->devices, Each(gpu(0)));
}

TEST_F(Fit, TheTighterOfTwoGpusSetsTheContext) {
    // Alike in all but the logits, which are with the last one.
    const std::int64_t free = freeFor(700, 2, 2, true);
    const auto shared = plan({gpu(0), gpu(1)}, {free, free});
    ASSERT_TRUE(shared.has_value());
    EXPECT_THAT(shared->devices, ElementsAre(gpu(0), gpu(0), gpu(1), gpu(1)));
    EXPECT_NEAR(shared->longestContext, 700, 1);
    EXPECT_GT(longestContext(config(), kType, usableBytes(free) - bytesOf(0, 2, true), 2, false), 710);
}

TEST_F(Fit, CachesOfAMethodShortenTheContextAndMoveNoLayer) {
    rope::MethodCost seven;
    seven.keyCaches = seven.valueCaches = seven.passes = 7;
    const std::vector<std::int64_t> free{freeFor(2000, 0, 4, false)};
    const Placement one{gpu(0)};
    const auto plain = planLayers(weights, kType, one, free), under = planLayers(weights, kType, one, free, seven);
    ASSERT_TRUE(plain.has_value() && under.has_value());
    EXPECT_EQ(under->devices, plain->devices);
    EXPECT_GT(under->longestContext, 0);
    EXPECT_LT(under->longestContext, plain->longestContext / 2);
}

TEST(MemoryChecks, CountEveryCacheOfTheMethod) {
    const auto available = availableMemory();
    ASSERT_TRUE(available.has_value());
    constexpr int kTokens = 4096;
    ModelConfig config;
    config.numHeads = config.numKvHeads = 1;
    config.headDim = 1024;
    config.hiddenSize = config.intermediateSize = config.vocabSize = 8;
    config.contextLength = kTokens;
    // Layers until one cache takes a sixth of what is free.
    config.numLayers = 1;
    const std::int64_t layer = estimateKvCacheBytes(config, ComputeType::Float32, kTokens);
    config.numLayers = std::max(1, static_cast<int>(*available / 6 / layer));
    rope::PositionMethod buckets, once;
    buckets.text = "attention-buckets";
    buckets.buckets = rope::AttentionBuckets{std::vector<double>(12, 10000.0), {}};
    EXPECT_TRUE(checkMemoryFor(kTokens, true, once, config, ComputeType::Float32).has_value());
    const auto refused = checkMemoryFor(kTokens, true, buckets, config, ComputeType::Float32);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_THAT(refused.error().message, HasSubstr("4096 tokens under the method 'attention-buckets' need"));
    EXPECT_TRUE(checkMemoryFor(kTokens, false, buckets, config, ComputeType::Float32).has_value())
        << "a pass that keeps nothing has no cache";
}

TEST_F(Fit, WhatDoesNotFitIsRefusedWithTheNumbers) {
    const auto weightsAlone = plan({gpu(0), gpu(2)}, {10000, 10000});
    ASSERT_FALSE(weightsAlone.has_value());
    EXPECT_EQ(weightsAlone.error().code, ErrorCode::OutOfMemory);
    EXPECT_THAT(weightsAlone.error().message, HasSubstr("the weights of 'tiny' need"));
    EXPECT_THAT(weightsAlone.error().message, HasSubstr("memory are free on cuda:0+cuda:2"));
    const auto noToken = plan({gpu(0)}, {bytesOf(0, 4, false) * 10 / 9 + 200});
    ASSERT_FALSE(noToken.has_value());
    EXPECT_EQ(noToken.error().code, ErrorCode::OutOfMemory);
    EXPECT_THAT(noToken.error().message, HasSubstr("one token needs about"));
}

TEST_F(Fit, AShortContextIsSaidInWords) {
    const Placement one{gpu(0)};
    EXPECT_EQ(shortContextWarning(weights, kType, one, {{}, 0, config().contextLength}), "");
    const std::string warning = shortContextWarning(weights, kType, one, {{}, 0, 1234});
    EXPECT_THAT(warning, HasSubstr("context of 4096 tokens"));
    EXPECT_THAT(warning, HasSubstr("about 1234 tokens fit (no length is changed in silence)"));
    EXPECT_THAT(warning, HasSubstr("cuda:0"));
}

TEST_F(Fit, OnTheProcessorIsItsMemorys) {
    const auto onCpu = planLayers(weights, kType, {at::Device(at::kCPU)});
    ASSERT_TRUE(onCpu.has_value());
    EXPECT_EQ(onCpu->devices.size(), 4u);
    EXPECT_THAT(onCpu->devices, Each(at::Device(at::kCPU)));
    const auto fit = fitOnDevice(weights, "cpu", kType);
    ASSERT_TRUE(fit.has_value() && fit->has_value());
    EXPECT_TRUE((*fit)->weightsFit);
    EXPECT_EQ((*fit)->longestContext, 4096);
    EXPECT_TRUE((*fit)->gpus.empty());
}

TEST_F(Fit, SharesOfLayersAddUpToTheWhole) {
    const auto bytes = [&](int layers, bool head) {
        return estimateActivationBytes(config(), kType, 500, layers, head);
    };
    EXPECT_EQ(bytes(4, true), estimateActivationBytes(config(), kType, 500));
    EXPECT_LT(bytes(2, false), bytes(2, true));
    EXPECT_LT(bytes(1, true), bytes(2, true));
    EXPECT_GE(bytes(2, false) + bytes(2, true), bytes(4, true)) << "both hold a residual stream of their own";
}

TEST(DefaultType, IsBFloat16WhereTheDeviceMultipliesItNatively) {
    const std::vector<Gpu> gpus = {{0, "old", 7, 5, 0}, {1, "new", 9, 0, 0}};
    const auto type = [&](const std::string& device, bool processor) {
        const auto placements = parseDevices(device, 2);
        return defaultTypeOn(*placements, gpus, processor);
    };
    for (const bool processor : {false, true}) {
        EXPECT_EQ(type("cpu", processor), processor ? ComputeType::BFloat16 : ComputeType::Float32);
        EXPECT_EQ(type("cuda:0", processor), ComputeType::Float32);
        EXPECT_EQ(type("cuda:1", processor), ComputeType::BFloat16);
        EXPECT_EQ(type("cuda:0+cuda:1", processor), ComputeType::Float32);
        EXPECT_EQ(type("cuda:1,cuda:0", processor), ComputeType::Float32);
        EXPECT_EQ(type("cuda:5", processor), ComputeType::BFloat16);
    }
}

TEST(DefaultType, OfWhatIsNoDeviceIsRefused) {
    const auto none = defaultComputeType("gpu");
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().code, ErrorCode::Usage);
    EXPECT_EQ(*defaultComputeType("cpu"), hasNativeBFloat16() ? ComputeType::BFloat16 : ComputeType::Float32);
}

TEST(UsablePlacements, RefuseAGpuThatIsNotThereAsLoadingDoes) {
    if (!discoverGpus().gpus.empty()) GTEST_SKIP() << "there is a GPU";
    const auto placements = usablePlacements("cuda:0");
    ASSERT_FALSE(placements.has_value());
    EXPECT_EQ(placements.error().code, ErrorCode::Unsupported);
    NullObserver nobody;
    const auto loaded =
        loadCausalLm(std::make_shared<test::MemoryWeights>(test::makeTinyModel()), {std::nullopt, "cuda:0"}, nobody);
    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().message, placements.error().message);
    const auto fit = fitOnDevice(test::MemoryWeights(test::makeTinyModel()), "cuda:0", ComputeType::BFloat16);
    ASSERT_FALSE(fit.has_value());
    EXPECT_EQ(fit.error().message, placements.error().message);
}

}  // namespace
}  // namespace lpes::model
