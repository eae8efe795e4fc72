#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::rope {

/// The model's own rotary embedding, before any method of ours. Values are the file's; nothing is assumed in silence.
/// Types and formulas as transformers computes them (modeling_rope_utils.py), which is what checkpoints were made for.
struct RopeConfig {
    enum class Type {
        Default,
        Linear,    ///< positions divided by `factor` (PI, methods.md §1.1)
        Dynamic,   ///< NTK whose base grows with the sequence's length beyond `originalContext` (§1.2)
        Yarn,      ///< §1.3, the code's ramp
        LongRope,  ///< one factor per frequency: shortFactors up to `originalContext` tokens, else longFactors (§1.7)
        Llama3,    ///< Llama 3.1: low frequencies divided by `factor`, high ones kept, a smooth step between
        FrequencyFactors  ///< one factor per frequency at every length (GGUF's rope_freqs): in shortFactors
    };
    Type type = Type::Default;
    double theta = 0.0;  ///< RoPE base b
    std::string
        thetaOrigin;      ///< where theta comes from: "config.json rope_theta", "llama.rope.freq_base", "assumed: …"
    double factor = 1.0;  ///< Linear, Dynamic, Yarn, Llama3
    int headDim = 0;      ///< d, even
    int rotaryDim = 0;    ///< how many leading values of a head are rotated, even; 0: all of them
    int originalContext = 0;                           ///< tokens; Dynamic, Yarn, LongRope, Llama3
    double betaFast = 32.0, betaSlow = 1.0;            ///< Yarn
    bool truncate = true;                              ///< Yarn: the ramp's ends rounded outwards to whole dimensions
    double lowFreqFactor = 1.0, highFreqFactor = 4.0;  ///< Llama3
    double attentionFactor = 1.0;                      ///< Yarn, LongRope: multiplies cos and sin
    std::string attentionFactorOrigin;                 ///< "config.json rope_scaling.attention_factor", "computed: …"
    std::vector<double> shortFactors, longFactors;     ///< [rotaryDim/2] LongRope, FrequencyFactors
    std::string
        originalBlock;  ///< the file's rope block verbatim (JSON text), kept in profiles; "null" when it has none

    friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
    [[nodiscard]] int rotated() const { return rotaryDim > 0 ? rotaryDim : headDim; }
};

[[nodiscard]] std::string ropeTypeName(RopeConfig::Type type);  ///< transformers' spelling; "frequency_factors"

/// Do frequencies depend on how long the sequence is (Dynamic, LongRope)? Then keys that were rotated for one length
/// are wrong for another.
[[nodiscard]] bool dependsOnLength(const RopeConfig& config);

/// Sequences of lengths with the same variant share their frequencies: 0 up to originalContext tokens; beyond it 1 for
/// LongRope and the length itself for Dynamic. 0 for every other type.
[[nodiscard]] int lengthVariant(const RopeConfig& config, int length);

/// Inverse frequencies, i = 0 … rotated/2−1, in double, for a sequence of `length` ≥ 1 tokens. Default: θ_i = b^(−2i/r)
/// with r = rotated(). The attention factor is not in them.
[[nodiscard]] std::vector<double> inverseFrequencies(const RopeConfig& config, int length);

/// Factors by which positions are divided: one per layer, 1 = unchanged. The only way in which LPES enters a forward
/// pass. Empty means "no profile", which is not the same state as all 1.0 though it gives the same bits.
using LayerScales = std::vector<double>;

inline constexpr double kMinScale = 0.01;
inline constexpr double kMaxScale = 100.0;

/// Every scale is finite and inside [kMinScale, kMaxScale], and there is one per layer; else BadInput that names the
/// layer (or the two counts) and the value. Empty is valid.
[[nodiscard]] Result<void> checkScales(std::span<const double> scales, int numLayers);

/// amplitude·cos and amplitude·sin of the angles (m / s)·θ_i for positions first … first+count−1, row by row.
struct PositionTable {
    int count = 0;
    int half = 0;            ///< frequencies
    std::vector<float> cos;  ///< [count, half]
    std::vector<float> sin;  ///< [count, half]
};

/// Angles in double, rounded to float last.
[[nodiscard]] PositionTable positionTable(std::span<const double> inverseFrequencies, double scale, int first,
                                          int count, double amplitude = 1.0);

}  // namespace lpes::rope
