#include "core/search/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace lpes::search {

void inParallel(std::size_t count, int workers, const std::stop_token& stop,
                const std::function<void(std::size_t job, int worker)>& work) {
    std::atomic<std::size_t> next = 0;
    const auto run = [&](int worker) {
        for (std::size_t job = next++; job < count && !stop.stop_requested(); job = next++) work(job, worker);
    };
    std::vector<std::jthread> others;
    const int threads = static_cast<int>(std::min(static_cast<std::size_t>(workers), count));
    for (int worker = 1; worker < threads; ++worker) others.emplace_back(run, worker);
    run(0);
}

}  // namespace lpes::search
