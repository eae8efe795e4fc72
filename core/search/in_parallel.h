#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace lpes::search {

/// Calls work(job, worker) for every job below `count` with up to `workers` threads, the caller's among them, jobs in
/// order as workers become free; none is begun once a stop is requested. `work` must not throw. Returns when every
/// worker has ended. Throws std::system_error when a thread cannot start, after those that did have ended.
void inParallel(std::size_t count, int workers, const std::stop_token& stop,
                const std::function<void(std::size_t job, int worker)>& work);

}  // namespace lpes::search
