#include "core/curve/bezier.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lpes::curve {

ControlPoint bezierPoint(std::span<const ControlPoint> points, double t) {
    std::array<ControlPoint, kMaxBezierPoints> work{};
    const std::size_t count = std::min(points.size(), work.size());
    std::copy_n(points.begin(), count, work.begin());
    // The form (1−t)·a + t·b gives the end points exactly at t = 0 and t = 1.
    for (std::size_t last = count - 1; last > 0; --last) {
        for (std::size_t k = 0; k < last; ++k) {
            work[k].x = (1.0 - t) * work[k].x + t * work[k + 1].x;
            work[k].y = (1.0 - t) * work[k].y + t * work[k + 1].y;
        }
    }
    return work[0];
}

double parameterAtDepth(std::span<const ControlPoint> points, double depth) {
    if (!(depth > 0.0)) return 0.0;
    if (depth >= 1.0) return 1.0;
    double low = 0.0, high = 1.0;
    // A fixed number of halvings, not a tolerance: the same bits on every machine.
    for (int i = 0; i < 64; ++i) {
        const double middle = 0.5 * (low + high);
        (bezierPoint(points, middle).x < depth ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

}  // namespace lpes::curve
