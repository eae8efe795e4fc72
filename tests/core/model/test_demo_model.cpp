#include "core/base/files.h"
#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;

TEST(DemoModel, IsSmolLm2) {
    const std::filesystem::path file = userDataFolder() / "models/demo/SmolLM2-135M-Instruct.Q4_1.gguf";
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there; packaging/setup.sh puts it there";
    const auto source = opened(file);
    const ModelConfig& config = source->config();
    EXPECT_EQ(config.numLayers, 30);
    EXPECT_EQ(config.numHeads, 9);
    EXPECT_EQ(config.numKvHeads, 3);
    EXPECT_EQ(config.headDim, 64);
    EXPECT_EQ(config.hiddenSize, 576);
    EXPECT_EQ(config.intermediateSize, 1536);
    EXPECT_EQ(config.vocabSize, 49152);
    EXPECT_EQ(config.contextLength, 8192);
    EXPECT_EQ(config.rope.theta, 100000.0);
    EXPECT_EQ(config.rope.type, rope::RopeConfig::Type::Default);
    EXPECT_TRUE(config.tiedHead);
    EXPECT_FALSE(config.qkvBias);
    EXPECT_EQ(config.parameters, 134'515'008);
    EXPECT_EQ(config.weightTypes, "Q4_1, Q8_0, F32");
    EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();
    for (const std::string& name : source->names()) EXPECT_TRUE(source->checkFinite(name)) << name;
}
