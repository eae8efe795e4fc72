#include "core/model/causal_lm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

using namespace lpes;
using namespace lpes::model;

namespace {

/// SmolLM2-135M's sizes.
ModelConfig smallModel() {
    ModelConfig config;
    config.numLayers = 30;
    config.hiddenSize = 576;
    config.numHeads = 9;
    config.numKvHeads = 3;
    config.headDim = 64;
    config.intermediateSize = 1536;
    config.vocabSize = 49152;
    return config;
}

}  // namespace

TEST(ComputeTypes, ReadsEverySpelling) {
    EXPECT_EQ(parseComputeType("auto").value(), std::optional<ComputeType>{});
    EXPECT_EQ(parseComputeType("float32").value(), ComputeType::Float32);
    EXPECT_EQ(parseComputeType("bfloat16").value(), ComputeType::BFloat16);
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16, ComputeType::Float16}) {
        EXPECT_EQ(parseComputeType(computeTypeName(type)).value(), type);
    }
}

TEST(ComputeTypes, RefusesOthersAsUsage) {
    EXPECT_EQ(parseComputeType("fp8").error().code, ErrorCode::Usage);
    EXPECT_THAT(parseComputeType("fp8").error().message, testing::HasSubstr("'fp8'"));
}

TEST(MemoryEstimates, FollowShapesAndComputeType) {
    ModelConfig config = smallModel();
    config.parameters = 134'515'008;
    EXPECT_EQ(estimateWeightBytes(config, ComputeType::BFloat16), 269'030'016);
    EXPECT_EQ(estimateKvCacheBytes(config, ComputeType::Float32, 1000), 2LL * 30 * 3 * 64 * 1000 * 4);
    const auto one = estimateActivationBytes(config, ComputeType::Float32, 1000);
    EXPECT_GT(one, estimateKvCacheBytes(config, ComputeType::Float32, 1000));
    EXPECT_GT(estimateActivationBytes(config, ComputeType::Float32, 2000), one);
    EXPECT_GT(one, estimateActivationBytes(config, ComputeType::BFloat16, 1000));
}

TEST(MemoryEstimates, FindTheLongestContextThatFits) {
    ModelConfig config = smallModel();
    config.contextLength = 8192;
    const auto type = ComputeType::BFloat16;
    EXPECT_EQ(longestContext(config, type, estimateActivationBytes(config, type, 8192)), 8192);
    EXPECT_EQ(longestContext(config, type, std::numeric_limits<std::int64_t>::max()), 8192);
    EXPECT_EQ(longestContext(config, type, estimateActivationBytes(config, type, 3000)), 3000);
    EXPECT_EQ(longestContext(config, type, estimateActivationBytes(config, type, 3000) - 1), 2999);
    EXPECT_EQ(longestContext(config, type, 0), 0);
    ASSERT_TRUE(availableMemory().has_value());
    EXPECT_GT(*availableMemory(), 1 << 20);
}

TEST(MemoryEstimates, CountEveryCacheAndPassOfAMethod) {
    ModelConfig config = smallModel();
    config.contextLength = 8192;
    const auto type = ComputeType::Float32;
    rope::PositionMethod moice, buckets;
    auto routers = std::make_shared<rope::MoiceRouters>();
    routers->bases = {10000, 15000, 18000, 19000, 20000, 22500, 25000};
    moice.moice = routers;
    buckets.buckets = rope::AttentionBuckets{routers->bases, {}};
    const rope::MethodCost experts = rope::methodCost(moice), paths = rope::methodCost(buckets);
    const std::int64_t one = estimateKvCacheBytes(config, type, 4096);
    EXPECT_EQ(estimateKvCacheBytes(config, type, 4096, experts), 4 * one) << "7 of the keys and 1 of the values";
    EXPECT_EQ(estimateKvCacheBytes(config, type, 4096, paths), 7 * one);
    const std::int64_t plain = estimateActivationBytes(config, type, 4096);
    EXPECT_GE(estimateActivationBytes(config, type, 4096, experts), plain + 3 * one);
    EXPECT_GT(estimateActivationBytes(config, type, 4096, paths), plain + 6 * one);
    // Rows of passes that do not go together are not in memory together; their caches are.
    const auto rows = [&](int tokens) {
        return estimateActivationBytes(config, type, tokens, paths) - estimateKvCacheBytes(config, type, tokens, paths);
    };
    EXPECT_LT(rows(8192), 2 * rows(4096));
    const std::int64_t bytes = estimateActivationBytes(config, type, 3000, paths);
    EXPECT_EQ(longestContext(config, type, bytes, paths), 3000);
    EXPECT_GT(longestContext(config, type, bytes), 3000);
}

TEST(MemoryEstimates, SaturateInsteadOfWrapping) {
    ModelConfig config;
    config.numLayers = 4096;
    config.numKvHeads = 1024;
    config.headDim = 1024;
    config.hiddenSize = config.intermediateSize = 1 << 20;
    const int tokens = std::numeric_limits<int>::max();
    EXPECT_EQ(estimateKvCacheBytes(config, ComputeType::Float32, tokens), std::numeric_limits<std::int64_t>::max());
    EXPECT_GT(estimateActivationBytes(config, ComputeType::Float32, tokens), 0);
}
