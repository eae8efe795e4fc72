#include "app/cli/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/cli/signals.h"
#include "core/base/progress.h"
#include "core/studies/search_ranks.h"

namespace lpes::cli {

namespace {

/// Verbs that compute for long or write a run.
constexpr std::array<std::string_view, 8> kAlone{"eval",  "compare", "bench",     "suite",
                                                 "study", "attn",    "deviation", "train"};

}  // namespace

Result<void> requireAlone(std::string_view verb) {
    const auto start = cluster::startOfThisProcess();
    if (!start || std::ranges::find(kAlone, verb) == kAlone.end()) return {};
    return fail(
        ErrorCode::Unsupported,
        fmt::format("{0} started {1} processes, and each would do the whole of lpes {2}; start it once, without "
                    "{0} (lpes search and lpes resume share a search among processes)",
                    start->launcher, start->ranks, verb));
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
