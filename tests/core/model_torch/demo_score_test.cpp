// The real demo model against transformers: numbers made by tests/golden/make_demo_score.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/model/torch/torch_runtime.h"

namespace lpes::model {
namespace {

namespace fs = std::filesystem;

TEST(DemoModel, ScoresATextAsTransformersDoesInFloat32) {
    const fs::path file = userDataFolder() / "models" / "demo" / "SmolLM2-135M-Instruct.Q4_1.gguf";
    if (!fs::exists(file)) GTEST_SKIP() << "the demo model is not at " << file << "; packaging/setup.sh unpacks it";
    const auto golden = nlohmann::json::parse(std::ifstream(fs::path(LPES_TEST_DATA) / "golden" / "demo_score.json"));
    const auto weights = openWeights(file);
    ASSERT_TRUE(weights.has_value()) << weights.error().text();
    NullObserver nobody;
    const auto model = loadCausalLm(*weights, {ComputeType::Float32, "cpu"}, nobody);
    ASSERT_TRUE(model.has_value()) << model.error().text();
    const auto session = (*model)->newSession(2);

    const auto ids = golden.at("ids").get<std::vector<TokenId>>();
    ASSERT_GE(ids.size(), 1500u);
    const auto layers = static_cast<std::size_t>((*model)->config().numLayers);
    const std::pair<const char*, LayerScales> profiles[] = {
        {"baseline", {}}, {"uniform_2", LayerScales(layers, 2.0)}, {"profile", golden.at("scales").get<LayerScales>()}};
    for (const auto& [name, scales] : profiles) {
        const auto score = session->scoreText(ids, scales, 1);
        ASSERT_TRUE(score.has_value()) << score.error().text();
        const auto logProbs = golden.at(name).at("log_probs").get<std::vector<double>>();
        const auto argmax = golden.at(name).at("argmax").get<std::vector<TokenId>>();
        ASSERT_EQ(score->logProbs.size(), logProbs.size());
        ASSERT_EQ(score->argmax.size(), argmax.size());
        double largest = 0.0;
        for (std::size_t i = 0; i < logProbs.size(); ++i) {
            largest = std::max(largest, std::abs(score->logProbs[i] - logProbs[i]));
        }
        EXPECT_LE(largest, 2e-3) << name;
        EXPECT_EQ(score->argmax, argmax) << name;
        std::cout << name << ": largest difference of a log-probability " << largest << ", smallest gap between the "
                  << "best two logits " << golden.at(name).at("smallest_gap") << "\n";
    }
}

}  // namespace
}  // namespace lpes::model
