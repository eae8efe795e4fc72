#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <vector>

#include "core/model/model_config.h"
#include "core/model/torch/attention_rule.h"
#include "core/model/torch/block_attention.h"
#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/kv_cache.h"
#include "core/model/torch/position_tables.h"

namespace lpes::model {

/// Buffers that one thread's forward passes use again and again, so that no pass waits for fresh pages.
/// thread-compatible.
class Workspace {
  public:
    enum Slot {
        kNormed,
        kQ,
        kK,
        kV,
        kQkv0,
        kQkv1,
        kQkv2,
        kAttended,
        kGate,
        kUp,
        kActivated,
        kDelta,
        kBlocks,
        kLogits,
        kSlots
    };
    /// A contiguous tensor of that shape; its content is whatever the slot held on that device.
    [[nodiscard]] at::Tensor take(Slot slot, at::IntArrayRef shape, const at::TensorOptions& options);
    [[nodiscard]] BlockAttentionScratch& attention() { return m_attention; }

  private:
    std::map<int, std::array<at::Tensor, kSlots>> m_buffers;  ///< by device index; −1: CPU
    BlockAttentionScratch m_attention;
};

/// A prompt's rows in a packed batch.
struct Segment {
    std::int64_t begin = 0, length = 0;
};

/// Tokens on their way through the layers. Rows of all prompts stand one below the other.
struct PackedTokens {
    std::vector<Segment> segments;
    std::vector<std::int32_t> positions;  ///< [N], restarting in each segment
    at::Tensor hidden;                    ///< [N, E] compute type
    at::Tensor pending;                   ///< [N, E] still to be added to hidden; undefined when there is nothing
};

/// What a probe sees of a layer: queries [H, N, D] and keys [K, S, D] after rotation, and what the layer does with
/// their scores.
using AttentionObserver =
    std::function<void(int layer, const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule)>;

/// What layer `layer` does with its scores.
[[nodiscard]] AttentionRule attentionRule(const ModelConfig& config, int layer);

/// The decoder's forward pass without gradients. Holds nothing but references: weights, workspace and tables outlive
/// it.
class Decoder {
  public:
    Decoder(const ModelConfig& config, const DecoderWeights& weights, Workspace& workspace)
        : m_config(config), m_weights(weights), m_workspace(workspace) {}

    /// Embeds the tokens; positions start at `firstPosition` in each segment.
    [[nodiscard]] PackedTokens embed(std::span<const std::span<const text::TokenId>> prompts, int firstPosition) const;

    /// One layer; hidden + pending is the layer's output afterwards (call `settle` to look at it, and before other
    /// tokens use the same workspace: the sum is left to the next layer's norm). With a cache there is one segment, its
    /// keys and values are appended behind the `firstPosition` tokens that the cache holds. `rows` (optional, [R]
    /// int64): only these rows are needed afterwards; hidden becomes [R, E]. For the last layer.
    void runLayer(int layer, PackedTokens& tokens, const RotaryTable& table, KvCache* cache = nullptr,
                  const at::Tensor& rows = {}, const AttentionObserver& observer = {}) const;

    /// hidden += pending.
    static void settle(PackedTokens& tokens);

    /// All layers and `settle`, checking `stop` before each layer (throws StopRequested). `rows` as in runLayer.
    void runLayers(PackedTokens& tokens, const std::vector<RotaryTable>& tables, const std::stop_token& stop,
                   KvCache* cache = nullptr, const at::Tensor& rows = {}, const AttentionObserver& observer = {}) const;

    /// Logits of hidden rows [R, E] → [R, V] float32 on the CPU. Valid until the workspace is used again.
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
