#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/rope/rivals.h"

namespace lpes::rope {

namespace {

/// Where a waveform turns, or what is left of that of several bases.
struct Turns {
    std::vector<int> peaks, troughs;  ///< positions, ascending
};

/// Peaks that lie on troughs: how many, which, and how far apart.
struct Filled {
    int count = 0;
    double squaredDistance = 0.0;
    std::set<int> peaks, troughs;
};

/// A plateau turns at its first position; the ends of the range, which have one neighbour only, never do.
Turns turnsOf(double base, const BucketSearch& search) {
    const std::vector<double> wave = bucketWaveform(base, search.headDim, search.first, search.last);
    Turns turns;
    for (std::size_t i = 1; i + 1 < wave.size(); ++i) {
        if (wave[i] == wave[i - 1]) continue;
        const auto next = std::find_if(wave.begin() + static_cast<std::ptrdiff_t>(i) + 1, wave.end(),
                                       [&](double value) { return value != wave[i]; });
        if (next == wave.end()) break;
        const int position = search.first + static_cast<int>(i);
        if (wave[i] > wave[i - 1] && wave[i] > *next) turns.peaks.push_back(position);
        if (wave[i] < wave[i - 1] && wave[i] < *next) turns.troughs.push_back(position);
    }
    return turns;
}

/// Each peak fills the trough nearest to it, of two equally near ones the earlier.
Filled filled(const std::vector<int>& peaks, const std::vector<int>& troughs, int tolerance) {
    Filled found;
    for (const int peak : peaks) {
        auto nearest = std::lower_bound(troughs.begin(), troughs.end(), peak);
        if (nearest != troughs.begin() && (nearest == troughs.end() || peak - *std::prev(nearest) <= *nearest - peak)) {
            --nearest;
        }
        if (nearest == troughs.end() || std::abs(*nearest - peak) > tolerance) continue;
        ++found.count;
        found.squaredDistance += static_cast<double>(*nearest - peak) * (*nearest - peak);
        found.peaks.insert(peak);
        found.troughs.insert(*nearest);
    }
    return found;
}

/// How well two sets of turns cancel. Ordered: more filled troughs first, then the smaller mean squared distance.
struct Fit {
    Filled newPeaks, newTroughs;

    Fit(const Turns& chosen, const Turns& added, int tolerance)
        : newPeaks(filled(added.peaks, chosen.troughs, tolerance)),
          newTroughs(filled(chosen.peaks, added.troughs, tolerance)) {}

    [[nodiscard]] std::pair<int, double> rank() const {
        const int count = newPeaks.count + newTroughs.count;
        const double squares = newPeaks.squaredDistance + newTroughs.squaredDistance;
        return {-count, count > 0 ? squares / count : std::numeric_limits<double>::infinity()};
    }
};

void mergeWithout(std::vector<int>& into, const std::set<int>& cancelled, const std::vector<int>& added,
                  const std::set<int>& cancelledOfAdded) {
    std::erase_if(into, [&](int position) { return cancelled.contains(position); });
    for (const int position : added) {
        if (!cancelledOfAdded.contains(position)) into.push_back(position);
    }
    std::sort(into.begin(), into.end());
}

/// `added` joins `chosen`; what fills or is filled leaves both.
void add(Turns& chosen, const Turns& added, int tolerance) {
    const Fit fit(chosen, added, tolerance);
    mergeWithout(chosen.peaks, fit.newTroughs.peaks, added.peaks, fit.newPeaks.peaks);
    mergeWithout(chosen.troughs, fit.newPeaks.troughs, added.troughs, fit.newTroughs.troughs);
}

/// The candidates' turns, once for all comparisons.
struct Candidate {
    double base = 0.0;
    Turns turns;
};

std::vector<double> bestPair(const std::vector<Candidate>& candidates, int tolerance) {
    std::pair<int, double> best{1, 0.0};
    std::vector<double> pair;
    for (std::size_t a = 0; a < candidates.size(); ++a) {
        for (std::size_t b = a + 1; b < candidates.size(); ++b) {
            const auto rank = Fit(candidates[a].turns, candidates[b].turns, tolerance).rank();
            if (rank < best) {  // of equal ones the smaller bases, which come first
                best = rank;
                pair = {candidates[a].base, candidates[b].base};
            }
        }
    }
    return pair;
}

}  // namespace

std::vector<double> bucketWaveform(double base, int headDim, int first, int last) {
    std::vector<double> frequencies(static_cast<std::size_t>(headDim / 2));
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / headDim);
    }
    std::vector<double> wave;
    wave.reserve(static_cast<std::size_t>(std::max(last - first + 1, 0)));
    for (int position = first; position <= last; ++position) {
        double sum = 0.0;
        for (const double frequency : frequencies) sum += std::cos(position * frequency);
        wave.push_back(2.0 / std::sqrt(headDim) * sum);
    }
    return wave;
}

int BucketSearch::candidates() const {
    return static_cast<int>(std::floor((maxBase - minBase) / step + 1e-9)) + 1;
}

std::vector<double> searchBucketBases(const BucketSearch& search) {
    std::vector<Candidate> candidates;
    for (int i = 0; i < search.candidates(); ++i) {
        const double base = search.minBase + i * search.step;
        candidates.push_back({base, turnsOf(base, search)});
    }
    std::vector<double> bases = search.start.empty() ? bestPair(candidates, search.tolerance) : search.start;
    if (bases.empty()) bases.push_back(search.minBase);  // the only candidate
    Turns chosen;
    for (const double base : bases) add(chosen, turnsOf(base, search), search.tolerance);
    while (static_cast<int>(bases.size()) < search.count) {
        const Candidate* next = nullptr;
        std::pair<int, double> best;
        for (const Candidate& candidate : candidates) {
            if (std::find(bases.begin(), bases.end(), candidate.base) != bases.end()) continue;
            const auto rank = Fit(chosen, candidate.turns, search.tolerance).rank();
            if (next == nullptr || rank < best) {
                next = &candidate;
                best = rank;
            }
        }
        if (next == nullptr) break;
        add(chosen, next->turns, search.tolerance);
        bases.push_back(next->base);
    }
    return bases;
}

}  // namespace lpes::rope
