#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "core/search/genetic_search.h"
#include "core/search/pareto.h"
#include "core/search/population.h"

namespace lpes::search {

std::string endReasonName(EndReason reason) {
    switch (reason) {
        case EndReason::Generations:
            return "generations";
        case EndReason::Evaluations:
            return "max_evals";
        case EndReason::TimeLimit:
            return "time_limit";
        case EndReason::Target:
            return "target";
        case EndReason::Patience:
            return "patience";
        case EndReason::Failures:
            return "failures";
        case EndReason::Stopped:
            return "stopped";
        case EndReason::Exhausted:
            return "exhausted";
    }
    return "generations";
}

std::vector<CandidateRecord> bestDistinct(const SearchOutcome& outcome, int count) {
    std::vector<const CandidateRecord*> ranked;
    for (const CandidateRecord& record : outcome.candidates) {
        if (record.evaluation.complete()) ranked.push_back(&record);
    }
    std::sort(ranked.begin(), ranked.end(),
              [](const CandidateRecord* a, const CandidateRecord* b) { return ranksBefore(*a, *b); });
    std::vector<CandidateRecord> best;
    std::set<std::vector<double>> seen;
    for (const CandidateRecord* record : ranked) {
        if (static_cast<int>(best.size()) >= count) break;
        if (seen.insert(record->candidate.scales).second) best.push_back(*record);
    }
    return best;
}

std::vector<CandidateRecord> paretoFront(const SearchOutcome& outcome) {
    std::vector<const CandidateRecord*> all;
    std::vector<Objectives> points;
    std::set<Objectives> seen;
    for (const CandidateRecord& record : outcome.candidates) {
        const Evaluation& evaluation = record.evaluation;
        if (!evaluation.complete() || evaluation.objectives.empty() || !seen.insert(evaluation.objectives).second)
            continue;
        all.push_back(&record);
        points.push_back(evaluation.objectives);
    }
    std::vector<CandidateRecord> front;
    if (all.empty()) return front;
    const auto fronts = nonDominatedFronts(points);
    for (const std::size_t i : fronts.front()) front.push_back(*all[i]);
    std::ranges::stable_sort(front, std::greater(),
                             [](const CandidateRecord& record) { return record.evaluation.objectives; });
    return front;
}

std::vector<CandidateRecord> spreadOf(const std::vector<CandidateRecord>& front, int count) {
    if (front.empty()) return {};
    std::vector<Objectives> points;
    for (const CandidateRecord& record : front) points.push_back(record.evaluation.objectives);
    const auto best = std::ranges::max_element(front, {}, [](const auto& one) { return one.evaluation.fitness; });
    std::vector<CandidateRecord> spread;
    for (const std::size_t i :
         spreadOut(points, static_cast<std::size_t>(count), static_cast<std::size_t>(best - front.begin())))
        spread.push_back(front[i]);
    return spread;
}

double weightedFitness(const std::vector<double>& scoreByPosition, const std::vector<double>& weights,
                       double gapPenalty) {
    double total = 0.0;
    for (const double weight : weights) total += weight;
    if (scoreByPosition.empty() || scoreByPosition.size() != weights.size() || !(total > 0.0)) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    double fitness = 0.0;
    for (std::size_t p = 0; p < weights.size(); ++p) fitness += weights[p] / total * scoreByPosition[p];
    const auto [low, high] = std::minmax_element(scoreByPosition.begin(), scoreByPosition.end());
    return fitness - gapPenalty * (*high - *low);
}

}  // namespace lpes::search
