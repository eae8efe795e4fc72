#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/model/torch/attention_rule.h"
#include "core/model/torch/kv_cache.h"
#include "core/model/torch/position_tables.h"
#include "core/model/torch/workspace.h"

namespace lpes::model {

/// A sequence's rows in a packed batch.
struct Segment {
    std::int64_t begin = 0, length = 0;
    /// The segment ahead of it that has the keys and values of the tokens before its first position; −1: the cache has
    /// them, or there are none.
    std::int64_t continues = -1;
    std::size_t slot = 0, path = 0;  ///< of the cache: a sequence, and the method's path
};

/// What a probe sees of a layer: queries [H, N, D] and keys [K, S, D] after rotation, and what the layer does with
/// their scores.
using AttentionObserver =
    std::function<void(int layer, const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule)>;

/// A layer between its projections and its output projection: all that a position method may touch.
struct LayerAttention {
    const ModelConfig& config;
    int layer = 0;
    at::Tensor q, k, v;  ///< [n, H·D], [n, K·D], [n, K·D] before the rotation; n divides N: sequences share rows then
    std::span<const Segment> segments;        ///< of N rows
    std::span<const std::int32_t> positions;  ///< [N]
    KvCache* cache = nullptr;                 ///< keys and values are appended behind `positions`; else forgotten
    AttentionRule rule;
    at::Tensor out;  ///< [N, H·D], to be filled
    Workspace& workspace;
    const AttentionObserver& observer;  ///< may be empty; a session refuses one for methods with several attentions

    /// Rows of q, k and v that belong to a segment.
    [[nodiscard]] std::int64_t sourceRow(const Segment& segment) const { return segment.begin % q.size(0); }
};

/// How a position method makes a layer's attention. One object serves all layers of a pass. thread-compatible.
class AttentionStep {
  public:
    virtual ~AttentionStep() = default;
    virtual void attend(const LayerAttention& layer) = 0;
};

/// The ratios that Ms-PoE has chosen for a prompt, kept while its continuation is generated.
struct ChosenRatios {
    std::vector<std::vector<double>> byLayer;  ///< [L][H], empty before the prompt was read
};

struct MoiceWeights;

/// What a pass needs beside the method.
struct StepContext {
    const ModelConfig& config;
    PositionTables& tables;
    std::span<const RotatedSequence> sequences;  ///< one per segment
    /// [segments] the row, counted from its segment's begin, whose attention decides (Ms-PoE): the prompt's last token
    std::span<const std::int64_t> decidingRows;
    /// [segments] of the sequences in the cache, filled where empty; or none
    std::span<ChosenRatios* const> kept = {};
    std::shared_ptr<const MoiceWeights> moice = {};  ///< of a method with routers
};

/// The step of a resolved method; both outlive it.
[[nodiscard]] std::unique_ptr<AttentionStep> makeAttentionStep(const rope::PositionMethod& method,
                                                               const StepContext& context);

}  // namespace lpes::model
