#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/model/answer_session.h"

namespace lpes::studies {

/// Sessions, here and on other machines, that share work in pieces. Each has a thread, which takes one piece after
/// another of whatever is waiting: as long as there is enough, each stays with one caller's work (a candidate), and one
/// that has none left helps the others. So a slow session holds its caller up by one piece at most.
///
/// Callers must not care which session did what. thread-safe.
class SessionPool {
  public:
    /// Does piece `number` with a session that nobody else uses meanwhile.
    using Work = std::function<Result<void>(std::size_t number, model::AnswerSession& session, std::stop_token stop)>;

    /// The sessions outlive the pool. Failed when threads cannot be started.
    [[nodiscard]] static Result<std::unique_ptr<SessionPool>> start(std::vector<model::AnswerSession*> sessions);
    ~SessionPool();
    SessionPool(const SessionPool&) = delete;
    SessionPool& operator=(const SessionPool&) = delete;

    [[nodiscard]] int sessions() const { return static_cast<int>(m_sessions.size()); }

    /// Runs pieces 0 … count−1 and waits for them. They are begun in order; after one has failed, or a stop, none is
    /// begun any more, and the first failed one's error is returned, so that it does not depend on timing. An exception
    /// is an error. A lost peer (cluster::isLostPeer) stops everything that all callers run and is the answer to all of
    /// them, now and later: without it nobody's work can be completed.
    [[nodiscard]] Result<void> run(std::size_t count, const Work& work, std::stop_token stop);

    /// The lost peer's error, once there is one.
    [[nodiscard]] std::optional<Error> lost();

  private:
    struct Batch;
    struct Piece {
        Batch* batch = nullptr;
        std::size_t number = 0;
    };

    explicit SessionPool(std::vector<model::AnswerSession*> sessions) : m_sessions(std::move(sessions)) {}
    void serve(std::size_t session);
    /// The piece that a session should do next, which then counts as its batch's; empty when nothing is waiting. Under
    /// the mutex, as the two below.
    [[nodiscard]] std::optional<Piece> take(std::size_t session);
    void finish(const Piece& piece, Result<void> result);
    void lose(const Error& error);

    const std::vector<model::AnswerSession*> m_sessions;
    std::mutex m_mutex;  ///< guards everything below but the threads
    std::condition_variable m_waiting, m_finished;
    std::list<Batch*> m_batches;          ///< of callers who wait, oldest first
    std::vector<const Batch*> m_working;  ///< [sessions] what each did last
    std::optional<Error> m_lost;
    bool m_ending = false;
    std::vector<std::jthread> m_threads;  ///< last: they use all of the above
};

}  // namespace lpes::studies
