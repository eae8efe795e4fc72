#pragma once

#include "core/model/torch/attention_step.h"

namespace lpes::model {

/// A layer's attention for methods that have one per layer: every sequence's new rows are rotated to where they belong,
/// then all of them attend. Subclasses say by which tables.
class RotatingStep : public AttentionStep {
  public:
    void attend(const LayerAttention& layer) final;

  protected:
    /// New rows of one sequence, or of all: q [n, H·D], k and v [n, K·D] → qOut [H, n, D], kOut and vOut [K, n, D].
    struct Rows {
        std::size_t sequence = 0;
        at::Tensor q, k, v;
        std::span<const std::int32_t> positions;
        at::Tensor qOut, kOut, vOut;
    };
    /// Called for each layer before the first `rotate`.
    virtual void prepare(const LayerAttention&) {}
    virtual void rotate(const LayerAttention& layer, const Rows& rows) = 0;
    /// Are all sequences rotated by the same tables, so that they may go through `rotate` as one?
    [[nodiscard]] virtual bool alike(int layer) const = 0;
};

/// Tables that are known before the pass: baseline, pi, ntk, yarn, LPES by layer, by head and by frequency, Attention
/// Buckets' paths.
class TableStep final : public RotatingStep {
  public:
    explicit TableStep(std::vector<LayerTables> tables) : m_tables(std::move(tables)) {}

  protected:
    void rotate(const LayerAttention& layer, const Rows& rows) override;
    [[nodiscard]] bool alike(int layer) const override;

  private:
    std::vector<LayerTables> m_tables;  ///< [L]
};

}  // namespace lpes::model
