#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/model/causal_lm.h"

namespace lpes::model {

/// One layer's side of a linear CKA, kept for many comparisons in float32 (sums in double): the Gram matrix of the
/// centred rows where there are fewer rows than columns; the centred rows themselves otherwise. immutable.
class KernelSide {
  public:
    /// hidden [T, E] any floating type; which rows are compared is decided by comparedRows(hidden).
    explicit KernelSide(const at::Tensor& hidden);
    /// 1 − linear CKA between the reference and `hidden` [T, E] on the reference's rows.
    [[nodiscard]] double deviation(const at::Tensor& hidden) const;
    [[nodiscard]] std::int64_t comparedTokens() const { return m_rows.numel(); }
    [[nodiscard]] std::int64_t bytes() const;

  private:
    [[nodiscard]] at::Tensor centred(const at::Tensor& hidden) const;

    at::Tensor m_rows;      ///< [n] int64
    at::Tensor m_kernel;    ///< [n, n] or [n, E]
    double m_square = 0.0;  ///< squared norm of the reference's side
    bool m_gram = false;
};

/// A prompt's reference, layer by layer.
class TorchReference final : public RepresentationReference {
  public:
    TorchReference(std::shared_ptr<const void> model, int tokens) : m_model(std::move(model)), m_tokens(tokens) {}
    void add(const at::Tensor& hidden) { m_layers.emplace_back(hidden); }
    [[nodiscard]] const std::vector<KernelSide>& layers() const { return m_layers; }
    [[nodiscard]] bool belongsTo(const void* model) const { return m_model.get() == model; }
    [[nodiscard]] int promptTokens() const override { return m_tokens; }
    [[nodiscard]] std::int64_t bytes() const override;

  private:
    std::shared_ptr<const void> m_model;  ///< kept, so that no other model can take its address
    int m_tokens;
    std::vector<KernelSide> m_layers;
};

}  // namespace lpes::model
