// Against transformers: numbers made by tests/golden/make_tiny_logits.py from the weights that are read here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/model/torch/torch_runtime.h"
#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

namespace fs = std::filesystem;

const nlohmann::json& golden() {
    static const nlohmann::json numbers =
        nlohmann::json::parse(std::ifstream(fs::path(LPES_TEST_DATA) / "golden" / "tiny_logits.json"));
    return numbers;
}

class GoldenLogits : public testing::TestWithParam<std::string> {
  protected:
    const nlohmann::json& numbers() const { return golden().at("models").at(GetParam()); }
    std::vector<TokenId> ids() const { return numbers().at("ids").get<std::vector<TokenId>>(); }
    LayerScales scales(const std::string& profile, int layers) const {
        if (profile == "baseline") return {};
        if (profile == "uniform_2") return LayerScales(static_cast<std::size_t>(layers), 2.0);
        return numbers().at("scales").get<LayerScales>();
    }
    std::shared_ptr<const CausalLm> load(ComputeType type) const {
        return test::loadFrom(fs::path(LPES_TEST_DATA) / "golden" / "tiny" / GetParam(), type);
    }
};

constexpr const char* kProfiles[] = {"baseline", "uniform_2", "per_layer"};

TEST_P(GoldenLogits, OfEveryTokenAgreeWithTransformersInFloat32) {
    const auto model = load(ComputeType::Float32);
    const auto session = model->newSession(2);
    for (const char* profile : kProfiles) {
        const auto score = session->scoreText(ids(), scales(profile, model->config().numLayers), 1);
        ASSERT_TRUE(score.has_value()) << score.error().text();
        const auto expected = numbers().at(profile).at("log_probs").get<std::vector<double>>();
        ASSERT_EQ(score->logProbs.size(), expected.size());
        double largest = 0.0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            largest = std::max(largest, std::abs(score->logProbs[i] - expected[i]));
        }
        EXPECT_LT(largest, 1e-4) << profile;
        RecordProperty(std::string("max_difference_") + profile, std::to_string(largest));
    }
}

TEST_P(GoldenLogits, OfShortAndLongPositionsAgreeWithTransformersWhileGenerating) {
    const auto model = load(ComputeType::Float32);
    const auto session = model->newSession(1);
    const auto all = ids();
    const auto rows = golden().at("rows").get<std::vector<int>>();
    const auto step = golden().at("column_step").get<std::size_t>();
    for (const char* profile : kProfiles) {
        session->resetSequence();
        ASSERT_TRUE(session->setMethod(scales(profile, model->config().numLayers)).has_value());
        const auto expected = numbers().at(profile).at("logits").get<std::vector<std::vector<float>>>();
        int done = 0;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            // Rows 0 … 5 come token by token, row 690 after a chunk in front of which the cache holds tokens.
            const auto chunk =
                std::span(all).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(rows[r] + 1 - done));
            const auto logits = session->advance(chunk);
            ASSERT_TRUE(logits.has_value()) << logits.error().text();
            done = rows[r] + 1;
            for (std::size_t column = 0; column < expected[r].size(); ++column) {
                ASSERT_NEAR((*logits)[column * step], expected[r][column], 1e-4)
                    << profile << " row " << rows[r] << " column " << column * step;
            }
        }
    }
}

TEST_P(GoldenLogits, InBFloat16StayCloseToFloat32) {
    const auto model = load(ComputeType::BFloat16);
    const auto session = model->newSession(2);
    for (const char* profile : kProfiles) {
        const auto score = session->scoreText(ids(), scales(profile, model->config().numLayers), 1);
        ASSERT_TRUE(score.has_value()) << score.error().text();
        const auto expected = numbers().at(profile).at("log_probs").get<std::vector<double>>();
        double sum = 0.0;
        for (std::size_t i = 0; i < expected.size(); ++i) sum += std::abs(score->logProbs[i] - expected[i]);
        EXPECT_LT(sum / static_cast<double>(expected.size()), 0.1) << profile;
    }
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenLogits,
                         testing::Values("llama_gqa", "llama_mha_tied", "qwen2_bias", "llama_linear"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace lpes::model
