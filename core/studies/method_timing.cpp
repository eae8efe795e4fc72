#include "core/studies/method_timing.h"

#include <algorithm>
#include <vector>

#include "core/base/process_memory.h"
#include "core/base/random.h"
#include "core/studies/json_rows.h"

namespace lpes::studies {

double median(std::span<const double> values) {
    if (values.empty()) return 0.0;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

std::optional<SecondsRatio> ratioOf(std::span<const double> seconds, std::span<const double> reference,
                                    std::uint64_t seed) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(seconds.size(), reference.size()); ++i) {
        if (seconds[i] > 0.0 && reference[i] > 0.0) ratios.push_back(seconds[i] / reference[i]);
    }
    if (ratios.empty()) return std::nullopt;
    SecondsRatio result{median(ratios), ratios.size(), std::nullopt};
    const auto [lowest, highest] = std::ranges::minmax(ratios);
    if (ratios.size() < analysis::kFewestPairs || lowest == highest) return result;
    constexpr int kResamples = 2000;
    RandomStream random(seed, kStreamBootstrap);
    std::vector<double> medians, drawn(ratios.size());
    for (int i = 0; i < kResamples; ++i) {
        for (double& value : drawn) value = ratios[random.below(ratios.size())];
        medians.push_back(median(drawn));
    }
    std::sort(medians.begin(), medians.end());
    const auto at = [&](double share) {
        return medians[static_cast<std::size_t>(share * static_cast<double>(medians.size() - 1))];
    };
    result.interval = analysis::Interval{at(0.025), at(0.975)};
    return result;
}

nlohmann::json ratioJson(const std::optional<SecondsRatio>& ratio) {
    if (!ratio) return nullptr;
    nlohmann::json out = intervalJson(ratio->interval);
    out.update({{"ratio", ratio->ratio}, {"pairs", ratio->pairs}});
    return out;
}

Result<PeakMemory> peakOf(const std::function<Result<void>()>& work) {
    releaseFreedMemory();
    const auto before = residentBytes();
    const bool anew = resetPeakResident();
    if (auto done = work(); !done) return fail(done.error());
    const auto peak = peakResidentBytes();
    if (!anew || !before || !peak) return PeakMemory{};
    return PeakMemory{std::max<std::int64_t>(0, *peak - *before)};
}

}  // namespace lpes::studies
