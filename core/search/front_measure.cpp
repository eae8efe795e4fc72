#include "core/search/front_measure.h"

#include <algorithm>
#include <set>

namespace lpes::search {

void FrontMeasure::measure(const Archive& archive, GenerationRecord& record) {
    std::vector<Objectives> points;
    std::set<Objectives> seen;
    for (std::size_t place = 0; place < archive.size(); ++place) {
        const Evaluation& evaluation = archive[place].record.evaluation;
        const bool counts = archive[place].evaluated && evaluation.complete() && archive.isOriginal(place);
        if (counts && seen.insert(evaluation.objectives).second) points.push_back(evaluation.objectives);
    }
    if (points.empty()) return;
    if (m_reference.empty()) {
        m_reference = points.front();
        for (const Objectives& point : points) {
            for (std::size_t m = 0; m < point.size(); ++m) m_reference[m] = std::min(m_reference[m], point[m]);
        }
    }
    const std::vector<std::size_t> front = nonDominatedFronts(points).front();
    std::vector<Objectives> best;
    for (const std::size_t i : front) best.push_back(points[i]);
    record.frontSize = static_cast<int>(front.size());
    record.hypervolume = hypervolume(best, m_reference);
}

}  // namespace lpes::search
