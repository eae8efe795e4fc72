#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "core/rope/rope_config.h"

namespace lpes::model {

/// cos and sin that a layer multiplies its queries and keys with.
struct RotaryTable {
    at::Tensor cos;  ///< [P, D/2] compute type
    at::Tensor sin;  ///< [P, D/2] compute type
};

/// Position tables of one session, one per distinct scale: layers with the same scale share one, and a table never
/// changes what it says about a position – it only grows. Which layer uses which table follows from the scales alone.
/// Angles in double, rounded to the compute type last. thread-compatible.
class PositionTables {
  public:
    /// `maxTables` bounds how many scales are remembered (least recently used ones go first); it is raised to the
    /// number of distinct scales where a profile has more.
    PositionTables(const rope::RopeConfig& config, at::ScalarType type, std::size_t maxTables = 128);

    /// One table per layer with at least `positions` rows; empty scales mean 1 for every layer. Valid until the next
    /// call.
    [[nodiscard]] std::vector<RotaryTable> forLayers(const rope::LayerScales& scales, int numLayers, int positions);

    [[nodiscard]] std::size_t tablesHeld() const { return m_tables.size(); }
    [[nodiscard]] const std::vector<double>& inverseFrequencies() const { return m_inverseFrequencies; }

  private:
    struct Entry {
        RotaryTable table;
        std::int64_t rows = 0;
        std::uint64_t lastUse = 0;
    };
    void grow(Entry& entry, double scale, std::int64_t rows) const;
    void forgetOld();

    std::vector<double> m_inverseFrequencies;
    at::ScalarType m_type;
    std::size_t m_maxTables;
    std::uint64_t m_clock = 0;
    std::map<double, Entry> m_tables;
};

}  // namespace lpes::model
