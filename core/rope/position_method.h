#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/rope/method_spec.h"
#include "core/rope/rivals.h"
#include "core/rope/rope_config.h"

namespace lpes::rope {

/// What a method has to know of a model.
struct MethodModel {
    RopeConfig rope;
    std::optional<RopeConfig> slidingRope;  ///< of sliding layers, where they have their own
    int numLayers = 0, numHeads = 0, numKvHeads = 0;
    int contextLength = 0;
};

/// Ms-PoE: a ratio per query head, chosen while a prompt is read and kept while its continuation is generated, or fixed
/// (methods.md §1.5).
struct MsPoe {
    /// [H] (one per key/value head, [K], where groupRatio is Mean), ascending: the most position-aware head takes the
    /// first
    std::vector<double> ratios;
    MethodPart::Variant variant = MethodPart::Variant::Paper;
    /// Normal: head j has the ratio of rank H−1−j whatever the prompt is.
    MethodPart::HeadOrder headOrder = MethodPart::HeadOrder::Scored;
    MethodPart::GroupRatio groupRatio = MethodPart::GroupRatio::FirstHead;
    int firstLayer = 0, lastLayer = 0;  ///< layers that it applies to, inclusive
    double threshold = 3.0;             ///< α: attention above α times its mean counts

    [[nodiscard]] bool applies(int layer) const { return layer >= firstLayer && layer <= lastLayer; }
    friend bool operator==(const MsPoe&, const MsPoe&) = default;
};

/// Attention Buckets: one path per base, each with a cache of its own; their last logits are combined (§1.4).
struct AttentionBuckets {
    std::vector<double> bases;  ///< of path 0 …
    MethodPart::Combine combine = MethodPart::Combine::Logits;
    friend bool operator==(const AttentionBuckets&, const AttentionBuckets&) = default;
};

/// MoICE: a router per layer mixes the attention outputs of one expert per base (§1.6). Matrices row by row.
struct MoiceRouters {
    struct Layer {
        std::vector<float> w1, w3;  ///< [N, D]
        std::vector<float> w2;      ///< [N, N]
        friend bool operator==(const Layer&, const Layer&) = default;
    };
    std::vector<double> bases;  ///< [N]; queries reach the router rotated by bases[0]
    int headDim = 0;
    int topK = 0;               ///< experts kept for each token and head, their weights made to add up to 1
    std::vector<Layer> layers;  ///< [L]
    std::string fingerprint;    ///< of the model that they were trained on; empty: not said
    std::string weightsHash;    ///< of its weights (studies::weightsHash); empty: not said
};

/// A position method, resolved against one model: values only, ready to run. At most one of `msPoe`, `buckets` and
/// `moice` is there. A default one is the model as it is.
struct PositionMethod {
    std::string text = "baseline";
    /// In place of the model's own embeddings (ntk, dynamic-ntk, yarn).
    std::optional<RopeConfig> rope, slidingRope;
    /// [L] or empty: positions are divided by them (pi, uniform, lpes). Empty and all 1.0 give the same bits.
    LayerScales scales;
    /// [L][K] or empty: positions of each key/value head and its query heads are divided by them, on top of `scales`.
    std::vector<LayerScales> headScales;
    /// [L][R/2] or empty: every inverse frequency is divided by its entry (LongRoPE's factors; LPES by frequency band).
    std::vector<std::vector<double>> divisors;
    std::optional<MsPoe> msPoe;
    std::optional<AttentionBuckets> buckets;
    /// How the bases of `buckets` were found, where they were searched for.
    std::optional<BucketSearch> bucketSearch;
    std::shared_ptr<const MoiceRouters> moice;
    /// How much longer than the model's own the context may become: the factor of pi, ntk, dynamic-ntk and yarn.
    double contextFactor = 1.0;

    PositionMethod() = default;
    /// LPES with these scales.
    PositionMethod(LayerScales layerScales) : scales(std::move(layerScales)) {}  // NOLINT: scales are a method
    PositionMethod(std::initializer_list<double> layerScales) : scales(layerScales) {}

    /// Is one position table per layer all of it (no heads, no choice by content, no second pass)?
    [[nodiscard]] bool onePerLayer() const { return headScales.empty() && !msPoe && !buckets && !moice; }
};

/// Bounds of `divisors`; LongRoPE's own reach 1.25 times the factor by which the context grows.
inline constexpr double kMinDivisor = 0.01;
inline constexpr double kMaxDivisor = 10000.0;

/// What a method costs beside the baseline.
struct MethodCost {
    int passes = 1;              ///< forward passes of the whole model, prefill and every decoding step alike
    int attentionsPerLayer = 1;  ///< attentions of one pass; experts of the same base share one
    int keyCaches = 1;           ///< copies of the keys that a cache keeps
    int valueCaches = 1;         ///< copies of the values
    bool onePrompt = false;      ///< reads each prompt's own attention, so that a new prompt begins anew
};
[[nodiscard]] MethodCost methodCost(const PositionMethod& method);

/// Unsupported, naming `what` is measured and the method, where a method has several attentions per layer or several
/// passes: there is then no one attention to look at.
[[nodiscard]] Result<void> requireOneAttention(const PositionMethod& method, const char* what);

/// What a profile makes of a model: scales by layer, by layer and key/value head, or divisors by layer and frequency.
struct ProfileScales {
    LayerScales scales;
    std::vector<LayerScales> headScales;
    std::vector<std::vector<double>> divisors;
};

/// How files behind a method are read; each reports a file that does not fit the model by itself. One that is not set
/// cannot be read here.
struct MethodFiles {
    std::function<Result<ProfileScales>(const std::string& path)> profile;
    /// Rows of factors: one per layer, or one for all of them.
    std::function<Result<std::vector<std::vector<double>>>(const std::string& path)> longRope;
    std::function<Result<std::shared_ptr<const MoiceRouters>>(const std::string& path)> routers;
};

/// The method for this model. BadInput for values outside their range and for files that do not fit (router of another
/// model, factors of another size); Unsupported, naming the method, the model's own rope type and the reason, where the
/// model can't take it:
/// - pi, uniform, lpes and ms-poe divide positions and work on every model;
/// - longrope works on every model without factors of its own (longrope, frequency_factors);
/// - ntk replaces the base of a model with the type default, linear or llama3, and of its sliding layers too;
/// - yarn and dynamic-ntk work on the type default without another embedding for sliding layers, for which neither is
///   defined; L is the model's context. yarn:1 is the model as it is, to the bit;
/// - attention-buckets and moice replace the base of a model with the type default, likewise.
[[nodiscard]] Result<PositionMethod> resolveMethod(const MethodSpec& spec, const MethodModel& model,
                                                   const MethodFiles& files);

/// Every vector has the size that this model needs and every value is in range; what a session checks before it runs.
/// BadInput that names the layer, head or path; Unsupported for values that contradict each other (two of ms-poe,
/// attention-buckets and moice, a base per path on an embedding that is not plain, or scales beside ms-poe or moice).
[[nodiscard]] Result<void> checkMethod(const PositionMethod& method, const MethodModel& model);

/// Tokens that fit under the method: the model's own times `contextFactor`, rounded down.
[[nodiscard]] int contextLength(const PositionMethod& method, const MethodModel& model);

/// Do both rotate every token alike (whatever they are called; no scales and all 1.0 are the same)?
[[nodiscard]] bool samePositions(const PositionMethod& one, const PositionMethod& other);

/// The embedding of a layer under the method and without its scales (AttentionBuckets and MoICE: path or expert
/// `path`).
[[nodiscard]] RopeConfig methodRope(const PositionMethod& method, const MethodModel& model, bool sliding, int path = 0);

/// Inverse frequencies of a layer under the method: methodRope's for `length` tokens, divided by `divisors`. Scales are
/// not in them: they divide positions.
[[nodiscard]] std::vector<double> methodFrequencies(const PositionMethod& method, const MethodModel& model, int layer,
                                                    bool sliding, int length, int path = 0);

}  // namespace lpes::rope
