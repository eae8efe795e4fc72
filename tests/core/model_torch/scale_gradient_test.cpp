#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;
using test::randomPrompt;

TEST(ScaleGradient, AgreesWithCentralDifferences) {
    test::TinyModelSpec gqa;
    gqa.numLayers = 3;
    test::TinyModelSpec qwen = gqa;
    qwen.architecture = Architecture::Qwen2;
    qwen.linearFactor = 2.0;
    for (const auto& spec : {gqa, qwen}) {
        const auto session = loadTiny(spec)->newSession(1);
        const ScoredPrompt prompt = randomPrompt(30, 4, 1);
        const LayerScales scales{1.2, 0.9, 1.5};
        const auto result = session->scaleGradient(prompt, scales);
        ASSERT_TRUE(result.has_value()) << result.error().text();
        ASSERT_EQ(result->gradient.size(), 3u);
        const auto nll = [&](const LayerScales& at) {
            return session->scoreAnswers(std::span(&prompt, 1), at)->front().meanNll;
        };
        EXPECT_NEAR(result->meanNll, nll(scales), 1e-5);
        double size = 0.0;
        for (std::size_t layer = 0; layer < 3; ++layer) {
            // Fourth order: float32 noise forbids the small step that second order would need.
            constexpr double kStep = 2e-3;
            const auto at = [&](double steps) {
                LayerScales moved = scales;
                moved[layer] += steps * kStep;
                return nll(moved);
            };
            const double difference = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep);
            EXPECT_NEAR(result->gradient[layer], difference, 2e-3 + 0.01 * std::abs(difference)) << "layer " << layer;
            size += std::abs(difference);
        }
        EXPECT_GT(size, 0.05) << "the scales have no effect here, so the test says nothing";
    }
}

TEST(ScaleGradient, WorksInBFloat16AndAfterScoringInTheSameThread) {
    const auto model = loadTiny({}, ComputeType::BFloat16);
    const auto wide = loadTiny();
    const auto session = model->newSession(2);
    const ScoredPrompt prompt = randomPrompt(60, 4, 1);
    const auto before = session->scoreAnswers(std::span(&prompt, 1), {});
    const auto result = session->scaleGradient(prompt, LayerScales{1.1, 1.3});
    const auto reference = wide->newSession(1)->scaleGradient(prompt, LayerScales{1.1, 1.3});
    ASSERT_TRUE(result.has_value() && reference.has_value()) << result.error().text();
    EXPECT_NEAR(result->meanNll, reference->meanNll, 0.1);
    for (std::size_t layer = 0; layer < 2; ++layer) {
        EXPECT_NEAR(result->gradient[layer], reference->gradient[layer],
                    0.3 * std::abs(reference->gradient[layer]) + 0.05);
    }
    EXPECT_EQ(session->scoreAnswers(std::span(&prompt, 1), {})->front().logProbs, before->front().logProbs);
}

TEST(ScaleGradient, NeedsScalesAndAnswersToStop) {
    const auto session = loadTiny()->newSession(1);
    EXPECT_EQ(session->scaleGradient(randomPrompt(5, 1, 1), {}).error().code, ErrorCode::Usage);
    EXPECT_EQ(session->scaleGradient(randomPrompt(5, 1, 1), {1.0}).error().code, ErrorCode::BadInput);
    std::stop_source source;
    source.request_stop();
    const auto stopped = session->scaleGradient(randomPrompt(5, 1, 1), {1.0, 1.0}, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(wasStopped(stopped.error()));
}

}  // namespace
}  // namespace lpes::model
