#include "core/base/thread_priority.h"

#include <sys/resource.h>

namespace lpes {

void lowerThreadPriority() {
    constexpr int kNice = 5;
    if (::getpriority(PRIO_PROCESS, 0) < kNice) ::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace lpes
