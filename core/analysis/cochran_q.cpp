#include "core/analysis/cochran_q.h"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <map>
#include <optional>

namespace lpes::analysis {

namespace {

using ColumnSums = std::vector<std::int64_t>;

struct Table {
    std::size_t conditions = 0;
    ColumnSums columns;             ///< successes under each condition
    std::vector<int> rows;          ///< successes of each item that tells conditions apart
    std::int64_t sumOfSquares = 0;  ///< of the columns
};

std::int64_t squares(const ColumnSums& columns) {
    std::int64_t sum = 0;
    for (const std::int64_t column : columns) sum += column * column;
    return sum;
}

Table tableOf(std::span<const std::vector<bool>> successes) {
    Table table;
    if (successes.empty()) return table;
    table.conditions = successes.front().size();
    table.columns.resize(table.conditions);
    for (const std::vector<bool>& item : successes) {
        const auto row = static_cast<int>(std::count(item.begin(), item.end(), true));
        if (row == 0 || row == static_cast<int>(table.conditions)) continue;
        table.rows.push_back(row);
        for (std::size_t j = 0; j < table.conditions; ++j) table.columns[j] += item[j] ? 1 : 0;
    }
    table.sumOfSquares = squares(table.columns);
    return table;
}

double statistic(const Table& table) {
    const auto k = static_cast<double>(table.conditions);
    double total = 0.0, rowSquares = 0.0;
    for (const int row : table.rows) {
        total += row;
        rowSquares += static_cast<double>(row) * row;
    }
    return (k - 1.0) * (k * static_cast<double>(table.sumOfSquares) - total * total) / (k * total - rowSquares);
}

/// The share of all deals whose Q is at least the observed one: Q grows with the sum of the squared column sums, all
/// else is fixed. Only the multiset of column sums matters, so that they are kept sorted. Nothing where the work would
/// exceed a fraction of a second.
std::optional<double> exactPValue(const Table& table) {
    constexpr double kMostSteps = 2e6;
    double steps = 0.0;
    std::map<ColumnSums, double> probability{{ColumnSums(table.conditions, 0), 1.0}};
    for (const int row : table.rows) {
        std::vector<unsigned> deals;
        if (table.conditions > 16) return std::nullopt;
        for (unsigned deal = 0; deal < 1u << table.conditions; ++deal) {
            if (std::popcount(deal) == row) deals.push_back(deal);
        }
        steps += static_cast<double>(probability.size() * deals.size());
        if (steps > kMostSteps) return std::nullopt;
        std::map<ColumnSums, double> next;
        for (const auto& [columns, share] : probability) {
            for (const unsigned deal : deals) {
                ColumnSums sums = columns;
                for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += deal >> j & 1u;
                std::sort(sums.begin(), sums.end());
                next[sums] += share / static_cast<double>(deals.size());
            }
        }
        probability = std::move(next);
    }
    double tail = 0.0;
    for (const auto& [columns, share] : probability) tail += squares(columns) >= table.sumOfSquares ? share : 0.0;
    return std::min(tail, 1.0);
}

CochranQ test(std::span<const std::vector<bool>> successes, bool tryExact) {
    const Table table = tableOf(successes);
    CochranQ result;
    result.degreesOfFreedom = std::max(static_cast<int>(table.conditions) - 1, 0);
    if (table.rows.empty()) return result;
    result.q = statistic(table);
    const auto exact = tryExact ? exactPValue(table) : std::nullopt;
    result.exact = exact.has_value();
    const boost::math::chi_squared chiSquared(result.degreesOfFreedom);
    result.pValue = exact ? *exact : boost::math::cdf(boost::math::complement(chiSquared, result.q));
    return result;
}

}  // namespace

CochranQ cochranQ(std::span<const std::vector<bool>> successes) {
    return test(successes, true);
}

CochranQ cochranQAsymptotic(std::span<const std::vector<bool>> successes) {
    return test(successes, false);
}

}  // namespace lpes::analysis
