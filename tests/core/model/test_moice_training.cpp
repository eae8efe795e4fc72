#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/model/moice_file.h"
#include "core/model/moice_training.h"
#include "tests/support/tiny_model.h"

namespace lpes::model {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

ModelConfig smallConfig() {
    ModelConfig config;
    config.numLayers = 2;
    config.numHeads = 2;
    config.numKvHeads = 1;
    config.headDim = 16;
    config.contextLength = 64;
    config.rope.theta = 10000.0;
    config.rope.headDim = 16;
    config.fingerprint = std::string(64, 'a');
    return config;
}

MoiceRecipe smallRecipe() {
    MoiceRecipe recipe;
    recipe.maxLength = 32;
    recipe.sequencesPerStep = 4;
    return recipe;
}

TEST(AdamW, AgreesWithTorch) {
    std::ifstream file(LPES_TEST_DATA "/golden/moice.json");
    const json golden = json::parse(file);
    for (const json& run : golden["adamw"]) {
        const json& given = run["settings"];
        const AdamWSettings settings{given["lr"], given["beta1"], given["beta2"], given["eps"], given["weight_decay"]};
        auto parameters = run["start"].get<std::vector<float>>();
        AdamWState state;
        for (const json& step : run["steps"]) {
            adamWStep(parameters, step["gradient"].get<std::vector<double>>(), settings, state);
            const auto expected = step["parameters"].get<std::vector<double>>();
            const auto mean = step["mean"].get<std::vector<double>>(),
                       square = step["square"].get<std::vector<double>>();
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                // torch rounds to float32 after every operation, we at the end.
                EXPECT_NEAR(parameters[i], expected[i], 4e-7 * std::max(1.0, std::abs(expected[i])));
                EXPECT_NEAR(state.mean[i], mean[i], 3e-6 * std::abs(mean[i]) + 1e-12);
                EXPECT_NEAR(state.square[i], square[i], 3e-6 * square[i]);
            }
        }
        EXPECT_EQ(state.step, 5);
    }
}

TEST(MoiceTraining, BeginsAsALinearLayerDoes) {
    const ModelConfig config = smallConfig();
    const MoiceTrainingState state = initialMoiceState(smallRecipe(), config);
    ASSERT_EQ(state.routers.bases.size(), 7u);
    EXPECT_EQ(state.routers.topK, 7);
    EXPECT_TRUE(auxiliaryLossIsConstant(state.routers));
    for (const auto& layer : state.routers.layers) {
        const auto [low, high] = std::ranges::minmax(layer.w1);
        EXPECT_GE(low, -0.25f);
        EXPECT_LE(high, 0.25f);
        EXPECT_GT(high - low, 0.4f);
        EXPECT_LE(std::ranges::max(layer.w2), 1.0f / std::sqrt(7.0f));
        EXPECT_NE(layer.w1, layer.w3);
    }
    EXPECT_NE(state.routers.layers[0].w1, state.routers.layers[1].w1);
    EXPECT_EQ(initialMoiceState(smallRecipe(), config).routers.layers, state.routers.layers);
    MoiceRecipe other = smallRecipe();
    other.seed = 2;
    other.topK = 3;
    EXPECT_NE(initialMoiceState(other, config).routers.layers, state.routers.layers);
    EXPECT_FALSE(auxiliaryLossIsConstant(initialMoiceState(other, config).routers));
}

TEST(MoiceTraining, TakesEverySequenceOnceBeforeAnyComesAgain) {
    std::vector<std::size_t> taken;
    for (int step = 0; step < 5; ++step) {
        const auto part = sequencesOfStep(3, 10, 4, step);
        ASSERT_EQ(part.size(), 4u);
        taken.insert(taken.end(), part.begin(), part.end());
    }
    const std::set<std::size_t> first(taken.begin(), taken.begin() + 10), second(taken.begin() + 10, taken.end());
    EXPECT_EQ(first.size(), 10u);
    EXPECT_EQ(second.size(), 10u);
    EXPECT_FALSE(std::equal(taken.begin(), taken.begin() + 10, taken.begin() + 10)) << "shuffled anew";
    EXPECT_NE(sequencesOfStep(4, 10, 4, 0), sequencesOfStep(3, 10, 4, 0));
    EXPECT_EQ(sequencesOfStep(3, 1, 3, 9), (std::vector<std::size_t>{0, 0, 0}));
}

TEST(MoiceTraining, RefusesRecipesThatMakeNoSense) {
    const ModelConfig config = smallConfig();
    EXPECT_TRUE(checkMoiceRecipe(smallRecipe(), config).has_value());
    const auto refused = [&](const std::function<void(MoiceRecipe&)>& edit, const std::string& words,
                             ErrorCode code = ErrorCode::Usage) {
        MoiceRecipe recipe = smallRecipe();
        edit(recipe);
        const auto checked = checkMoiceRecipe(recipe, config);
        ASSERT_FALSE(checked.has_value()) << words;
        EXPECT_EQ(checked.error().code, code);
        EXPECT_NE(checked.error().message.find(words), std::string::npos) << checked.error().text();
    };
    refused([](auto& recipe) { recipe.topK = 8; }, "top_k 8 is out of range; give 1 to 7");
    refused([](auto& recipe) { recipe.topK = -1; }, "top_k -1");
    refused([](auto& recipe) { recipe.sequencesPerStep = 0; }, "sequences_per_step 0");
    refused([](auto& recipe) { recipe.maxLength = 65; }, "max_length 65 is out of range; give 2 to 64");
    refused([](auto& recipe) { recipe.maxLength = 1; }, "max_length 1");
    refused([](auto& recipe) { recipe.adamw.learningRate = -1.0; }, "lr -1");
    refused([](auto& recipe) { recipe.adamw.learningRate = std::nan(""); }, "lr nan");
    refused([](auto& recipe) { recipe.auxCoefficient = -0.1; }, "aux -0.1");
    refused([](auto& recipe) { recipe.adamw.beta2 = 1.0; }, "beta 1");
    refused([](auto& recipe) { recipe.bases = {0.5}; }, "base 0 of moice is 0.5", ErrorCode::BadInput);
    ModelConfig yarn = config;
    yarn.rope.type = rope::RopeConfig::Type::Yarn;
    EXPECT_EQ(checkMoiceRecipe(smallRecipe(), yarn).error().code, ErrorCode::Unsupported);
}

TEST(MoiceTraining, CheckpointsGiveBackEveryBit) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    MoiceTrainingState state = initialMoiceState(smallRecipe(), config);
    std::size_t parameters = 0;
    for (const MoiceMatrix& matrix : moiceMatrices(state.routers)) parameters += matrix.values->size();
    for (std::size_t i = 0; i < parameters; ++i) {
        state.adamw.mean.push_back(1.0f / static_cast<float>(i + 3));
        state.adamw.square.push_back(1e-12f * static_cast<float>(i));
    }
    state.adamw.step = 2;
    state.curve = {{1, 1.0 / 3.0, 0.1, 7.0, 1e-9, 100}, {2, 0.3, 0.2, 6.999999999, 0.5, 101}};
    ASSERT_TRUE(writeMoiceCheckpoint(folder / "c", state, config, {{"seed", 1}}).has_value());
    const auto read = readMoiceCheckpoint(folder / "c", config);
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_EQ(read->state.routers.layers, state.routers.layers);
    EXPECT_EQ(read->state.routers.bases, state.routers.bases);
    EXPECT_EQ(read->state.adamw.mean, state.adamw.mean);
    EXPECT_EQ(read->state.adamw.square, state.adamw.square);
    EXPECT_EQ(read->state.adamw.step, 2);
    EXPECT_EQ(read->state.curve, state.curve);
    EXPECT_EQ(read->identity, (json{{"seed", 1}}));
    EXPECT_TRUE(readMoiceRouters(folder / "c", config, MoiceFile::Checkpoint).has_value())
        << "a checkpoint holds a router too";
}

TEST(MoiceTraining, RefusesDamagedCheckpoints) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    const MoiceTrainingState state = initialMoiceState(smallRecipe(), config);
    ASSERT_TRUE(writeMoiceRouters(folder / "r", state.routers, config).has_value());
    const auto routers = readMoiceCheckpoint(folder / "r", config);
    ASSERT_FALSE(routers.has_value());
    EXPECT_NE(routers.error().message.find("no checkpoint of a training"), std::string::npos);

    MoiceTrainingState broken = state;
    broken.adamw.mean = {std::numeric_limits<float>::quiet_NaN()};
    ASSERT_TRUE(writeMoiceCheckpoint(folder / "c", broken, config, json::object()).has_value());
    EXPECT_NE(readMoiceCheckpoint(folder / "c", config).error().message.find("not finite"), std::string::npos);

    broken = state;
    broken.curve = {{2, 1.0, 1.0, 1.0, 1.0, 1}};
    ASSERT_TRUE(writeMoiceCheckpoint(folder / "c", broken, config, json::object()).has_value());
    EXPECT_NE(readMoiceCheckpoint(folder / "c", config).error().message.find("not numbered"), std::string::npos);

    ASSERT_TRUE(writeMoiceCheckpoint(folder / "c", state, config, json::object()).has_value());
    std::string bytes = test::readBytes(folder / "c");
    bytes.replace(bytes.find("optimizer.mean"), 14, "optimizer.meat");
    test::writeBytes(folder / "c", bytes);
    EXPECT_NE(readMoiceCheckpoint(folder / "c", config).error().message.find("'optimizer.mean."), std::string::npos);
}

}  // namespace
}  // namespace lpes::model
