#include "app/jobs/thread_context.h"

#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace lpes::app {

int windowThreads() {
    constexpr int kCoresToSpareOne = 4;
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return cores >= kCoresToSpareOne ? cores - 1 : cores;
}

void lowerThreadPriority() {
    constexpr int kNice = 5;
    // On Linux this sets the calling thread alone; threads that it starts inherit it.
    if (::getpriority(PRIO_PROCESS, 0) < kNice) ::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace lpes::app
