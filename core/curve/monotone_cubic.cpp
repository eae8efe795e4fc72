#include "core/curve/monotone_cubic.h"

#include <cmath>
#include <limits>

namespace lpes::curve {
namespace {

using Points = std::span<const ControlPoint>;

double width(Points points, std::size_t left) {
    return points[left + 1].x - points[left].x;
}

/// Infinite across a jump. Its infinity goes through the formulas below as the limit of steeper and steeper secants:
/// the weighted harmonic mean leaves it out, and the ends compare its sign alone.
double secant(Points points, std::size_t left) {
    const double rise = points[left + 1].y - points[left].y, run = width(points, left);
    if (run > 0.0 || rise == 0.0) return run > 0.0 ? rise / run : 0.0;
    return std::copysign(std::numeric_limits<double>::infinity(), rise);
}

bool sameSign(double a, double b) {
    return (a > 0.0 && b > 0.0) || (a < 0.0 && b < 0.0);
}

/// Between the intervals left of `point` and right of it.
double innerSlope(Points points, std::size_t point) {
    const double before = secant(points, point - 1), after = secant(points, point);
    if (!sameSign(before, after)) return 0.0;
    const double hBefore = width(points, point - 1), hAfter = width(points, point);
    const double wBefore = 2.0 * hAfter + hBefore, wAfter = hAfter + 2.0 * hBefore;
    return (wBefore + wAfter) / (wBefore / before + wAfter / after);
}

/// At an end: of the interval there and of the one beside it.
double endSlope(double hEnd, double hNext, double end, double next) {
    const double slope = ((2.0 * hEnd + hNext) * end - hEnd * next) / (hEnd + hNext);
    if (!sameSign(slope, end)) return 0.0;
    return !sameSign(end, next) && std::abs(slope) > 3.0 * std::abs(end) ? 3.0 * end : slope;
}

double slopeAt(Points points, std::size_t point) {
    const std::size_t last = points.size() - 1;
    if (last == 1) return secant(points, 0);
    if (point == 0) return endSlope(width(points, 0), width(points, 1), secant(points, 0), secant(points, 1));
    if (point == last) {
        return endSlope(width(points, last - 1), width(points, last - 2), secant(points, last - 1),
                        secant(points, last - 2));
    }
    return innerSlope(points, point);
}

}  // namespace

double monotoneCubic(std::span<const ControlPoint> points, std::size_t left, double depth) {
    const ControlPoint &a = points[left], &b = points[left + 1];
    const double h = width(points, left), t = (depth - a.x) / h, rest = 1.0 - t;
    // Hermite's form around the left value: exact at the left point, and everywhere on a level stretch.
    return a.y + (b.y - a.y) * t * t * (3.0 - 2.0 * t) +
           h * t * rest * (slopeAt(points, left) * rest - slopeAt(points, left + 1) * t);
}

}  // namespace lpes::curve
