#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/model/moice_file.h"
#include "core/model/torch/moice_trainer.h"
#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;
using test::randomIds;

constexpr double kAux = 0.3;

/// Routers with an opinion: those of a fresh training hardly move the loss.
rope::MoiceRouters loudRouters(const ModelConfig& config, std::vector<double> bases, int topK, std::uint32_t stream,
                               double size = 1.5) {
    rope::MoiceRouters routers = emptyRouters(config, std::move(bases), topK);
    RandomStream random(3, kStreamTests, stream);
    for (const MoiceMatrix& matrix : moiceMatrices(routers)) {
        for (float& value : *matrix.values) value = static_cast<float>(random.uniform(-size, size));
    }
    return routers;
}

PositionMethod methodOf(const rope::MoiceRouters& routers) {
    PositionMethod method;
    method.text = "moice";
    method.moice = std::make_shared<const rope::MoiceRouters>(routers);
    return method;
}

double engineNll(const CausalLm& model, const rope::MoiceRouters& routers, const std::vector<TokenId>& ids) {
    const auto score = model.newSession(1)->scoreText(ids, methodOf(routers), 0);
    EXPECT_TRUE(score.has_value()) << (score ? "" : score.error().text());
    return -std::accumulate(score->logProbs.begin(), score->logProbs.end(), 0.0) /
           static_cast<double>(score->logProbs.size());
}

const std::vector<double> kBases{10000.0, 200.0, 3000.0, 50.0};

/// Grouped heads, biases, norms that differ, window and cap: every branch of the differentiable decoder.
std::vector<std::pair<std::string, std::shared_ptr<const CausalLm>>> models() {
    test::TinyModelSpec gqa;
    gqa.numLayers = 3;
    test::TinyModelSpec qwen;
    qwen.architecture = Architecture::Qwen2;
    return {{"llama", loadTiny(gqa)}, {"qwen2", loadTiny(qwen)}};
}

TEST(MoiceTraining, LossIsTheEnginesUnderTheSameRouters) {
    for (const auto& [name, model] : models()) {
        const auto ids = randomIds(90, 1);
        const double baseline = engineNll(*model, loudRouters(model->config(), {10000.0}, 1, 1), ids);
        for (const int topK : {1, 2, 4}) {
            const rope::MoiceRouters routers = loudRouters(model->config(), kBases, topK, 1);
            const auto loss = moiceLoss(*model, routers, ids, kAux, 1);
            ASSERT_TRUE(loss.has_value()) << loss.error().text();
            const double expected = engineNll(*model, routers, ids);
            EXPECT_NEAR(loss->lmLoss, expected, 2e-6 * expected) << name << ", top_k " << topK;
            EXPECT_GT(std::abs(expected - baseline), 1e-3) << "the experts do nothing, so the test says nothing";
        }
    }
}

TEST(MoiceTraining, LossIsTheEnginesWithinRoundingInBFloat16) {
    const auto model = loadTiny({}, ComputeType::BFloat16);
    const auto ids = randomIds(90, 1);
    const rope::MoiceRouters routers = loudRouters(model->config(), kBases, 2, 1);
    const auto loss = moiceLoss(*model, routers, ids, kAux, 2);
    ASSERT_TRUE(loss.has_value()) << loss.error().text();
    EXPECT_NEAR(loss->lmLoss, engineNll(*model, routers, ids), 0.05);
}

/// The loss along a direction in the space of the routers' values.
struct Slope {
    double measured = 0.0, expected = 0.0;
};
Slope slopeAlong(const CausalLm& model, const rope::MoiceRouters& routers, const std::vector<TokenId>& ids,
                 double auxCoefficient, const std::vector<double>& direction, double stepSize) {
    const auto at = [&](double steps) {
        rope::MoiceRouters moved = routers;
        std::size_t i = 0;
        for (const MoiceMatrix& matrix : moiceMatrices(moved)) {
            for (float& value : *matrix.values) value += static_cast<float>(steps * stepSize * direction[i++]);
        }
        const auto loss = moiceLoss(model, moved, ids, 0.0, 1);
        return loss->lmLoss + auxCoefficient * loss->auxLoss;
    };
    const auto loss = moiceLoss(model, routers, ids, auxCoefficient, 1);
    Slope slope;
    // Fourth order: float32 noise forbids the small step that second order would need.
    slope.measured = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * stepSize);
    slope.expected = std::inner_product(direction.begin(), direction.end(), loss->gradient.begin(), 0.0);
    return slope;
}

TEST(MoiceTraining, GradientAgreesWithCentralDifferences) {
    for (const auto& [name, model] : models()) {
        struct Case {
            int topK, tokens;
            double size, step;
        };
        // Where experts are left out a step must not change a choice, at which the loss jumps: few tokens, small steps.
        for (const auto& [topK, tokens, size, stepSize] : {Case{4, 40, 0.3, 0.02}, Case{2, 9, 0.5, 1e-3}}) {
            const auto ids = randomIds(tokens, 2);
            const rope::MoiceRouters routers = loudRouters(model->config(), kBases, topK, 2, size);
            const auto loss = moiceLoss(*model, routers, ids, kAux, 1);
            ASSERT_TRUE(loss.has_value()) << loss.error().text();
            const std::size_t parameters = loss->gradient.size();
            ASSERT_EQ(parameters, static_cast<std::size_t>(model->config().numLayers) * (2 * 4 * 16 + 16));
            // Along the gradient of every matrix in turn: where its effect is largest.
            std::size_t begin = 0;
            rope::MoiceRouters copy = routers;
            for (const MoiceMatrix& matrix : moiceMatrices(copy)) {
                std::vector<double> direction(parameters);
                double norm = 0.0;
                for (std::size_t i = begin; i < begin + matrix.values->size(); ++i) {
                    direction[i] = loss->gradient[i];
                    norm += direction[i] * direction[i];
                }
                for (double& value : direction) value /= std::sqrt(norm);
                const Slope slope = slopeAlong(*model, routers, ids, kAux, direction, stepSize);
                EXPECT_NEAR(slope.measured, slope.expected, 0.005 * slope.expected + 2e-6 / stepSize)
                    << name << ", top_k " << topK << ", " << matrix.name;
                EXPECT_GT(slope.expected, 5e-3) << matrix.name << " has no effect, so the test says nothing";
                begin += matrix.values->size();
            }
        }
    }
}

TEST(MoiceTraining, AuxiliaryLossPullsOnlyWhereExpertsAreLeftOut) {
    const auto model = loadTiny();
    const auto ids = randomIds(40, 3);
    const auto gradients = [&](int topK) {
        const rope::MoiceRouters routers = loudRouters(model->config(), kBases, topK, 3);
        return std::pair{*moiceLoss(*model, routers, ids, 0.0, 1), *moiceLoss(*model, routers, ids, 10.0, 1)};
    };
    const auto [without, with] = gradients(4);
    EXPECT_NEAR(with.auxLoss, 4.0, 1e-6);
    EXPECT_EQ(without.gradient, with.gradient);
    const auto [alone, pulled] = gradients(1);
    EXPECT_GT(pulled.auxLoss, 1.0);
    EXPECT_NE(alone.gradient, pulled.gradient);
}

std::vector<std::vector<TokenId>> repetitiveSequences(int count) {
    std::vector<std::vector<TokenId>> sequences;
    for (int i = 0; i < count; ++i) {
        std::vector<TokenId> ids;
        for (int token = 0; token < 48; ++token) ids.push_back(20 + (token + i) % 6);
        sequences.push_back(std::move(ids));
    }
    return sequences;
}

MoiceRecipe fastRecipe() {
    MoiceRecipe recipe;
    recipe.bases = kBases;
    recipe.maxLength = 48;
    recipe.sequencesPerStep = 2;
    recipe.adamw.learningRate = 0.05;
    return recipe;
}

void ignore(std::int64_t) {}

TEST(MoiceTraining, AFewStepsLowerTheLoss) {
    const auto model = loadTiny();
    const MoiceRecipe recipe = fastRecipe();
    MoiceTrainingState state = initialMoiceState(recipe, model->config());
    const auto sequences = repetitiveSequences(2);
    for (int step = 0; step < 8; ++step) {
        const auto done = trainMoiceStep(*model, recipe, sequences, 1, state, ignore);
        ASSERT_TRUE(done.has_value()) << done.error().text();
    }
    ASSERT_EQ(state.curve.size(), 8u);
    EXPECT_LT(state.curve.back().lmLoss, state.curve.front().lmLoss - 0.02);
    EXPECT_EQ(state.curve.back().step, 8);
    EXPECT_EQ(state.curve.back().tokens, 96);
    EXPECT_NEAR(state.curve.back().auxLoss, 4.0, 1e-6);
    EXPECT_NEAR(state.curve.back().loss, state.curve.back().lmLoss + 0.3 * state.curve.back().auxLoss, 1e-12);
    EXPECT_GT(state.curve.back().gradNorm, 0.0);
}

TEST(MoiceTraining, InterruptedAndResumedIsUninterruptedToTheBit) {
    const test::TemporaryFolder folder;
    const auto model = loadTiny({}, ComputeType::BFloat16);
    MoiceRecipe recipe = fastRecipe();
    recipe.topK = 2;
    const auto sequences = repetitiveSequences(5);
    const auto step = [&](MoiceTrainingState& state, std::stop_token stop = {}) {
        std::vector<std::vector<TokenId>> chosen;
        for (const std::size_t i : sequencesOfStep(recipe.seed, sequences.size(), recipe.sequencesPerStep,
                                                   static_cast<int>(state.curve.size()))) {
            chosen.push_back(sequences[i]);
        }
        return trainMoiceStep(*model, recipe, chosen, 1, state, ignore, stop);
    };
    MoiceTrainingState whole = initialMoiceState(recipe, model->config());
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(step(whole).has_value());

    MoiceTrainingState cut = initialMoiceState(recipe, model->config());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(step(cut).has_value());
    // A step that was stopped half-way leaves nothing behind.
    std::stop_source source;
    source.request_stop();
    const auto stopped = step(cut, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(wasStopped(stopped.error()));
    ASSERT_TRUE(writeMoiceCheckpoint(folder / "c", cut, model->config(), nlohmann::json::object()).has_value());
    auto resumed = readMoiceCheckpoint(folder / "c", model->config());
    ASSERT_TRUE(resumed.has_value()) << resumed.error().text();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(step(resumed->state).has_value());
    EXPECT_EQ(resumed->state.routers.layers, whole.routers.layers);
    EXPECT_EQ(resumed->state.adamw.mean, whole.adamw.mean);
    EXPECT_EQ(resumed->state.adamw.square, whole.adamw.square);
    EXPECT_EQ(resumed->state.curve, whole.curve);
}

TEST(MoiceTraining, TrainedRoutersRunInTheEngineAfterTheFile) {
    const test::TemporaryFolder folder;
    const auto model = loadTiny();
    const MoiceRecipe recipe = fastRecipe();
    MoiceTrainingState state = initialMoiceState(recipe, model->config());
    const auto sequences = repetitiveSequences(1);
    ASSERT_TRUE(trainMoiceStep(*model, recipe, sequences, 1, state, ignore).has_value());
    ASSERT_TRUE(writeMoiceRouters(folder / "r", state.routers, model->config()).has_value());
    const auto read = readMoiceRouters(folder / "r", model->config());
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_EQ(engineNll(*model, **read, sequences[0]), engineNll(*model, state.routers, sequences[0]));
}

TEST(MoiceTraining, ShortensTheGradientToTheNormThatIsAskedFor) {
    const auto model = loadTiny();
    MoiceRecipe recipe = fastRecipe();
    const auto sequences = repetitiveSequences(1);
    MoiceTrainingState free = initialMoiceState(recipe, model->config()), shortened = free;
    recipe.maxGradNorm = 0.0;
    ASSERT_TRUE(trainMoiceStep(*model, recipe, sequences, 1, free, ignore).has_value());
    recipe.maxGradNorm = free.curve[0].gradNorm / 10;
    ASSERT_TRUE(trainMoiceStep(*model, recipe, sequences, 1, shortened, ignore).has_value());
    EXPECT_EQ(free.curve[0].gradNorm, shortened.curve[0].gradNorm) << "the norm before shortening";
    // The running mean is a tenth of the gradient, which the optimiser keeps.
    for (std::size_t i = 0; i < free.adamw.mean.size(); ++i)
        EXPECT_NEAR(shortened.adamw.mean[i], free.adamw.mean[i] / 10, 1e-4 * std::abs(free.adamw.mean[i]) + 1e-12);
}

TEST(MoiceTraining, RefusesWhatItCannotDifferentiate) {
    const auto model = loadTiny();
    const rope::MoiceRouters routers = loudRouters(model->config(), kBases, 4, 1);
    EXPECT_EQ(moiceLoss(*model, routers, randomIds(1, 1), kAux, 1).error().code, ErrorCode::Usage);
    EXPECT_EQ(moiceLoss(*model, routers, randomIds(0, 1), kAux, 1).error().code, ErrorCode::Usage);
    EXPECT_EQ(moiceLoss(*model, routers, std::vector<TokenId>{5, 300}, kAux, 1).error().code, ErrorCode::Usage);
    EXPECT_EQ(moiceLoss(*model, routers, randomIds(513, 1), kAux, 1).error().code, ErrorCode::BadInput);
    rope::MoiceRouters other = routers;
    other.layers.pop_back();
    EXPECT_EQ(moiceLoss(*model, other, randomIds(9, 1), kAux, 1).error().code, ErrorCode::BadInput);
    MoiceTrainingState state;
    EXPECT_EQ(trainMoiceStep(*model, fastRecipe(), {}, 1, state, ignore).error().code, ErrorCode::Usage);
    std::stop_source source;
    source.request_stop();
    const auto stopped = moiceLoss(*model, routers, randomIds(9, 1), kAux, 1, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(wasStopped(stopped.error()));
}

TEST(MoiceTraining, AsksForMemoryBeforeItBegins) {
    test::TinyModelSpec spec;
    const auto model = loadTiny(spec);
    const ModelConfig& config = model->config();
    const double small = estimateMoiceTrainingBytes(config, ComputeType::Float32, 100, 7);
    EXPECT_GT(estimateMoiceTrainingBytes(config, ComputeType::Float32, 200, 7), small);
    EXPECT_GT(estimateMoiceTrainingBytes(config, ComputeType::Float32, 100, 14), small);
    const auto refused = checkMoiceTrainingMemory(*model, std::int64_t{1} << 40, 7);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(refused.error().message.find("--max-length"), std::string::npos);
}

}  // namespace
}  // namespace lpes::model
