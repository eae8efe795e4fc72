#include "core/studies/session_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <set>

#include "core/cluster/channel.h"

namespace lpes::test {
namespace {

using studies::SessionPool;
using testing::HasSubstr;

/// Nothing is computed here: what matters is who gets which session.
class NoSession final : public model::AnswerSession {
  public:
    Result<std::vector<model::AnswerScore>> scoreAnswers(std::span<const model::ScoredPrompt>,
                                                         const model::PositionMethod&, std::stop_token,
                                                         const model::ScoreOptions&) override {
        return {};
    }
    Result<std::vector<model::GeneratedAnswer>> generateAnswers(std::span<const std::vector<model::TokenId>>,
                                                                const model::PositionMethod&,
                                                                const model::GenerateOptions&,
                                                                std::stop_token) override {
        return {};
    }
    Result<std::vector<model::ScaleGradient>> scaleGradients(std::span<const model::ScoredPrompt>,
                                                             const model::PositionMethod&, std::stop_token,
                                                             const model::GradientOptions&) override {
        return {};
    }
};

class SessionPools : public testing::Test {
  protected:
    std::unique_ptr<SessionPool> start(std::size_t count) {
        m_sessions = std::vector<NoSession>(count);
        std::vector<model::AnswerSession*> all;
        for (NoSession& session : m_sessions) all.push_back(&session);
        auto pool = SessionPool::start(std::move(all));
        if (!pool) throw std::runtime_error(pool.error().text());
        return std::move(*pool);
    }
    std::vector<NoSession> m_sessions;
};

/// Waits for a stop.
void awaitStop(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, stop, [] { return false; });
}

TEST_F(SessionPools, EveryPieceIsDoneOnceAndNoSessionTwiceAtATime) {
    const auto pool = start(3);
    EXPECT_EQ(pool->sessions(), 3);
    std::vector<std::atomic<int>> done(200);
    std::mutex mutex;
    std::set<model::AnswerSession*> busy;
    const SessionPool::Work work = [&](std::size_t number, model::AnswerSession& session, std::stop_token) {
        {
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(busy.insert(&session).second);
        }
        ++done[number];
        const std::lock_guard lock(mutex);
        busy.erase(&session);
        return Result<void>();
    };
    std::vector<std::jthread> callers;
    for (std::size_t caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&, caller] {
            const SessionPool::Work own = [&](std::size_t number, model::AnswerSession& session, std::stop_token stop) {
                return work(caller * 50 + number, session, stop);
            };
            EXPECT_TRUE(pool->run(50, own, {}));
        });
    }
    callers.clear();
    for (const auto& count : done) EXPECT_EQ(count, 1);
    EXPECT_TRUE(pool->run(0, work, {}));
}

TEST_F(SessionPools, ASlowSessionHoldsItsCallerUpByOnePieceOnly) {
    const auto pool = start(2);
    std::latch others(9);
    std::mutex mutex;
    std::map<model::AnswerSession*, int> pieces;
    // Whoever gets piece 0 is slow: it ends only when all others are done.
    const auto done = pool->run(10,
                                [&](std::size_t number, model::AnswerSession& session, std::stop_token) {
                                    {
                                        const std::lock_guard lock(mutex);
                                        ++pieces[&session];
                                    }
                                    if (number == 0) {
                                        others.wait();
                                    } else {
                                        others.count_down();
                                    }
                                    return Result<void>();
                                },
                                {});
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(std::min(pieces.begin()->second, pieces.rbegin()->second), 1);
}

TEST_F(SessionPools, ASecondCallerDoesNotWaitForTheFirstOnesPieces) {
    const auto pool = start(2);
    std::latch begun(2);
    model::AnswerSession* first[2] = {};
    std::vector<std::jthread> callers;
    for (const std::size_t caller : {0u, 1u}) {
        callers.emplace_back([&, caller] {
            const auto done =
                pool->run(5,
                          [&](std::size_t number, model::AnswerSession& session, std::stop_token) {
                              if (number > 0) return Result<void>();
                              first[caller] = &session;
                              begun.arrive_and_wait();  // both callers' first pieces are done at the same time
                              return Result<void>();
                          },
                          {});
            EXPECT_TRUE(done);
        });
    }
    callers.clear();
    EXPECT_NE(first[0], first[1]);
}

TEST_F(SessionPools, TheFirstPieceThatFailsSaysWhyWhateverFailedEarlier) {
    const auto pool = start(2);
    std::latch both(2);
    std::atomic<int> begun = 0;
    const auto failed = pool->run(50,
                                  [&](std::size_t number, model::AnswerSession&, std::stop_token) -> Result<void> {
                                      ++begun;
                                      if (number == 3) both.wait();  // fails after piece 4, and counts all the same
                                      if (number == 4) both.count_down(2);
                                      if (number >= 3)
                                          return fail(ErrorCode::BadInput, "piece " + std::to_string(number));
                                      return {};
                                  },
                                  {});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "piece 3");
    EXPECT_EQ(begun, 5) << "nothing is begun behind a failure";
}

TEST_F(SessionPools, AnExceptionIsAnErrorOfItsCallerAlone) {
    const auto pool = start(1);
    const auto failed = pool->run(
        1, [](std::size_t, model::AnswerSession&, std::stop_token) -> Result<void> { throw std::runtime_error("oh"); },
        {});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().detail, "oh");
    EXPECT_TRUE(pool->run(1, [](std::size_t, model::AnswerSession&, std::stop_token) { return Result<void>(); }, {}));
}

TEST_F(SessionPools, AStopReachesWhatRunsAndBeginsNothingMore) {
    const auto pool = start(2);
    std::stop_source source;
    std::atomic<int> begun = 0;
    const auto stopped = pool->run(
        50,
        [&](std::size_t, model::AnswerSession&, std::stop_token stop) -> Result<void> {
            if (++begun == 2) source.request_stop();
            awaitStop(stop);
            return fail(ErrorCode::Failed, model::kStoppedMessage);
        },
        source.get_token());
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(model::wasStopped(stopped.error()));
    EXPECT_EQ(begun, 2);
    const auto again = pool->run(
        3, [](std::size_t, model::AnswerSession&, std::stop_token) { return Result<void>(); }, source.get_token());
    ASSERT_FALSE(again);
    EXPECT_TRUE(model::wasStopped(again.error()));
}

TEST_F(SessionPools, ALostPeerEndsTheWorkOfAllCallers) {
    const auto pool = start(2);
    std::latch waiting(1);
    Result<void> other;
    std::jthread caller([&] {
        // One piece, which leaves the other session to the second caller.
        other = pool->run(1,
                          [&](std::size_t, model::AnswerSession&, std::stop_token stop) -> Result<void> {
                              waiting.count_down();
                              awaitStop(stop);
                              return fail(ErrorCode::Failed, model::kStoppedMessage);
                          },
                          {});
    });
    waiting.wait();
    const auto lost = pool->run(1,
                                [&](std::size_t, model::AnswerSession&, std::stop_token) -> Result<void> {
                                    return fail(ErrorCode::Failed, "rank 1 is gone", {}, cluster::kLostPeerContext);
                                },
                                {});
    caller.join();
    ASSERT_FALSE(lost);
    ASSERT_FALSE(other);
    EXPECT_TRUE(cluster::isLostPeer(lost.error()));
    EXPECT_EQ(other.error().message, "rank 1 is gone");
    ASSERT_TRUE(pool->lost());
    EXPECT_FALSE(pool->run(1, [](std::size_t, model::AnswerSession&, std::stop_token) { return Result<void>(); }, {}));
}

}  // namespace
}  // namespace lpes::test
