#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "core/model/model_config.h"
#include "core/rope/rope_config.h"

namespace lpes::model {

/// cos and sin that a layer multiplies its queries and keys with.
struct RotaryTable {
    at::Tensor cos;  ///< [P, R/2] compute type, R rotated values of a head
    at::Tensor sin;  ///< [P, R/2] compute type
    /// [N] the table's row of each packed token; null: its position. There where prompts of one batch are rotated by
    /// different frequencies because of their lengths.
    std::shared_ptr<const std::vector<std::int32_t>> rows;
};

/// Position tables of one session, one per distinct scale (and rotary embedding, and length variant where frequencies
/// depend on the length): layers with the same ones share a table, and a table never changes what it says about a
/// position – it only grows. Which layer uses which table follows from the scales and the prompts' lengths alone.
/// Angles in double, rounded to the compute type last. thread-compatible.
class PositionTables {
  public:
    /// `maxTables` bounds how many tables are remembered (least recently used ones go first); it is raised to what one
    /// pass needs where that is more. `config` outlives it.
    PositionTables(const ModelConfig& config, at::ScalarType type, std::size_t maxTables = 128);

    /// One table per layer for prompts of `lengths` tokens, packed one behind the other from position 0 (a single
    /// length: the sequence's, wherever its new tokens begin). Empty scales mean 1 for every layer. Valid until the
    /// next call.
    [[nodiscard]] std::vector<RotaryTable> forLayers(const rope::LayerScales& scales,
                                                     std::span<const std::int64_t> lengths);

    [[nodiscard]] std::size_t tablesHeld() const { return m_tables.size(); }

  private:
    struct Entry {
        RotaryTable table;
        std::int64_t rows = 0;
        std::uint64_t lastUse = 0;
    };
    using Key = std::tuple<bool, int, double>;  ///< of sliding layers, length variant, scale

    [[nodiscard]] const RotaryTable& table(bool sliding, std::int64_t length, int variant, double scale,
                                           std::int64_t rows);
    [[nodiscard]] RotaryTable mixed(bool sliding, double scale, std::span<const std::int64_t> lengths);
    void grow(Entry& entry, const rope::RopeConfig& rope, int length, double scale, std::int64_t rows) const;
    void forgetOld();

    const ModelConfig& m_config;
    at::ScalarType m_type;
    std::size_t m_maxTables;
    std::uint64_t m_clock = 0;
    std::map<Key, Entry> m_tables;
};

}  // namespace lpes::model
