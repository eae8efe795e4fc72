// The real demo model against transformers: numbers made by tests/golden/make_demo_score.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
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
    ASSERT_GE(ids.size(), 1600u);
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
        // Rows whose best two logits are closer than the float32 angles of the reference are exact: either will do.
        std::map<std::size_t, TokenId> runnerUp;
        for (const auto& tie : golden.at(name).at("near_ties")) runnerUp[tie.at("row")] = tie.at("second");
        int different = 0, ties = 0;
        for (std::size_t i = 0; i < argmax.size(); ++i) {
            if (score->argmax[i] == argmax[i]) continue;
            const bool tie = runnerUp.count(i) > 0 && runnerUp.at(i) == score->argmax[i];
            (tie ? ties : different) += 1;
        }
        EXPECT_LE(largest, 2e-3) << name;
        EXPECT_EQ(different, 0) << name;
        std::cout << name << ": largest difference of a log-probability " << largest << ", argmax different at "
                  << different << " of " << argmax.size() << " positions, at " << ties << " of " << runnerUp.size()
                  << " near ties (gap below 2e-4)\n";
    }
}

}  // namespace
}  // namespace lpes::model
