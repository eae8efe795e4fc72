#include "core/studies/session_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "core/cluster/channel.h"

namespace lpes::studies {

/// What one caller of run waits for.
struct SessionPool::Batch {
    std::size_t count;
    const Work& work;
    std::stop_source halt;  ///< the caller's stop, or a lost peer
    std::size_t next = 0;   ///< piece to begin
    std::size_t running = 0;
    std::size_t failed = 0;  ///< piece that `error` is of
    std::optional<Error> error = {};

    [[nodiscard]] bool hasWaiting() const { return next < count && !error && !halt.stop_requested(); }
};

namespace {

/// What a library throws must not take the pool's thread with it.
Result<void> guarded(const SessionPool::Work& work, std::size_t number, model::AnswerSession& session,
                     const std::stop_token& stop) {
    try {
        return work(number, session, stop);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory,
                    "there is not enough memory for an evaluation; use fewer workers or a smaller batch");
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "the evaluation ended with an exception", error.what());
    } catch (...) {
        return fail(ErrorCode::Failed, "the evaluation ended with an exception of unknown type");
    }
}

}  // namespace

Result<std::unique_ptr<SessionPool>> SessionPool::start(std::vector<model::AnswerSession*> sessions) {
    const std::size_t count = sessions.size();
    std::unique_ptr<SessionPool> pool(new SessionPool(std::move(sessions)));
    try {
        pool->m_working.resize(count, nullptr);
        for (std::size_t i = 0; i < count; ++i) pool->m_threads.emplace_back([own = pool.get(), i] { own->serve(i); });
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, fmt::format("cannot start {} worker threads; use fewer --workers", count),
                    error.what());
    }
    return pool;
}

SessionPool::~SessionPool() {
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
    }
    m_waiting.notify_all();
}

Result<void> SessionPool::run(std::size_t count, const Work& work, std::stop_token stop) {
    Batch batch{count, work, {}};
    const std::stop_callback forward(stop, [&] {
        batch.halt.request_stop();
        const std::lock_guard lock(m_mutex);  // or the notice could come between a look and the wait after it
        m_finished.notify_all();
    });
    std::unique_lock lock(m_mutex);
    if (m_lost) return fail(*m_lost);
    const auto place = m_batches.insert(m_batches.end(), &batch);
    m_waiting.notify_all();
    m_finished.wait(lock, [&batch] { return batch.running == 0 && !batch.hasWaiting(); });
    m_batches.erase(place);
    // The next caller's batch may get this one's address.
    std::replace(m_working.begin(), m_working.end(), static_cast<const Batch*>(&batch),
                 static_cast<const Batch*>(nullptr));
    if (m_lost) return fail(*m_lost);
    if (batch.error) return fail(*batch.error);
    if (batch.next < count) return fail(ErrorCode::Failed, model::kStoppedMessage);
    return {};
}

std::optional<Error> SessionPool::lost() {
    const std::lock_guard lock(m_mutex);
    return m_lost;
}

void SessionPool::serve(std::size_t session) {
    std::unique_lock lock(m_mutex);
    while (!m_ending) {
        const std::optional<Piece> piece = take(session);
        if (!piece) {
            m_waiting.wait(lock);
            continue;
        }
        lock.unlock();
        Result<void> result =
            guarded(piece->batch->work, piece->number, *m_sessions[session], piece->batch->halt.get_token());
        lock.lock();
        finish(*piece, std::move(result));
    }
}

std::optional<SessionPool::Piece> SessionPool::take(std::size_t session) {
    Batch* best = nullptr;
    std::pair<long, bool> bestRank;
    for (Batch* batch : m_batches) {
        if (!batch->hasWaiting()) continue;
        const bool own = m_working[session] == batch;
        const long others = std::count(m_working.begin(), m_working.end(), batch) - (own ? 1 : 0);
        // Whom nobody works for comes first, then one's own, because a session keeps the tables of its last method.
        const std::pair rank(others, !own);
        if (best == nullptr || rank < bestRank) {
            best = batch;
            bestRank = rank;
        }
    }
    m_working[session] = best;
    if (best == nullptr) return std::nullopt;
    ++best->running;
    return Piece{best, best->next++};
}

void SessionPool::finish(const Piece& piece, Result<void> result) {
    Batch& batch = *piece.batch;
    --batch.running;
    if (!result && cluster::isLostPeer(result.error())) lose(result.error());
    if (!result && (!batch.error || piece.number < batch.failed)) {
        batch.error = std::move(result.error());
        batch.failed = piece.number;
    }
    m_finished.notify_all();
}

void SessionPool::lose(const Error& error) {
    if (!m_lost) m_lost = error;
    for (Batch* batch : m_batches) batch->halt.request_stop();
    m_finished.notify_all();
}

}  // namespace lpes::studies
