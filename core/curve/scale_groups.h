#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/curve/scale_curve.h"

namespace lpes::curve {

inline constexpr int kMaxGroupHeads = 1024;           ///< key/value heads of a layer
inline constexpr int kMaxGroupFrequencies = 1 << 16;  ///< R/2, half of what a head rotates

/// What a scale belongs to besides its layer: nothing, a key/value head, or a band of frequencies. G groups in all.
struct ScaleGroups {
    enum class Kind { Layer, KvHead, Band };
    Kind kind = Kind::Layer;
    int heads = 0;              ///< KvHead: how many, K; 0: not known yet, as "kv-head" alone leaves it
    std::vector<int> bandEnds;  ///< Band: the first frequency behind each band; the last one is their number, R/2

    [[nodiscard]] static ScaleGroups kvHeads(int heads) { return {Kind::KvHead, heads, {}}; }
    [[nodiscard]] static ScaleGroups bands(std::vector<int> ends) { return {Kind::Band, 0, std::move(ends)}; }

    [[nodiscard]] bool perLayer() const { return kind == Kind::Layer; }
    /// G: 1, K, or the number of bands; 0 while K is not known.
    [[nodiscard]] int count() const;
    friend bool operator==(const ScaleGroups&, const ScaleGroups&) = default;
};

/// "layer", "kv-head" (K comes from the model) or "band:8,20,32" → groups. Usage naming what is wrong.
[[nodiscard]] Result<ScaleGroups> parseGroups(const std::string& text);
/// The spelling that parseGroups reads.
[[nodiscard]] std::string groupsText(const ScaleGroups& groups);
/// A group in pictures and tables: "" for Layer, "head 3", "band 8–19" (its first and last frequency).
[[nodiscard]] std::string groupName(const ScaleGroups& groups, int group);
/// The rule that the groups break, in words with the values, or nothing: 1 … kMaxGroupHeads heads; band ends that rise
/// from at least 1 to at most kMaxGroupFrequencies.
[[nodiscard]] std::optional<std::string> violation(const ScaleGroups& groups);

/// One curve over depth for each group. immutable.
class GroupedCurve {
  public:
    /// Usage with the rule that the groups break, or the two numbers where there is not one curve for each of them.
    [[nodiscard]] static Result<GroupedCurve> make(ScaleGroups groups, std::vector<ScaleCurve> curves);

    /// [L·G], layer by layer: what each curve decodes to. Of one curve these are its very scales.
    [[nodiscard]] std::vector<double> decode(int numLayers) const;

    [[nodiscard]] const ScaleGroups& groups() const { return m_groups; }
    [[nodiscard]] const std::vector<ScaleCurve>& curves() const { return m_curves; }  ///< [G]

  private:
    GroupedCurve(ScaleGroups groups, std::vector<ScaleCurve> curves);
    ScaleGroups m_groups;
    std::vector<ScaleCurve> m_curves;
};

/// [L·G] layer by layer → [L][G]. What does not fill a row is left out; `groups` ≥ 1.
[[nodiscard]] std::vector<std::vector<double>> layerRows(std::span<const double> scales, int groups);
/// [L·G] → the scales of one group, [L].
[[nodiscard]] std::vector<double> scalesOfGroup(std::span<const double> scales, int groups, int group);
/// A layer's scale for every band → one for every frequency, [R/2].
[[nodiscard]] std::vector<double> scalesByFrequency(std::span<const double> ofBands, std::span<const int> bandEnds);

}  // namespace lpes::curve
