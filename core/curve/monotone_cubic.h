#pragma once

#include <cstddef>
#include <span>

#include "core/curve/scale_curve.h"

/// Monotone piecewise cubics: F. N. Fritsch and R. E. Carlson, Monotone piecewise cubic interpolation, SIAM J. Numer.
/// Anal. 17 (1980), with the slopes of F. N. Fritsch and J. Butland, A method for constructing local monotone piecewise
/// cubic interpolants, SIAM J. Sci. Stat. Comput. 5 (1984), known as PCHIP.
namespace lpes::curve {

/// The value at `depth`, where points[left].x ≤ depth < points[left + 1].x. 2 points or more, x not decreasing.
///
/// A point's slope is the weighted harmonic mean of the secants beside it, 0 where they differ in sign or one is 0; an
/// end's is the one-sided three-point formula, cut so that the shape stays, as scipy's PchipInterpolator has it. So the
/// curve passes through the points, is monotone between two of them, and each point moves four intervals at most.
/// Between two points it is straight. Points that share an x are the limit of points that come together: a jump, beside
/// which the slope is three times the other secant's where that runs the jump's way, else 0. A level curve has its very
/// value everywhere. thread-safe.
[[nodiscard]] double monotoneCubic(std::span<const ControlPoint> points, std::size_t left, double depth);

}  // namespace lpes::curve
