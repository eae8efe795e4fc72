#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;
using test::randomPrompt;

/// A place in a method's scales, layer by layer.
using ScaleAt = std::function<double&(PositionMethod& method, std::size_t place)>;

double& layerScale(PositionMethod& method, std::size_t place) {
    return method.scales[place];
}
double& headScale(PositionMethod& method, std::size_t place) {
    const std::size_t heads = method.headScales[0].size();
    return method.headScales[place / heads][place % heads];
}
double& divisor(PositionMethod& method, std::size_t place) {
    const std::size_t frequencies = method.divisors[0].size();
    return method.divisors[place / frequencies][place % frequencies];
}

void expectCentralDifferences(ModelSession& session, const PositionMethod& method, const ScaleAt& scaleAt,
                              std::size_t places) {
    const ScoredPrompt prompt = randomPrompt(30, 4, 1);
    const auto result = session.scaleGradients(std::span(&prompt, 1), method);
    ASSERT_TRUE(result.has_value()) << result.error().text();
    ASSERT_EQ(result->front().gradient.size(), places);
    const auto nll = [&](const PositionMethod& at) {
        return session.scoreAnswers(std::span(&prompt, 1), at)->front().meanNll;
    };
    EXPECT_NEAR(result->front().meanNll, nll(method), 1e-5);
    double size = 0.0;
    for (std::size_t place = 0; place < places; ++place) {
        // Fourth order: float32 noise forbids the small step that second order would need.
        constexpr double kStep = 2e-3;
        const auto at = [&](double steps) {
            PositionMethod moved = method;
            scaleAt(moved, place) += steps * kStep;
            return nll(moved);
        };
        const double difference = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep);
        EXPECT_NEAR(result->front().gradient[place], difference, 2e-3 + 0.01 * std::abs(difference)) << place;
        size += std::abs(difference);
    }
    EXPECT_GT(size, 0.05) << "the scales have no effect here, so the test says nothing";
}

TEST(ScaleGradient, AgreesWithCentralDifferences) {
    test::TinyModelSpec gqa;
    gqa.numLayers = 3;
    test::TinyModelSpec qwen = gqa;
    qwen.architecture = Architecture::Qwen2;
    qwen.linearFactor = 2.0;
    for (const auto& spec : {gqa, qwen}) {
        const auto session = loadTiny(spec)->newSession(1);
        expectCentralDifferences(*session, LayerScales{1.2, 0.9, 1.5}, layerScale, 3);
    }
}

TEST(ScaleGradient, AgreesWithCentralDifferencesPerHeadAndPerFrequency) {
    const auto model = loadTiny();
    const ModelConfig& config = model->config();
    ASSERT_GT(config.numHeads, config.numKvHeads);
    const auto layers = static_cast<std::size_t>(config.numLayers), heads = static_cast<std::size_t>(config.numKvHeads),
               frequencies = static_cast<std::size_t>(config.headDim) / 2;
    const auto session = model->newSession(1);
    PositionMethod perHead, perFrequency;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        LayerScales& own = perHead.headScales.emplace_back();
        for (std::size_t head = 0; head < heads; ++head)
            own.push_back(0.9 + 0.3 * static_cast<double>(head) + 0.1 * static_cast<double>(layer));
        perFrequency.divisors.emplace_back(frequencies, 1.3 - 0.2 * static_cast<double>(layer));
    }
    expectCentralDifferences(*session, perHead, headScale, layers * heads);
    expectCentralDifferences(*session, perFrequency, divisor, layers * frequencies);
}

TEST(ScaleGradient, KeepsThePromptsOfAPassApart) {
    const auto session = loadTiny()->newSession(1);
    const std::vector<ScoredPrompt> batch{randomPrompt(30, 4, 1), randomPrompt(7, 1, 2), randomPrompt(41, 2, 3)};
    const LayerScales scales{1.2, 0.9};
    const auto together = session->scaleGradients(batch, scales);
    ASSERT_TRUE(together.has_value()) << together.error().text();
    ASSERT_EQ(together->size(), batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto alone = session->scaleGradients(std::span(&batch[i], 1), scales);
        ASSERT_TRUE(alone.has_value());
        EXPECT_NEAR((*together)[i].meanNll, alone->front().meanNll, 1e-5);
        for (std::size_t layer = 0; layer < scales.size(); ++layer)
            EXPECT_NEAR((*together)[i].gradient[layer], alone->front().gradient[layer], 1e-4) << i << ", " << layer;
    }
}

/// Prompts that begin alike: one reads no more than the beginning of others, some part from them at several places, and
/// two have nothing in common with the rest.
std::vector<ScoredPrompt> branching() {
    const ScoredPrompt trunk = randomPrompt(40, 3, 1), bough = randomPrompt(25, 2, 2);
    std::vector<ScoredPrompt> batch{bough, trunk, trunk, trunk, randomPrompt(30, 4, 3)};
    batch[2].answer = {5};
    batch[3].prompt.resize(33);
    batch[3].prompt.insert(batch[3].prompt.end(), bough.prompt.begin(), bough.prompt.end());
    batch.push_back(batch[3]);
    batch.back().prompt.resize(21);
    return batch;
}

void expectEachItsOwn(ModelSession& session, const PositionMethod& method) {
    const std::vector<ScoredPrompt> batch = branching();
    const auto shared = session.scaleGradients(batch, method, {}, {.sharePrefixes = true});
    ASSERT_TRUE(shared.has_value()) << shared.error().text();
    ASSERT_EQ(shared->size(), batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto alone = session.scaleGradients(std::span(&batch[i], 1), method);
        ASSERT_TRUE(alone.has_value());
        EXPECT_NEAR((*shared)[i].meanNll, alone->front().meanNll, 1e-5);
        const std::vector<double>& own = alone->front().gradient;
        ASSERT_EQ((*shared)[i].gradient.size(), own.size());
        for (std::size_t place = 0; place < own.size(); ++place)
            EXPECT_NEAR((*shared)[i].gradient[place], own[place], 1e-4 + 1e-3 * std::abs(own[place]))
                << i << ", " << place;
    }
}

TEST(ScaleGradient, OfASharedBeginningBelongsToEachPrompt) {
    test::TinyModelSpec qwen;
    qwen.architecture = Architecture::Qwen2;
    for (const auto& spec : {test::TinyModelSpec(), qwen}) {
        const auto model = loadTiny(spec);
        const ModelConfig& config = model->config();
        const auto session = model->newSession(1);
        const auto layers = static_cast<std::size_t>(config.numLayers);
        expectEachItsOwn(*session, PositionMethod(LayerScales(layers, 1.3)));
        PositionMethod perHead, perFrequency;
        perHead.headScales.assign(layers, LayerScales(static_cast<std::size_t>(config.numKvHeads), 1.2));
        perFrequency.divisors.assign(layers, LayerScales(static_cast<std::size_t>(config.headDim) / 2, 0.8));
        expectEachItsOwn(*session, perHead);
        expectEachItsOwn(*session, perFrequency);
    }
}

TEST(ScaleGradient, KeepsEveryBitWhereNothingIsShared) {
    const auto session = loadTiny()->newSession(1);
    const ScoredPrompt prompt = randomPrompt(30, 4, 1);
    const auto asked =
        session->scaleGradients(std::span(&prompt, 1), LayerScales{1.2, 0.9}, {}, {.sharePrefixes = true});
    const auto alone = session->scaleGradients(std::span(&prompt, 1), LayerScales{1.2, 0.9});
    ASSERT_TRUE(asked.has_value() && alone.has_value());
    EXPECT_EQ(asked->front().meanNll, alone->front().meanNll);
    EXPECT_EQ(asked->front().gradient, alone->front().gradient);
}

TEST(ScaleGradient, WorksInBFloat16AndAfterScoringInTheSameThread) {
    const auto model = loadTiny({}, ComputeType::BFloat16);
    const auto wide = loadTiny();
    const auto session = model->newSession(2);
    const ScoredPrompt prompt = randomPrompt(60, 4, 1);
    const auto before = session->scoreAnswers(std::span(&prompt, 1), {});
    const auto result = session->scaleGradients(std::span(&prompt, 1), LayerScales{1.1, 1.3});
    const auto reference = wide->newSession(1)->scaleGradients(std::span(&prompt, 1), LayerScales{1.1, 1.3});
    ASSERT_TRUE(result.has_value() && reference.has_value()) << result.error().text();
    EXPECT_NEAR(result->front().meanNll, reference->front().meanNll, 0.1);
    for (std::size_t layer = 0; layer < 2; ++layer) {
        const double exact = reference->front().gradient[layer];
        EXPECT_NEAR(result->front().gradient[layer], exact, 0.3 * std::abs(exact) + 0.05);
    }
    EXPECT_EQ(session->scoreAnswers(std::span(&prompt, 1), {})->front().logProbs, before->front().logProbs);
}

TEST(ScaleGradient, RefusesWhatHasNoScalesOrMoreThanThem) {
    const auto session = loadTiny()->newSession(1);
    const ScoredPrompt prompt = randomPrompt(5, 1, 1);
    const auto code = [&](const PositionMethod& method) {
        return session->scaleGradients(std::span(&prompt, 1), method).error().code;
    };
    EXPECT_EQ(code({}), ErrorCode::Usage);
    EXPECT_EQ(code({1.0}), ErrorCode::BadInput);
    PositionMethod both = LayerScales{1.0, 1.0};
    both.buckets = rope::AttentionBuckets{{10000, 12000}};
    EXPECT_EQ(code(both), ErrorCode::Unsupported);
    EXPECT_EQ(session->scaleGradients({}, LayerScales{1.0, 1.0}).error().code, ErrorCode::Usage);
}

TEST(ScaleGradient, AnswersToStop) {
    const auto session = loadTiny()->newSession(1);
    const ScoredPrompt prompt = randomPrompt(5, 1, 1);
    std::stop_source source;
    source.request_stop();
    const auto stopped = session->scaleGradients(std::span(&prompt, 1), {1.0, 1.0}, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(wasStopped(stopped.error()));
}

}  // namespace
}  // namespace lpes::model
