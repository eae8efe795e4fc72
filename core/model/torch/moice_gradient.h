#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/moice_step.h"

namespace lpes::model {

/// The auxiliary loss of MoICE: N·Σ_{k,e} f_{k,e}·P_e, where f_{k,e} is the share of rows whose k-th choice is expert e
/// and P_e the mean of softmax(logits)_e, both over the router logits of all layers, tokens and heads (Switch
/// Transformers, arXiv 2101.03961, as Mixtral in transformers does it; methods.md §1.6). Summed up in double.
class SwitchLoss {
  public:
    SwitchLoss(std::int64_t experts, int topK);
    /// Router logits [..., N] float32 of one more layer.
    void add(const at::Tensor& logits);
    /// The loss of everything that was added.
    [[nodiscard]] double value() const;
    /// A scalar of the logits [..., N] of one layer whose gradient is that layer's part of value()'s: N·Σ_e F_e·(Σ_rows
    /// softmax_e)/rows, where F_e = Σ_k f_{k,e} is a constant, for a choice has no gradient.
    [[nodiscard]] at::Tensor part(const at::Tensor& logits) const;

  private:
    std::int64_t m_rows = 0;
    int m_topK;
    at::Tensor m_chosen;  ///< [N] float64: rows that chose the expert
    at::Tensor m_shares;  ///< [N] float64: sum of its shares
};

struct MoiceSequence {
    double lmLoss = 0.0;   ///< mean NLL of ids[1…], nats per token
    double auxLoss = 0.0;  ///< of this sequence alone
    /// d(lmLoss + auxCoefficient·auxLoss)/d(every value of the routers), in the order of moiceMatrices
    std::vector<float> gradient;
};

/// Forward and backward pass of one text under frozen weights. Only the inputs of the layers are kept; each layer is
/// computed a second time when its gradient is wanted (Chen et al., arXiv 1604.06174), so that memory is L·T·E values
/// and one layer's own. The router reads and mixes in float32, everything else runs in the weights' type, as MoiceStep
/// does. `ids`: at least 2. Must not run inside InferenceMode. Throws StopRequested between layers.
[[nodiscard]] MoiceSequence differentiateRouters(const ModelConfig& config, const DecoderWeights& weights,
                                                 std::shared_ptr<const rope::MoiceRouters> routers,
                                                 std::span<const TokenId> ids, double auxCoefficient,
                                                 const std::stop_token& stop);

}  // namespace lpes::model
