#include "core/search/pareto.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace lpes::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::size_t> indices(std::size_t count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

/// Of points that are all above the reference in their first `dimensions` objectives.
double volume(std::vector<const Objectives*> points, const Objectives& reference, std::size_t dimensions) {
    const std::size_t last = dimensions - 1;
    const auto height = [last](const Objectives* point) { return (*point)[last]; };
    if (points.empty()) return 0.0;
    if (dimensions == 1) return height(*std::ranges::max_element(points, {}, height)) - reference[0];
    std::ranges::stable_sort(points, std::greater(), height);
    double sum = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double below = i + 1 < points.size() ? height(points[i + 1]) : reference[last];
        const double thickness = height(points[i]) - below;
        if (!(thickness > 0.0)) continue;  // the next slice holds this point too
        const auto end = points.begin() + static_cast<std::ptrdiff_t>(i) + 1;
        sum += thickness * volume({points.begin(), end}, reference, last);
    }
    return sum;
}

}  // namespace

bool dominates(const Objectives& a, const Objectives& b) {
    bool better = false;
    for (std::size_t m = 0; m < a.size(); ++m) {
        if (a[m] < b[m]) return false;
        better = better || a[m] > b[m];
    }
    return better;
}

std::vector<std::vector<std::size_t>> nonDominatedFronts(std::span<const Objectives> points) {
    std::vector<std::vector<std::size_t>> dominated(points.size());  // by each point
    std::vector<std::size_t> dominators(points.size(), 0);           // not yet in a front
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t j = 0; j < points.size(); ++j) {
            if (dominates(points[i], points[j])) dominated[i].push_back(j);
            if (dominates(points[j], points[i])) ++dominators[i];
        }
        if (dominators[i] == 0) front.push_back(i);
    }
    std::vector<std::vector<std::size_t>> fronts;
    while (!front.empty()) {
        std::vector<std::size_t> next;
        for (const std::size_t i : front) {
            for (const std::size_t j : dominated[i]) {
                if (--dominators[j] == 0) next.push_back(j);
            }
        }
        std::ranges::sort(next);
        fronts.push_back(std::move(front));
        front = std::move(next);
    }
    return fronts;
}

std::vector<double> crowdingDistances(std::span<const Objectives> front) {
    std::vector<double> distances(front.size(), 0.0);
    const std::size_t objectives = front.empty() ? 0 : front.front().size();
    for (std::size_t m = 0; m < objectives; ++m) {
        std::vector<std::size_t> order = indices(front.size());
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return front[i][m]; });
        const double extent = front[order.back()][m] - front[order.front()][m];
        if (!(extent > 0.0)) continue;
        distances[order.front()] = distances[order.back()] = kInfinity;
        for (std::size_t k = 1; k + 1 < order.size(); ++k)
            distances[order[k]] += (front[order[k + 1]][m] - front[order[k - 1]][m]) / extent;
    }
    return distances;
}

std::vector<std::size_t> crowdedOrder(std::span<const Objectives> points) {
    std::vector<std::size_t> order;
    for (const std::vector<std::size_t>& front : nonDominatedFronts(points)) {
        std::vector<Objectives> own;
        for (const std::size_t i : front) own.push_back(points[i]);
        const std::vector<double> distances = crowdingDistances(own);
        std::vector<std::size_t> places = indices(front.size());
        std::ranges::stable_sort(places, std::greater(), [&](std::size_t k) { return distances[k]; });
        for (const std::size_t k : places) order.push_back(front[k]);
    }
    return order;
}

std::vector<std::size_t> spreadOut(std::span<const Objectives> front, std::size_t count, std::size_t kept) {
    std::vector<std::size_t> left = indices(front.size());
    while (left.size() > std::max<std::size_t>(count, 1)) {
        std::vector<Objectives> own;
        for (const std::size_t i : left) own.push_back(front[i]);
        std::vector<double> distances = crowdingDistances(own);
        std::size_t most = left.size();
        for (std::size_t k = 0; k < left.size(); ++k) {
            if (left[k] != kept && (most == left.size() || distances[k] <= distances[most])) most = k;
        }
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(most));
    }
    return left;
}

double hypervolume(std::span<const Objectives> points, const Objectives& reference) {
    std::vector<const Objectives*> above;
    for (const Objectives& point : points) {
        bool counts = true;
        for (std::size_t m = 0; m < reference.size(); ++m) counts = counts && point[m] > reference[m];
        if (counts) above.push_back(&point);
    }
    return reference.empty() ? 0.0 : volume(std::move(above), reference, reference.size());
}

}  // namespace lpes::search
