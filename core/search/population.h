#pragma once

#include <cstddef>
#include <vector>

#include "core/search/archive.h"

namespace lpes::search {

/// Better first: failed candidates after all others, infeasible ones before them by smaller violation, given up ones
/// before these; then higher fitness, then earlier (generation, index). A strict total order over the candidates of one
/// search.
[[nodiscard]] bool ranksBefore(const CandidateRecord& a, const CandidateRecord& b);

/// How many of a population stay when the next generation is bred: the better half, rounded up.
template <class Count>
[[nodiscard]] constexpr Count keptOf(Count population) {
    return (population + 1) / 2;
}

/// The candidates that live at the same time: places in the archive, best first.
class Population {
  public:
    /// `pareto`: ranked by several objectives, in place of the fitness.
    explicit Population(std::size_t capacity, bool pareto = false) : m_capacity(capacity), m_pareto(pareto) {}

    [[nodiscard]] std::size_t keptCount() const { return keptOf(m_capacity); }
    /// Keeps the better half and adds the newly bred places [first, archive.size()), ranked anew: by ranksBefore, or by
    /// the crowded comparison of those that are complete, candidates that share an earlier one's scales behind them.
    void renew(const Archive& archive, std::size_t first);
    [[nodiscard]] const std::vector<std::size_t>& members() const { return m_members; }

  private:
    void rankByFronts(const Archive& archive);

    std::size_t m_capacity;
    bool m_pareto;
    std::vector<std::size_t> m_members;
};

/// Figures of a complete generation. Members that are not complete count in none of them; without any other member
/// best, mean, worst and stddev are NaN.
[[nodiscard]] GenerationRecord summary(int generation, const Population& population, const Archive& archive,
                                       std::int64_t evaluations);

}  // namespace lpes::search
