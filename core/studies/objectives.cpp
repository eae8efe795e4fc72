#include "core/studies/objectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lpes::studies {

namespace {

using search::Objective;

/// Where the evidence of the first item that is run stands, position by position.
std::vector<int> goldIndices(const PromptPlan& plan) {
    std::vector<int> gold;
    for (const PromptPlan::Entry& entry : plan.entries()) {
        if (entry.tooLong) continue;
        if (static_cast<std::size_t>(entry.position) != gold.size()) break;
        gold.push_back(entry.goldIndex);
    }
    return gold;
}

/// The weights of the positions that count, to sum 1; Usage where nothing is left.
Result<std::vector<double>> shareOf(const std::vector<double>& weights, const std::vector<bool>& counts,
                                    Objective objective) {
    std::vector<double> shares(weights.size(), 0.0);
    for (std::size_t p = 0; p < weights.size(); ++p) shares[p] = counts[p] ? weights[p] : 0.0;
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (!(total > 0.0)) {
        return fail(ErrorCode::Usage,
                    fmt::format("--objectives {} has no position with a weight; give --positions with one that is "
                                "{}, and --weights that count it",
                                search::objectiveName(objective),
                                objective == Objective::Middle ? "neither first nor last" : "first or last"));
    }
    for (double& share : shares) share /= total;
    return shares;
}

}  // namespace

Result<ObjectiveRule> ObjectiveRule::make(const std::vector<Objective>& objectives, const std::vector<double>& weights,
                                          const PromptPlan& plan) {
    ObjectiveRule rule;
    rule.m_objectives = objectives;
    if (objectives.empty()) return rule;
    const std::vector<int> gold = goldIndices(plan);
    if (gold.size() != weights.size() || gold.size() < 2) {
        return fail(
            ErrorCode::Usage,
            fmt::format("--objectives {} needs evidence that stands at several positions, and this task has {}; "
                        "leave it out",
                        search::objectivesText(objectives), gold.size()));
    }
    const auto [first, last] = std::ranges::minmax(gold);
    std::vector<bool> ends, middle;
    for (const int index : gold) {
        ends.push_back(index == first || index == last);
        middle.push_back(!ends.back());
    }
    for (const Objective objective : objectives) {
        if (objective == Objective::Short) continue;
        const bool inner = objective == Objective::Middle;
        auto shares = shareOf(weights, inner ? middle : ends, objective);
        if (!shares) return fail(shares.error());
        (inner ? rule.m_middle : rule.m_ends) = std::move(*shares);
    }
    return rule;
}

std::vector<double> ObjectiveRule::values(const std::vector<double>& byPosition, double shortNll) const {
    std::vector<double> values;
    for (const Objective objective : m_objectives) {
        if (objective == Objective::Short) {
            values.push_back(-shortNll);
            continue;
        }
        const std::vector<double>& shares = objective == Objective::Middle ? m_middle : m_ends;
        double sum = 0.0;
        // What does not count must not spoil what does, whatever it is.
        for (std::size_t p = 0; p < shares.size(); ++p) sum += shares[p] > 0.0 ? shares[p] * byPosition[p] : 0.0;
        values.push_back(sum);
    }
    return values;
}

}  // namespace lpes::studies
