#pragma once

#include <ATen/core/Tensor.h>

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/model/model_config.h"
#include "core/rope/position_method.h"

namespace lpes::model {

/// cos and sin that a layer multiplies its queries and keys with; row p is position p.
struct RotaryTable {
    at::Tensor cos;  ///< [P, R/2] compute type, R rotated values of a head
    at::Tensor sin;  ///< [P, R/2] compute type
};

/// What decides a sequence's frequencies: its length, where they depend on it, and the path or expert of the method.
struct RotatedSequence {
    std::int64_t length = 0;
    int path = 0;
};

/// The tables of one layer in one pass: one for all, or one per sequence, or per key/value head, or both.
struct LayerTables {
    std::vector<RotaryTable> tables;       ///< [sequences · heads]
    std::size_t sequences = 1, heads = 1;  ///< 1: the same for all

    [[nodiscard]] const RotaryTable& of(std::size_t sequence, std::size_t kvHead) const {
        return tables[(sequences > 1 ? sequence : 0) * heads + (heads > 1 ? kvHead : 0)];
    }
};

/// Position tables of one session, one per distinct set of frequencies, scale, amplitude and device: layers, heads and
/// methods that need the same one share it, and a table never changes what it says about a position – it only grows.
/// Angles in double, rounded to the compute type last. thread-compatible.
class PositionTables {
  public:
    /// `maxTables` bounds how many tables are remembered (least recently used ones go first); it is raised to what one
    /// pass needs where that is more. `config` outlives it.
    /// `devices`: where each layer is; empty: all on the CPU.
    PositionTables(const ModelConfig& config, at::ScalarType type, std::vector<at::Device> devices = {},
                   std::size_t maxTables = 128);

    /// The tables of every layer under the method's rope, scales, heads and divisors for sequences that begin at
    /// position 0 (or one sequence, wherever its new tokens begin). What the method chooses by content is not in them.
    [[nodiscard]] std::vector<LayerTables> forLayers(const rope::PositionMethod& method,
                                                     std::span<const RotatedSequence> sequences);

    /// Begins a pass that asks for its tables one by one; forLayers begins one by itself.
    void beginPass();

    /// A table of one layer with `scale` in place of the method's own scales: for methods that choose scales by content
    /// and for experts. Belongs to the pass that began last.
    [[nodiscard]] RotaryTable forScale(const rope::PositionMethod& method, int layer, const RotatedSequence& sequence,
                                       double scale);

    [[nodiscard]] std::size_t tablesHeld() const { return m_tables.size(); }

  private:
    struct Key {
        int device = -1;  ///< −1: CPU
        double scale = 1.0, amplitude = 1.0;
        std::vector<double> frequencies;
        auto operator<=>(const Key&) const = default;
    };
    struct Entry {
        RotaryTable table;
        std::int64_t rows = 0;
        std::uint64_t lastUse = 0;
    };
    /// Frequencies and amplitude of a layer, before any scale.
    struct Embedding {
        std::vector<double> frequencies;
        double amplitude = 1.0;
        bool oneLength = false;  ///< of sequences of this length only
    };
    /// What the embeddings of a pass depend on.
    struct EmbeddingKey {
        bool sliding = false;
        int path = 0;
        int length = 0;    ///< the sequence's, or in m_embeddings its rope::lengthVariant
        int divisors = 0;  ///< row
        auto operator<=>(const EmbeddingKey&) const = default;
    };

    [[nodiscard]] const Embedding& embedding(const rope::PositionMethod& method, int layer,
                                             const RotatedSequence& sequence);
    [[nodiscard]] const RotaryTable& table(const Embedding& embedding, int layer, std::int64_t length, double scale);
    void grow(Entry& entry, const Key& key, std::int64_t rows, bool oneLength) const;
    void forgetOld();

    const ModelConfig& m_config;
    const rope::MethodModel m_model;
    at::ScalarType m_type;
    std::vector<at::Device> m_devices;
    std::size_t m_maxTables;
    std::uint64_t m_clock = 0;
    std::map<EmbeddingKey, Embedding> m_embeddings;          ///< of this pass, by variant
    std::map<EmbeddingKey, const Embedding*> m_embeddingOf;  ///< of this pass, by length: asked for by every layer
    std::map<Key, Entry> m_tables;
};

}  // namespace lpes::model
