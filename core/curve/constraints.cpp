#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "core/curve/scale_curve.h"

namespace lpes::curve {
namespace {

/// How far a free curve's x may lie from its layer's depth: what typing six decimals loses.
constexpr double kDepthTolerance = 1e-6;

std::optional<std::string> brokenBounds(const Constraints& constraints) {
    const double low = constraints.scaleMin, high = constraints.scaleMax;
    if (!std::isfinite(low) || low <= 0.0) {
        return fmt::format("the smallest allowed scale is {}; it must be a positive number", low);
    }
    if (!std::isfinite(high) || high < low) {
        return fmt::format("the largest allowed scale is {}; it must be a number not below the smallest, {}", high,
                           low);
    }
    if (constraints.gridStep && !(std::isfinite(*constraints.gridStep) && *constraints.gridStep > 0.0)) {
        return fmt::format("the grid step is {}; it must be a positive number", *constraints.gridStep);
    }
    return std::nullopt;
}

std::optional<std::string> brokenCount(CurveKind kind, std::size_t count) {
    if (count < static_cast<std::size_t>(kMinPoints)) {
        return fmt::format("a {} curve needs at least {} control points and has {}", curveKindName(kind), kMinPoints,
                           count);
    }
    if (kind == CurveKind::Bezier && count > static_cast<std::size_t>(kMaxBezierPoints)) {
        return fmt::format("a bezier curve has at most {} control points and this one has {}", kMaxBezierPoints, count);
    }
    return std::nullopt;
}

std::optional<std::string> brokenX(CurveKind kind, const std::vector<ControlPoint>& points) {
    for (std::size_t k = 0; k < points.size(); ++k) {
        const double x = points[k].x;
        if (!std::isfinite(x)) return fmt::format("control point {} has x {}; x must be a number from 0 to 1", k, x);
        if (k == 0 && x != 0.0) return fmt::format("control point 0 has x {}; the first point has x 0", x);
        if (k > 0 && x < points[k - 1].x) {
            return fmt::format("control point {} has x {}, left of point {} at {}; x must not decrease", k, x, k - 1,
                               points[k - 1].x);
        }
        if (kind == CurveKind::Free) {
            const double depth = static_cast<double>(k) / static_cast<double>(points.size() - 1);
            if (std::abs(x - depth) > kDepthTolerance) {
                return fmt::format("control point {} of a free curve with {} layers has x {}; its layer is at {}", k,
                                   points.size(), x, depth);
            }
        }
    }
    if (points.back().x != 1.0) {
        return fmt::format("control point {} has x {}; the last point has x 1", points.size() - 1, points.back().x);
    }
    return std::nullopt;
}

std::optional<std::string> brokenY(const std::vector<ControlPoint>& points, const Constraints& constraints) {
    for (std::size_t k = 0; k < points.size(); ++k) {
        const double y = points[k].y;
        if (!std::isfinite(y) || y < constraints.scaleMin || y > constraints.scaleMax) {
            return fmt::format("control point {} has scale {}; scales must be from {} to {}", k, y,
                               constraints.scaleMin, constraints.scaleMax);
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> violation(CurveKind kind, const std::vector<ControlPoint>& points,
                                     const Constraints& constraints) {
    if (auto broken = brokenBounds(constraints)) return broken;
    if (auto broken = brokenCount(kind, points.size())) return broken;
    if (auto broken = brokenX(kind, points)) return broken;
    return brokenY(points, constraints);
}

}  // namespace lpes::curve
