#include "app/cli/ranks.h"

#include <fmt/format.h>

#include "app/cli/signals.h"
#include "core/base/progress.h"
#include "core/studies/search_ranks.h"

namespace lpes::cli {

Result<void> requireAlone(const std::string& verb) {
    const auto start = cluster::startOfThisProcess();
    if (!start) return {};
    return fail(ErrorCode::Unsupported,
                fmt::format("{} started {} processes, but lpes {} runs on one machine; start it once, without {}",
                            start->launcher, start->ranks, verb, start->launcher));
}

Result<int> serveLeader(cluster::MpiRanks& ranks) {
    // mpirun passes a signal to all: rank 0 stops the search, and with it the others.
    leaveSignalsToLeader();
    auto channels = ranks.attend();
    if (!channels) return fail(channels.error());
    NullObserver quiet;
    if (auto served = studies::serveSearch(std::move(*channels), quiet); !served) return fail(served.error());
    return 0;
}

}  // namespace lpes::cli
