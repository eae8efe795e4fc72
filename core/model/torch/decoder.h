#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/model/leading_states.h"
#include "core/model/model_config.h"
#include "core/model/torch/attention_step.h"
#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/shared_prefixes.h"
#include "core/model/torch/workspace.h"

namespace lpes::model {

/// Tokens on their way through the layers. Rows of all prompts stand one below the other.
struct PackedTokens {
    std::vector<Segment> segments;
    std::vector<std::int32_t> positions;  ///< [N], restarting in each segment
    at::Tensor hidden;                    ///< [N, E] compute type
    at::Tensor pending;                   ///< [N, E] still to be added to hidden; undefined when there is nothing
    /// Before the first attention all paths of a method have the same rows: hidden is [N / sharedBy, E] there.
    std::int64_t sharedBy = 1;
};

/// What layer `layer` does with its scores.
[[nodiscard]] AttentionRule attentionRule(const ModelConfig& config, int layer);

/// The decoder's forward pass without gradients. Holds nothing but references: weights, workspace and tables outlive
/// it.
class Decoder {
  public:
    Decoder(const ModelConfig& config, const DecoderWeights& weights, Workspace& workspace)
        : m_config(config), m_weights(weights), m_workspace(workspace) {}

    /// Embeds the tokens; each prompt becomes a segment. `paths` copies of all prompts, one behind the other, for the
    /// method's paths from `firstPath` on.
    [[nodiscard]] PackedTokens embed(std::span<const PackedPrompt> prompts, std::int64_t paths = 1,
                                     std::int64_t firstPath = 0) const;
    /// One prompt from its beginning.
    [[nodiscard]] PackedTokens embed(std::span<const text::TokenId> prompt) const;

    /// One layer; hidden + pending is the layer's output afterwards (call `settle` to look at it, and before other
    /// tokens use the same workspace: the sum is left to the next layer's norm). With a cache each segment's keys and
    /// values are appended behind the tokens that its slot holds. `rows` (optional, [R] int64): only these rows are
    /// needed afterwards; hidden becomes [R, E]. For the last layer.
    void runLayer(int layer, PackedTokens& tokens, AttentionStep& step, KvCache* cache = nullptr,
                  const at::Tensor& rows = {}, const AttentionObserver& observer = {}) const;

    /// hidden += pending.
    static void settle(PackedTokens& tokens);

    /// All layers and `settle`, checking `stop` before each layer (throws StopRequested). `rows` as in runLayer.
    /// `leading` (without a cache and for a single path): begins behind the layers that it knows, and leaves it what it
    /// wants.
    void runLayers(PackedTokens& tokens, AttentionStep& step, const std::stop_token& stop, KvCache* cache = nullptr,
                   const at::Tensor& rows = {}, const AttentionObserver& observer = {},
                   LeadingStates* leading = nullptr) const;

    /// Logits of hidden rows [R, E] → [R, V] float32 on the last layer's device, for what is reduced there. Valid until
    /// the workspace is used again.
    [[nodiscard]] at::Tensor logitsOnDevice(const at::Tensor& hidden) const;
    /// The same on the CPU.
    [[nodiscard]] at::Tensor logits(const at::Tensor& hidden) const;

  private:
    static void moveTo(PackedTokens& tokens, at::Device device);
    /// [N, in] → [N, out], in `slot` unless the product makes its own tensor.
    at::Tensor project(const at::Tensor& input, const Projection& projection, Workspace::Slot slot) const;

    const ModelConfig& m_config;
    const DecoderWeights& m_weights;
    Workspace& m_workspace;
};

}  // namespace lpes::model
