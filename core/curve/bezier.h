#pragma once

#include <span>

#include "core/curve/scale_curve.h"

namespace lpes::curve {

/// The point of a Bézier curve of degree points−1 at parameter t in [0, 1], by de Casteljau's repeated interpolation.
/// 2 … kMaxBezierPoints points. thread-safe.
[[nodiscard]] ControlPoint bezierPoint(std::span<const ControlPoint> points, double t);

/// The parameter t with x(t) = depth, by bisection. x must not decrease from 0 to 1: then x(t) rises strictly (its
/// derivative is a Bernstein sum of non-negative differences that are not all 0), so t is unique even where control
/// points share an x. Exact to 2^-64; 0 and 1 for depths at or beyond the ends.
[[nodiscard]] double parameterAtDepth(std::span<const ControlPoint> points, double depth);

}  // namespace lpes::curve
