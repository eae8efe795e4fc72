#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/random.h"
#include "core/model/torch/moice_gradient.h"

namespace lpes::model {
namespace {

using nlohmann::json;

at::Tensor tensorOf(const json& rows) {
    std::vector<float> values;
    for (const json& row : rows) {
        for (const json& value : row) values.push_back(value.get<float>());
    }
    return at::tensor(values).view({static_cast<std::int64_t>(rows.size()), -1});
}

TEST(SwitchLoss, AgreesWithTransformers) {
    std::ifstream file(LPES_TEST_DATA "/golden/moice.json");
    const json golden = json::parse(file)["switch"];
    for (const json& test : golden["cases"]) {
        SwitchLoss loss(7, test["top_k"].get<int>());
        for (const json& layer : golden["logits"]) loss.add(tensorOf(layer));
        EXPECT_NEAR(loss.value(), test["loss"].get<double>(), 2e-6);
        for (std::size_t layer = 0; layer < golden["logits"].size(); ++layer) {
            const at::Tensor logits = tensorOf(golden["logits"][layer]).requires_grad_(true);
            loss.part(logits).backward();
            const at::Tensor expected = tensorOf(test["gradient"][layer]);
            EXPECT_LT((logits.grad() - expected).abs().max().item<double>(), 1e-8)
                << "top_k " << test["top_k"] << ", layer " << layer;
        }
    }
}

/// The same on every machine.
at::Tensor randomLogits(int rows) {
    RandomStream random(1, kStreamTests);
    std::vector<float> values;
    for (int i = 0; i < rows * 7; ++i) values.push_back(static_cast<float>(random.normal()));
    return at::tensor(values).view({rows, 7});
}

TEST(SwitchLoss, HasTheCheckValuesOfRandomLogits) {
    const at::Tensor logits = randomLogits(2000).view({4, 500, 7});
    const auto lossAt = [&](int topK) {
        SwitchLoss loss(7, topK);
        for (std::int64_t layer = 0; layer < 4; ++layer) loss.add(logits[layer]);
        return loss.value();
    };
    EXPECT_NEAR(lossAt(7), 7.0, 1e-6);
    EXPECT_NEAR(lossAt(3), 3.01, 0.02);
    EXPECT_NEAR(lossAt(1), 1.007, 0.01);
}

TEST(SwitchLoss, HasNoGradientWhereEveryExpertIsKept) {
    const at::Tensor logits = randomLogits(50).requires_grad_(true);
    SwitchLoss loss(7, 7);
    loss.add(logits);
    loss.part(logits).backward();
    // Rounding of a softmax's gradient alone; with top_k 1 it is above 1e-3.
    EXPECT_LT(logits.grad().abs().max().item<double>(), 1e-7);
    SwitchLoss pulling(7, 1);
    pulling.add(logits);
    pulling.part(logits).backward();
    EXPECT_GT(logits.grad().abs().max().item<double>(), 1e-3);
}

}  // namespace
}  // namespace lpes::model
