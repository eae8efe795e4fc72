#include "app/jobs/thread_context.h"

#include <algorithm>
#include <thread>

namespace lpes::app {

int windowThreads() {
    constexpr int kCoresToSpareOne = 4;
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return cores >= kCoresToSpareOne ? cores - 1 : cores;
}

}  // namespace lpes::app
