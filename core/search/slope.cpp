#include "core/search/slope.h"

#include <algorithm>
#include <cmath>

#include "core/search/genetic_search.h"
#include "core/search/guarded.h"
#include "core/search/in_parallel.h"

namespace lpes::search {
namespace {

Result<Slope> measured(const SlopeRequest& request, Fitness& fitness, int worker, const std::stop_token& stop) {
    auto slope = guarded("the slope of the loss", [&] { return fitness.slope(request, worker, stop); });
    if (!slope) return slope;
    const bool finite = std::isfinite(slope->loss) &&
                        std::ranges::all_of(slope->byScale, [](double value) { return std::isfinite(value); });
    if (finite) return slope;
    return fail(ErrorCode::Failed, "the slope of the loss has entries that are not finite numbers");
}

}  // namespace

Result<SlopeRound> measureSlopes(const std::vector<SlopeRequest>& requests, Fitness& fitness, int workers,
                                 std::stop_token stop) {
    std::vector<Result<Slope>> results(requests.size(), fail(ErrorCode::Failed, "not measured"));
    inParallel(requests.size(), workers, stop,
               [&](std::size_t job, int worker) { results[job] = measured(requests[job], fitness, worker, stop); });
    SlopeRound round;
    for (Result<Slope>& result : results) {
        if (result) {
            round.slopes.push_back(std::move(*result));
            continue;
        }
        if (stop.stop_requested() || fitness.isStop(result.error())) {
            round.stopped = true;
            return round;
        }
        if (result.error().code == ErrorCode::Database) return fail(result.error());
        round.slopes.push_back(std::nullopt);
        round.failure = result.error();
    }
    return round;
}

}  // namespace lpes::search
