#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;
using test::randomIds;
using test::randomPrompt;
using testing::HasSubstr;

test::TinyModelSpec threeLayers() {
    test::TinyModelSpec spec;
    spec.numLayers = 3;
    return spec;
}

std::vector<AnswerScore> score(ModelSession& session, std::vector<ScoredPrompt> batch, const LayerScales& scales = {}) {
    auto result = session.scoreAnswers(batch, scales);
    if (!result) throw std::runtime_error(result.error().text());
    return *result;
}

TEST(AnswerScores, AgreeWithTheScoreOfTheWholeText) {
    const auto session = loadTiny(threeLayers())->newSession(1);
    const ScoredPrompt prompt = randomPrompt(40, 5, 1);
    const LayerScales scales{1.2, 0.8, 1.5};
    const auto answers = score(*session, {prompt}, scales);
    std::vector<TokenId> whole = prompt.prompt;
    whole.insert(whole.end(), prompt.answer.begin(), prompt.answer.end());
    const auto text = session->scoreText(whole, scales, 1);
    ASSERT_TRUE(text.has_value());
    ASSERT_EQ(answers[0].logProbs.size(), 5u);
    double sum = 0.0;
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(answers[0].logProbs[i], text->logProbs[39 + i], 1e-5);
        sum += answers[0].logProbs[i];
    }
    EXPECT_DOUBLE_EQ(answers[0].meanNll, -sum / 5);
}

TEST(AnswerScores, AreStrictOnlyWhenEveryIdIsTheArgmax) {
    const auto session = loadTiny(threeLayers())->newSession(1);
    ScoredPrompt prompt{randomIds(30, 2), {}};
    std::vector<TokenId> sequence = prompt.prompt;
    for (int i = 0; i < 3; ++i) {
        const auto text = session->scoreText(sequence, {}, 1);
        ASSERT_TRUE(text.has_value());
        prompt.answer.push_back(text->argmax.back());
        sequence.push_back(text->argmax.back());
        EXPECT_EQ(text->topAtEnd[0].id, text->argmax.back());
    }
    EXPECT_TRUE(score(*session, {prompt})[0].allArgmax);
    prompt.answer[1] = (prompt.answer[1] + 1) % 300;
    EXPECT_FALSE(score(*session, {prompt})[0].allArgmax);
}

TEST(AnswerScores, OfAPackedBatchAgreeWithThoseOfSinglePrompts) {
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const auto session = loadTiny(threeLayers(), type)->newSession(2);
        const std::vector<ScoredPrompt> batch{randomPrompt(50, 3, 1), randomPrompt(7, 6, 2), randomPrompt(120, 1, 3)};
        const LayerScales scales{1.4, 1.0, 0.7};
        const auto packed = score(*session, batch, scales);
        ASSERT_EQ(packed.size(), 3u);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto single = score(*session, {batch[i]}, scales);
            ASSERT_EQ(packed[i].logProbs.size(), batch[i].answer.size());
            EXPECT_NEAR(packed[i].meanNll, single[0].meanNll, type == ComputeType::Float32 ? 1e-5 : 0.05);
        }
    }
}

TEST(AnswerScores, AreTheSameBitsWhenRepeatedInAnotherSessionAndThread) {
    const auto model = loadTiny(threeLayers(), ComputeType::BFloat16);
    const std::vector<ScoredPrompt> batch{randomPrompt(90, 3, 1), randomPrompt(80, 3, 2)};
    const auto first = score(*model->newSession(2), batch);
    std::vector<AnswerScore> second;
    std::thread([&] { second = score(*model->newSession(2), batch); }).join();
    for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(first[i].logProbs, second[i].logProbs);
}

TEST(FieldReports, T12_AllOnesIsBitIdenticalToNoProfile) {
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const auto session = loadTiny(threeLayers(), type)->newSession(1);
        const auto ids = randomIds(300, 4);
        const auto none = session->scoreText(ids, {}, 5);
        const auto ones = session->scoreText(ids, LayerScales(3, 1.0), 5);
        ASSERT_TRUE(none.has_value() && ones.has_value());
        EXPECT_EQ(none->logProbs, ones->logProbs);
        EXPECT_EQ(none->argmax, ones->argmax);
    }
}

TEST(FieldReports, T12_AllTwosEqualsLinearFactorTwo) {
    test::TinyModelSpec linear = threeLayers();
    linear.linearFactor = 2.0;
    const auto ids = randomIds(300, 4);
    const auto scaled = loadTiny(threeLayers())->newSession(1)->scoreText(ids, LayerScales(3, 2.0), 1);
    const auto plain = loadTiny(linear)->newSession(1)->scoreText(ids, {}, 1);
    const auto baseline = loadTiny(threeLayers())->newSession(1)->scoreText(ids, {}, 1);
    ASSERT_TRUE(scaled.has_value() && plain.has_value() && baseline.has_value());
    double apart = 0.0;
    for (std::size_t i = 0; i < plain->logProbs.size(); ++i) {
        ASSERT_NEAR(scaled->logProbs[i], plain->logProbs[i], 1e-5);
        apart = std::max(apart, std::abs(scaled->logProbs[i] - baseline->logProbs[i]));
    }
    EXPECT_GT(apart, 0.1) << "scaling changed nothing";
}

TEST(FieldReports, T12_UnusableScalesAreRefusedWithTheirLayer) {
    const auto session = loadTiny(threeLayers())->newSession(1);
    const std::vector<ScoredPrompt> batch{randomPrompt(10, 1, 1)};
    for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e9}) {
        const auto result = session->scoreAnswers(batch, LayerScales{1.0, bad, 1.0});
        ASSERT_FALSE(result.has_value()) << bad;
        EXPECT_EQ(result.error().code, ErrorCode::BadInput);
        EXPECT_THAT(result.error().message, HasSubstr("layer 1"));
    }
    const auto tooFew = session->scoreAnswers(batch, LayerScales(2, 1.0));
    ASSERT_FALSE(tooFew.has_value());
    EXPECT_THAT(tooFew.error().message, HasSubstr("layer 2"));
}

TEST(AnswerScores, RefuseWhatCannotBeScored) {
    const auto session = loadTiny(threeLayers())->newSession(1);
    const auto code = [&](const ScoredPrompt& prompt) {
        const auto result = session->scoreAnswers(std::vector{prompt}, {});
        return result ? ErrorCode::Failed : result.error().code;
    };
    EXPECT_EQ(code({{}, {1}}), ErrorCode::Usage);
    EXPECT_EQ(code({{1}, {}}), ErrorCode::Usage);
    EXPECT_EQ(code({{1, 300}, {1}}), ErrorCode::Usage);
    EXPECT_EQ(code({{1}, {-1}}), ErrorCode::Usage);
    EXPECT_EQ(code({randomIds(512, 1), {1}}), ErrorCode::BadInput);
    EXPECT_TRUE(session->scoreAnswers(std::vector{ScoredPrompt{randomIds(511, 1), {1}}}, {}).has_value());
    EXPECT_FALSE(session->scoreAnswers({}, {}).has_value());
}

TEST(AnswerScores, StopAtOnceWhenAsked) {
    const auto session = loadTiny(threeLayers())->newSession(1);
    std::stop_source source;
    source.request_stop();
    const std::vector<ScoredPrompt> batch{randomPrompt(10, 1, 1)};
    const auto result = session->scoreAnswers(batch, {}, source.get_token());
    ASSERT_FALSE(result.has_value());
    EXPECT_TRUE(wasStopped(result.error()));
    EXPECT_TRUE(session->scoreAnswers(batch, {}).has_value()) << "a stopped session can go on";
}

TEST(AnswerScores, FailByNameWhenTheModelGivesNoNumbers) {
    test::TinyModel tiny = test::makeTinyModel(threeLayers());
    tiny.tensors["final_norm"].values[3] = std::numeric_limits<float>::infinity();
    const auto session = test::load(std::make_shared<test::MemoryWeights>(tiny))->newSession(1);
    const auto result = session->scoreAnswers(std::vector{randomPrompt(10, 1, 1)}, {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::Failed);
    EXPECT_THAT(result.error().message, HasSubstr("not finite"));
}

TEST(TextScore, HasOneLogProbabilityFewerThanIdsAndRanksTheTop) {
    const auto session = loadTiny(threeLayers())->newSession(1);
    const auto result = session->scoreText(randomIds(200, 3), {}, 10);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->logProbs.size(), 199u);
    EXPECT_EQ(result->argmax.size(), 200u);
    ASSERT_EQ(result->topAtEnd.size(), 10u);
    double mass = 0.0;
    for (std::size_t i = 0; i < 10; ++i) {
        if (i > 0) {
            EXPECT_GE(result->topAtEnd[i - 1].logProb, result->topAtEnd[i].logProb);
        }
        mass += std::exp(result->topAtEnd[i].logProb);
    }
    EXPECT_LT(mass, 1.0);
    const auto all = session->scoreText(randomIds(200, 3), {}, 1000);
    ASSERT_TRUE(all.has_value());
    ASSERT_EQ(all->topAtEnd.size(), 300u);
    double total = 0.0;
    for (const TopToken& token : all->topAtEnd) total += std::exp(token.logProb);
    EXPECT_NEAR(total, 1.0, 1e-6);
}

}  // namespace
}  // namespace lpes::model
