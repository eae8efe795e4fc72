#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "core/search/genetic_search.h"

namespace lpes::search {

/// Every candidate of a search in order of (generation, index), and which of them share their scales.
/// Invariant: a candidate with `duplicateOf` refers to the first candidate with its scales, which has none.
/// thread-compatible; records of different candidates may be written by different threads while none is added.
class Archive {
  public:
    struct Entry {
        CandidateRecord record;
        bool evaluated = false;               ///< the record's evaluation is there
        std::size_t original = 0;             ///< place of the first candidate with the same scales; itself if none
        std::vector<std::size_t> duplicates;  ///< later candidates with the same scales (originals only)
    };

    [[nodiscard]] bool knows(const std::vector<double>& scales) const { return m_byScales.contains(scales); }
    /// Appends; a candidate whose scales are known becomes a duplicate and takes over an evaluation that is there.
    /// Returns its place.
    std::size_t add(Candidate candidate);
    /// Stores an evaluation for an original and for its duplicates so far.
    void setEvaluation(std::size_t place, Evaluation evaluation);
    /// Takes an original's evaluation back, and its duplicates' with it.
    void dropEvaluation(std::size_t place);

    [[nodiscard]] const Entry& operator[](std::size_t place) const { return m_entries[place]; }
    [[nodiscard]] std::size_t size() const { return m_entries.size(); }
    [[nodiscard]] bool isOriginal(std::size_t place) const { return m_entries[place].original == place; }

  private:
    std::vector<Entry> m_entries;
    std::map<std::vector<double>, std::size_t> m_byScales;
};

}  // namespace lpes::search
