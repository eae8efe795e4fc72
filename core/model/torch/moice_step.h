#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "core/model/torch/attention_step.h"
#include "core/model/torch/packed_keys.h"

namespace lpes::model {

/// A MoICE router's matrices as tensors, with experts of the same base made one. immutable.
struct MoiceWeights {
    struct Layer {
        at::Tensor w1, w3;  ///< [D, N] float32
        at::Tensor w2;      ///< [N, N] float32, transposed
    };
    std::shared_ptr<const rope::MoiceRouters> routers;  ///< where they come from
    std::vector<Layer> layers;
    std::vector<int> experts;  ///< the first router output of each distinct base
    at::Tensor merge;          ///< [N, distinct bases]: adds up the weights of equal ones

    [[nodiscard]] static std::shared_ptr<const MoiceWeights> make(std::shared_ptr<const rope::MoiceRouters> routers,
                                                                  std::span<const at::Device> devices);
};

/// W2( SiLU(W1 x) ⊙ W3 x ) of x [..., D] → [..., N], float32; differentiable.
[[nodiscard]] at::Tensor moiceLogits(const at::Tensor& x, const MoiceWeights::Layer& layer);
/// The topK largest of shares [..., N] → [..., topK] int64, largest first; among equals the first expert.
[[nodiscard]] at::Tensor keptExperts(const at::Tensor& shares, int topK);
/// softmax over experts; all but the topK largest become 0 and the rest is made to add up to 1;
/// differentiable.
[[nodiscard]] at::Tensor moiceShares(const at::Tensor& logits, int topK);

/// MoICE (arXiv 2406.19598; methods.md §1.6): one attention per expert, mixed for every token and head by the router,
/// which reads the queries rotated by the first base. The router computes in float32; outputs are mixed in float32.
/// The cache keeps keys rotated by each base, so that a new token rotates itself only.
class MoiceStep final : public AttentionStep {
  public:
    MoiceStep(const rope::PositionMethod& method, const StepContext& context,
              std::shared_ptr<const MoiceWeights> weights);
    void attend(const LayerAttention& layer) override;

  private:
    /// Keys [K, S, D] of one expert and the values: of each segment with a cache, else of all together.
    struct Rotated {
        std::vector<at::Tensor> keys, values;
    };
    [[nodiscard]] Rotated rotate(const LayerAttention& layer, const PackedKeys& packed, std::size_t expert,
                                 const at::Tensor& queries);
    static void attendExpert(const LayerAttention& layer, const PackedKeys& packed, const Rotated& rotated,
                             const at::Tensor& queries, const at::Tensor& out);

    const rope::PositionMethod& m_method;
    PositionTables& m_tables;
    RotatedSequence m_longest;
    std::shared_ptr<const MoiceWeights> m_weights;
};

}  // namespace lpes::model
