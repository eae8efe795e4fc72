#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::rope {

/// The model's own rotary embedding, before any method of ours. Values are the file's; nothing is assumed in silence.
struct RopeConfig {
    enum class Type { Default, Linear };
    Type type = Type::Default;
    double theta = 0.0;         ///< RoPE base b
    std::string thetaOrigin;    ///< where theta comes from: "config.json rope_theta", "llama.rope.freq_base", …
    double factor = 1.0;        ///< Linear: positions are divided by it
    int headDim = 0;            ///< d, even
    std::string originalBlock;  ///< the file's rope block verbatim (JSON text), kept in profiles; "null" when it has none
};

/// θ_i = b^(−2i/d), divided by `factor` for Linear, i = 0 … d/2−1, in double (methods.md, notation and §1.1).
[[nodiscard]] std::vector<double> inverseFrequencies(const RopeConfig& config);

/// Factors by which positions are divided: one per layer, 1 = unchanged. The only way in which LPES enters a forward
/// pass. Empty means "no profile", which is not the same state as all 1.0 though it gives the same bits.
using LayerScales = std::vector<double>;

inline constexpr double kMinScale = 0.01;
inline constexpr double kMaxScale = 100.0;

/// Every scale is finite and inside [kMinScale, kMaxScale], and there is one per layer; else BadInput that names the
/// layer (or the two counts) and the value. Empty is valid.
[[nodiscard]] Result<void> checkScales(std::span<const double> scales, int numLayers);

/// cos and sin of the angles (m / s)·θ_i for positions first … first+count−1, row by row.
struct PositionTable {
    int count = 0;
    int half = 0;             ///< d/2
    std::vector<float> cos;   ///< [count, half]
    std::vector<float> sin;   ///< [count, half]
};

/// Angles in double, rounded to float last.
[[nodiscard]] PositionTable positionTable(std::span<const double> inverseFrequencies, double scale, int first, int count);

/// A position method as the user spells it: baseline, pi:1.5, uniform:1.5, lpes:FILE.
struct MethodSpec {
    enum class Kind { Baseline, PositionInterpolation, Uniform, Lpes };
    Kind kind = Kind::Baseline;
    double factor = 1.0;   ///< pi, uniform
    std::string profile;   ///< lpes: path of the profile
    std::string text;      ///< the spelling, for records and plots
};

/// Usage for a spelling that is none; Unsupported for methods of cli.md that this version does not have yet (by name).
[[nodiscard]] Result<MethodSpec> parseMethod(const std::string& text);

}  // namespace lpes::rope
