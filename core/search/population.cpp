#include "core/search/population.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/search/pareto.h"

namespace lpes::search {
namespace {

double meanDistance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t layer = 0; layer < a.size(); ++layer) sum += std::abs(a[layer] - b[layer]);
    return sum / static_cast<double>(a.size());
}

double diversityOf(const std::vector<const CandidateRecord*>& members) {
    if (members.size() < 2) return 0.0;
    double sum = 0.0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = i + 1; j < members.size(); ++j) {
            sum += meanDistance(members[i]->candidate.scales, members[j]->candidate.scales);
        }
    }
    return sum / (static_cast<double>(members.size()) * static_cast<double>(members.size() - 1) / 2.0);
}

}  // namespace

bool ranksBefore(const CandidateRecord& a, const CandidateRecord& b) {
    if (a.evaluation.failed != b.evaluation.failed) return b.evaluation.failed;
    // Those that are allowed have no violation at all.
    if (!a.evaluation.failed && a.evaluation.violation != b.evaluation.violation) {
        return a.evaluation.violation < b.evaluation.violation;
    }
    if (a.evaluation.givenUp != b.evaluation.givenUp) return b.evaluation.givenUp;
    if (!a.evaluation.failed && a.evaluation.fitness != b.evaluation.fitness) {
        return a.evaluation.fitness > b.evaluation.fitness;
    }
    return std::tie(a.candidate.generation, a.candidate.index) < std::tie(b.candidate.generation, b.candidate.index);
}

void Population::renew(const Archive& archive, std::size_t first) {
    m_members.resize(std::min(m_members.size(), keptCount()));
    for (std::size_t place = first; place < archive.size(); ++place) m_members.push_back(place);
    std::sort(m_members.begin(), m_members.end(),
              [&](std::size_t a, std::size_t b) { return ranksBefore(archive[a].record, archive[b].record); });
    if (m_pareto) rankByFronts(archive);
}

void Population::rankByFronts(const Archive& archive) {
    const auto own = [&](std::size_t place) {
        return archive[place].record.evaluation.complete() && archive.isOriginal(place);
    };
    const auto others = std::stable_partition(m_members.begin(), m_members.end(), own);
    const std::vector<std::size_t> before(m_members.begin(), others);
    std::vector<Objectives> points;
    for (const std::size_t place : before) points.push_back(archive[place].record.evaluation.objectives);
    auto to = m_members.begin();
    for (const std::size_t index : crowdedOrder(points)) *to++ = before[index];
}

GenerationRecord summary(int generation, const Population& population, const Archive& archive,
                         std::int64_t evaluations) {
    GenerationRecord record;
    record.generation = generation;
    record.evaluations = evaluations;
    std::vector<const CandidateRecord*> valid;
    double sum = 0.0;
    for (const std::size_t place : population.members()) {
        const CandidateRecord& member = archive[place].record;
        record.population.emplace_back(member.candidate.generation, member.candidate.index);
        if (!member.evaluation.complete()) continue;
        valid.push_back(&member);
        sum += member.evaluation.fitness;
    }
    record.diversity = diversityOf(valid);
    if (valid.empty()) {
        record.best = record.mean = record.worst = record.stddev = std::numeric_limits<double>::quiet_NaN();
        return record;
    }
    const auto count = static_cast<double>(valid.size());
    const auto fitness = [](const CandidateRecord* member) { return member->evaluation.fitness; };
    const auto [worst, best] = std::ranges::minmax(valid, {}, fitness);
    record.best = fitness(best);
    record.worst = fitness(worst);
    record.mean = sum / count;
    double squares = 0.0;
    for (const CandidateRecord* member : valid) {
        const double difference = member->evaluation.fitness - record.mean;
        squares += difference * difference;
    }
    record.stddev = std::sqrt(squares / count);
    return record;
}

}  // namespace lpes::search
