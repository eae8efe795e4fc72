#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::curve {

/// x: relative depth 0 … 1 (layer h of L has depth h/(L−1)); y: the factor that divides positions.
struct ControlPoint {
    double x = 0.0;
    double y = 1.0;
    friend bool operator==(const ControlPoint&, const ControlPoint&) = default;
};

/// Bezier: one curve of degree points−1. Linear: straight between points. Monotone: through the points with a
/// continuous slope, rising and falling only where they do (monotone_cubic.h). Step: the value of the last point at or
/// before the depth. Free: one point per layer, x = h/(L−1); straight between layers. Where points of a Linear,
/// Monotone or Step curve share an x, the later one holds from that depth on.
enum class CurveKind { Bezier, Linear, Monotone, Step, Free };
inline constexpr std::array kCurveKinds{CurveKind::Bezier, CurveKind::Linear, CurveKind::Monotone, CurveKind::Step,
                                        CurveKind::Free};

[[nodiscard]] std::string curveKindName(CurveKind kind);                  ///< "bezier", …
[[nodiscard]] std::string curveKindNames();                               ///< all of them, in words
[[nodiscard]] Result<CurveKind> parseCurveKind(const std::string& text);  ///< Usage for anything else

inline constexpr int kMinPoints = 2;
inline constexpr int kMaxBezierPoints = 8;

/// What a curve may do (methods.md §2; "our default").
struct Constraints {
    double scaleMin = 0.5;
    double scaleMax = 2.5;
    std::optional<double> gridStep = 0.05;  ///< decoded scales are rounded to multiples of it; unset: not rounded
    friend bool operator==(const Constraints&, const Constraints&) = default;
};

/// The rule that the points break, in words with the values ("control point 2 has x 0.7, left of point 1 at 0.8; x must
/// not decrease"), or nothing. Rules: bounds positive and in order, grid step positive, number of points, x_0 = 0,
/// x_last = 1, x not decreasing, x of a Free curve at its layer's depth (within 1e-6), y finite and inside
/// [scaleMin, scaleMax]. thread-safe.
[[nodiscard]] std::optional<std::string> violation(CurveKind kind, const std::vector<ControlPoint>& points,
                                                   const Constraints& constraints);

/// A scale for every depth. immutable.
class ScaleCurve {
  public:
    /// Usage with the rule that is broken.
    [[nodiscard]] static Result<ScaleCurve> make(CurveKind kind, std::vector<ControlPoint> points,
                                                 const Constraints& constraints);

    /// The curve's value. Bézier: x(t) = depth is solved by bisection (x(t) is monotone because the x of the points do
    /// not decrease), then y(t); de Casteljau. Depths outside [0,1] take the end's value.
    [[nodiscard]] double at(double depth) const;
    /// One scale per layer, rounded to the grid when there is one (the double nearest to the decimal multiple, so that
    /// 1.35 is 1.35) and kept inside the bounds: the nearest multiple inside them, or the curve's own value where no
    /// multiple lies inside. A single layer has depth 0. numLayers ≥ 1; Free needs numLayers == number of points.
    [[nodiscard]] std::vector<double> decode(int numLayers) const;

    [[nodiscard]] CurveKind kind() const { return m_kind; }
    [[nodiscard]] const std::vector<ControlPoint>& points() const { return m_points; }
    [[nodiscard]] const Constraints& constraints() const { return m_constraints; }

  private:
    ScaleCurve(CurveKind kind, std::vector<ControlPoint> points, const Constraints& constraints);
    CurveKind m_kind;
    std::vector<ControlPoint> m_points;
    Constraints m_constraints;
};

/// "0:1.0,0.33:1.6,0.67:2.0,1:1.2" → points. Usage naming the part that is malformed.
[[nodiscard]] Result<std::vector<ControlPoint>> parsePoints(const std::string& text);

}  // namespace lpes::curve
