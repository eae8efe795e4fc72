#include "core/curve/scale_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/curve/bezier.h"
#include "core/curve/monotone_cubic.h"

namespace lpes::curve {
namespace {

/// multiple × step, where step means the decimal number that it was written as: 23 × 0.05 is the double nearest to
/// 1.15, which the product of the two doubles is not.
double gridValue(std::int64_t multiple, double step) {
    char text[64];
    const auto shown = std::to_chars(text, text + sizeof text, step, std::chars_format::scientific);
    const std::string_view whole(text, static_cast<std::size_t>(shown.ptr - text));
    const std::size_t mark = whole.find('e');
    std::int64_t digits = 0;
    int exponent = std::stoi(std::string(whole.substr(mark + 1)));
    for (const char c : whole.substr(0, mark)) {
        if (c != '.') digits = digits * 10 + (c - '0');
    }
    exponent -= mark > 1 ? static_cast<int>(mark) - 2 : 0;
    if (std::abs(multiple) > std::numeric_limits<std::int64_t>::max() / digits) {
        return static_cast<double>(multiple) * step;  // beyond 18 digits the grid is finer than a double anyway
    }
    const std::string decimal = fmt::format("{}e{}", multiple * digits, exponent);
    double value = 0.0;
    std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
    return value;
}

/// The nearest multiple of the grid step inside the bounds; where no multiple lies inside them, the value itself.
double onGrid(double value, const Constraints& constraints) {
    const double step = *constraints.gridStep;
    const double quotient = std::round(value / step);
    if (std::abs(quotient) > 1e15) return value;  // the grid is finer than a double
    auto multiple = static_cast<std::int64_t>(quotient);
    double rounded = gridValue(multiple, step);
    if (rounded < constraints.scaleMin) rounded = gridValue(++multiple, step);
    if (rounded > constraints.scaleMax) rounded = gridValue(--multiple, step);
    return rounded < constraints.scaleMin || rounded > constraints.scaleMax ? value : rounded;
}

}  // namespace

std::string curveKindName(CurveKind kind) {
    switch (kind) {
        case CurveKind::Bezier:
            return "bezier";
        case CurveKind::Linear:
            return "linear";
        case CurveKind::Monotone:
            return "monotone";
        case CurveKind::Step:
            return "step";
        case CurveKind::Free:
            return "free";
    }
    return "bezier";
}

std::string curveKindNames() {
    return "bezier, linear, monotone, step or free";
}

Result<CurveKind> parseCurveKind(const std::string& text) {
    for (const CurveKind kind : kCurveKinds) {
        if (curveKindName(kind) == text) return kind;
    }
    return fail(ErrorCode::Usage, fmt::format("'{}' is not a kind of curve; use {}", text, curveKindNames()));
}

ScaleCurve::ScaleCurve(CurveKind kind, std::vector<ControlPoint> points, const Constraints& constraints)
    : m_kind(kind), m_points(std::move(points)), m_constraints(constraints) {}

Result<ScaleCurve> ScaleCurve::make(CurveKind kind, std::vector<ControlPoint> points, const Constraints& constraints) {
    if (auto broken = violation(kind, points, constraints)) return fail(ErrorCode::Usage, std::move(*broken));
    return ScaleCurve(kind, std::move(points), constraints);
}

double ScaleCurve::at(double depth) const {
    depth = depth > 0.0 ? std::min(depth, 1.0) : 0.0;
    double value = 0.0;
    if (m_kind == CurveKind::Bezier) {
        value = bezierPoint(m_points, parameterAtDepth(m_points, depth)).y;
    } else {
        // The last point at or before the depth: where points share an x, the later one holds from there on.
        const auto next = std::upper_bound(m_points.begin(), m_points.end(), depth,
                                           [](double d, const ControlPoint& point) { return d < point.x; });
        const ControlPoint& left = *(next - 1);
        value = left.y;
        if (m_kind == CurveKind::Monotone && next != m_points.end()) {
            value = monotoneCubic(m_points, static_cast<std::size_t>(next - m_points.begin()) - 1, depth);
        } else if (m_kind != CurveKind::Step && next != m_points.end()) {
            const double share = (depth - left.x) / (next->x - left.x);
            value = (1.0 - share) * left.y + share * next->y;
        }
    }
    // Interpolation stays between the points; only its rounding may not.
    return std::clamp(value, m_constraints.scaleMin, m_constraints.scaleMax);
}

std::vector<double> ScaleCurve::decode(int numLayers) const {
    std::vector<double> scales;
    scales.reserve(static_cast<std::size_t>(std::max(numLayers, 0)));
    const bool perLayer = m_kind == CurveKind::Free && m_points.size() == static_cast<std::size_t>(numLayers);
    for (int layer = 0; layer < numLayers; ++layer) {
        const double depth = numLayers > 1 ? static_cast<double>(layer) / (numLayers - 1) : 0.0;
        const double value = perLayer ? m_points[static_cast<std::size_t>(layer)].y : at(depth);
        scales.push_back(m_constraints.gridStep ? onGrid(value, m_constraints) : value);
    }
    return scales;
}

}  // namespace lpes::curve
