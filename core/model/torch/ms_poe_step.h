#pragma once

#include "core/model/torch/rotating_step.h"

namespace lpes::model {

/// Ms-PoE (arXiv 2403.04797; methods.md §1.5): each layer reads the attention of the prompt's last token, gives every
/// head a ratio by how many tokens it attends to, and divides that head's positions by it. Paper: attention after the
/// model's own rotation; code: before any rotation, as the released program does, or without looking where its order of
/// heads is fixed.
class MsPoeStep final : public RotatingStep {
  public:
    MsPoeStep(const rope::PositionMethod& method, const StepContext& context);

  protected:
    void prepare(const LayerAttention& layer) override;
    void rotate(const LayerAttention& layer, const Rows& rows) override;
    [[nodiscard]] bool alike(int layer) const override;

  private:
    /// Scores of the heads of one sequence: [H], or one per key/value head where the method says so.
    [[nodiscard]] std::vector<double> scores(const LayerAttention& layer, std::size_t sequence) const;
    /// The ratios that they give its query heads: [H].
    [[nodiscard]] std::vector<double> choose(const LayerAttention& layer, std::size_t sequence) const;
    [[nodiscard]] RotaryTable table(int layer, std::size_t sequence, double ratio) const;

    const rope::PositionMethod& m_method;
    PositionTables& m_tables;
    std::vector<LayerTables> m_own;  ///< [L] ratio 1
    std::vector<RotatedSequence> m_sequences;
    std::vector<std::int64_t> m_decidingRows;
    std::vector<ChosenRatios*> m_kept;          ///< [sequences] or empty
    std::vector<std::vector<double>> m_ratios;  ///< [sequences][H] of this layer
};

}  // namespace lpes::model
