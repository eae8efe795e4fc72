#include "core/cluster/remote_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "core/cluster/session_messages.h"

namespace lpes::test {
namespace {

using cluster::Channel;
using cluster::RemoteSession;
using model::AnswerScore;
using model::GeneratedAnswer;
using model::GradientOptions;
using model::PositionMethod;
using model::ScaleGradient;
using model::ScoredPrompt;
using testing::HasSubstr;

/// Answers that show what was asked.
class EchoSession final : public model::AnswerSession {
  public:
    Result<std::vector<AnswerScore>> scoreAnswers(std::span<const ScoredPrompt> batch, const PositionMethod& method,
                                                  std::stop_token stop, const model::ScoreOptions& options) override {
        if (method.text == "fail") return fail(ErrorCode::OutOfMemory, "too long", "by 3", "here");
        if (method.text == "throw") throw std::bad_alloc();
        if (method.text == "wait") {
            std::unique_lock lock(m_mutex);
            m_waiting = true;
            m_changed.notify_all();
            const std::stop_callback wake(stop, [this] {
                const std::lock_guard held(m_mutex);
                m_changed.notify_all();
            });
            m_changed.wait(lock, [&] { return stop.stop_requested(); });
            return fail(ErrorCode::Failed, model::kStoppedMessage);
        }
        std::vector<AnswerScore> scores;
        for (const ScoredPrompt& one : batch) {
            AnswerScore score;
            for (const model::TokenId id : one.answer) score.logProbs.push_back(-0.1 * id);
            score.logProbs.push_back(method.scales.at(0));
            score.allArgmax = options.sharePrefixes;
            score.meanNll = one.prompt.empty() ? std::numeric_limits<double>::quiet_NaN() : one.prompt.front() / 3.0;
            scores.push_back(score);
        }
        return scores;
    }
    Result<std::vector<GeneratedAnswer>> generateAnswers(std::span<const std::vector<model::TokenId>> prompts,
                                                         const PositionMethod& method,
                                                         const model::GenerateOptions& options,
                                                         std::stop_token) override {
        std::vector<GeneratedAnswer> answers;
        for (const auto& prompt : prompts) answers.push_back({prompt, options.sharePrefixes});
        answers.push_back({options.endIds, false});
        answers.push_back({{options.mostNewTokens, static_cast<int>(method.headScales.size())}, true});
        return answers;
    }
    Result<std::vector<ScaleGradient>> scaleGradients(std::span<const ScoredPrompt> batch, const PositionMethod& method,
                                                      std::stop_token, const GradientOptions& options) override {
        if (method.scales.empty()) return fail(ErrorCode::Usage, "no scales");
        std::vector<ScaleGradient> gradients;
        for (const ScoredPrompt& one : batch)
            gradients.push_back({one.prompt.front() / 7.0, {method.scales.front(), one.answer.front() / -3.0, -0.0}});
        if (options.sharePrefixes) gradients.pop_back();
        return gradients;
    }
    void awaitWaiting() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_waiting; });
    }

  private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_waiting = false;
};

PositionMethod named(const std::string& text) {
    PositionMethod method({1.1, 1.0 / 3.0});
    method.text = text;
    return method;
}

class RemoteSessions : public testing::Test {
  protected:
    void SetUp() override {
        auto pair = cluster::channelPair("rank 0", "rank 1 on 'far'");
        ASSERT_TRUE(pair) << pair.error().text();
        near = std::move(pair->first);
        far = std::move(pair->second);
        server = std::jthread([this] { served = cluster::serveSession(*far, echo); });
        session.emplace(*near);
    }
    void TearDown() override {
        near->close();
        server.join();
    }
    EchoSession echo;
    std::unique_ptr<Channel> near, far;
    Result<void> served;
    std::jthread server;
    std::optional<RemoteSession> session;
};

TEST_F(RemoteSessions, ScoresKeepEveryBit) {
    const std::vector<ScoredPrompt> batch{{{7, 8}, {1, 2, 3}}, {{}, {100000}}};
    const auto scores = session->scoreAnswers(batch, named("lpes"), {}, {true});
    ASSERT_TRUE(scores) << scores.error().text();
    const auto local = echo.scoreAnswers(batch, named("lpes"), {}, {true});
    ASSERT_EQ(scores->size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ((*scores)[i].logProbs, (*local)[i].logProbs);
        EXPECT_EQ((*scores)[i].allArgmax, (*local)[i].allArgmax);
    }
    EXPECT_EQ((*scores)[0].meanNll, 7 / 3.0);
    EXPECT_TRUE(std::isnan((*scores)[1].meanNll));
}

TEST_F(RemoteSessions, AnswersAreGeneratedWithTheOptions) {
    PositionMethod method = named("lpes");
    method.headScales = {{1.0}, {2.0}, {3.0}};
    const std::vector<std::vector<model::TokenId>> prompts{{1, 2}, {3}};
    const auto answers = session->generateAnswers(prompts, method, {12, {5, 6}, true}, {});
    ASSERT_TRUE(answers) << answers.error().text();
    ASSERT_EQ(answers->size(), 4u);
    EXPECT_EQ((*answers)[0].ids, prompts[0]);
    EXPECT_TRUE((*answers)[0].ended);
    EXPECT_EQ((*answers)[2].ids, (std::vector<model::TokenId>{5, 6}));
    EXPECT_EQ((*answers)[3].ids, (std::vector<model::TokenId>{12, 3}));
}

TEST_F(RemoteSessions, SlopesKeepEveryBit) {
    const std::vector<ScoredPrompt> batch{{{5, 6}, {1}}, {{3}, {2, 4}}};
    const auto gradients = session->scaleGradients(batch, named("lpes"), {}, {});
    ASSERT_TRUE(gradients) << gradients.error().text();
    const auto local = echo.scaleGradients(batch, named("lpes"), {}, {});
    ASSERT_EQ(gradients->size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ((*gradients)[i].meanNll, (*local)[i].meanNll);
        EXPECT_EQ((*gradients)[i].gradient, (*local)[i].gradient);
        EXPECT_TRUE(std::signbit((*gradients)[i].gradient[2])) << "a zero keeps its sign";
    }
    const auto sharing = session->scaleGradients(batch, named("lpes"), {}, {true});
    ASSERT_TRUE(sharing) << sharing.error().text();
    EXPECT_EQ(sharing->size(), 1u);
    const auto refused = session->scaleGradients(batch, {}, {}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
}

TEST_F(RemoteSessions, AnErrorComesBackAsItIsAndTheSessionGoesOn) {
    const auto refused = session->scoreAnswers({}, named("fail"), {}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_EQ(refused.error().text(), (Error{ErrorCode::OutOfMemory, "too long", "by 3", "here"}).text());
    const auto thrown = session->scoreAnswers({}, named("throw"), {}, {});
    ASSERT_FALSE(thrown);
    EXPECT_EQ(thrown.error().code, ErrorCode::OutOfMemory);
    EXPECT_TRUE(session->scoreAnswers({}, named("lpes"), {}, {}));
}

TEST_F(RemoteSessions, AStopReachesWhatIsComputedThere) {
    std::stop_source source;
    std::jthread stopper([&] {
        echo.awaitWaiting();
        source.request_stop();
    });
    const auto stopped = session->scoreAnswers({}, named("wait"), source.get_token(), {});
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(model::wasStopped(stopped.error()));
    EXPECT_TRUE(session->scoreAnswers({}, named("lpes"), {}, {})) << "a stop is of one request";
    const auto before = session->scoreAnswers({}, named("lpes"), source.get_token(), {});
    ASSERT_FALSE(before);
    EXPECT_TRUE(model::wasStopped(before.error()));
}

TEST_F(RemoteSessions, ALostPeerEndsTheWaiting) {
    std::jthread leaver([&] {
        echo.awaitWaiting();
        far->close();
    });
    const auto lost = session->scoreAnswers({}, named("wait"), {}, {});
    ASSERT_FALSE(lost);
    EXPECT_TRUE(cluster::isLostPeer(lost.error()));
    EXPECT_THAT(lost.error().message, HasSubstr("rank 1 on 'far'"));
    EXPECT_TRUE(served);
}

TEST_F(RemoteSessions, WhoeverAskedAndLeftIsNoError) {
    std::jthread leaver([&] {
        echo.awaitWaiting();
        near->close();
    });
    EXPECT_FALSE(session->scoreAnswers({}, named("wait"), {}, {}));
    server.join();
    EXPECT_TRUE(served);
    server = std::jthread([] {});
}

TEST_F(RemoteSessions, WhatIsNoMessageEndsTheService) {
    ASSERT_TRUE(near->send(cluster::Message{0xff, 0x00}));
    server.join();
    ASSERT_FALSE(served);
    EXPECT_TRUE(cluster::isLostPeer(served.error()));
    server = std::jthread([] {});
}

TEST_F(RemoteSessions, ARequestWithoutItsPartsEndsTheService) {
    ASSERT_TRUE(near->send(cluster::toMessage({{"id", 1}, {"do", "score"}})));
    server.join();
    ASSERT_FALSE(served);
    EXPECT_TRUE(cluster::isLostPeer(served.error()));
    server = std::jthread([] {});
}

TEST(RemoteSession, APeerThatHangsIsGivenUpASecondAfterAStop) {
    auto pair = cluster::channelPair("rank 0", "a peer that hangs");
    ASSERT_TRUE(pair) << pair.error().text();
    RemoteSession session(*pair->first);
    std::stop_source source;
    std::jthread stopper([&] {
        ASSERT_TRUE(pair->second->receive());  // the request
        source.request_stop();
    });
    const auto begun = std::chrono::steady_clock::now();
    const auto stopped = session.scoreAnswers({}, named("lpes"), source.get_token(), {});
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(model::wasStopped(stopped.error()));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
    EXPECT_TRUE(pair->first->isClosed());
}

TEST(RemoteSession, OnlyScalesAreSent) {
    auto pair = cluster::channelPair("rank 0", "rank 1");
    ASSERT_TRUE(pair) << pair.error().text();
    RemoteSession session(*pair->first);
    PositionMethod method = named("ms-poe");
    method.msPoe.emplace();
    const auto refused = session.scoreAnswers({}, method, {}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("ms-poe"));
}

}  // namespace
}  // namespace lpes::test
