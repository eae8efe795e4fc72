#include "widgets/curve_editor/curve_draft.h"

#include <algorithm>
#include <cmath>

namespace lpes::widgets {
namespace {

using curve::ControlPoint;
using curve::CurveKind;

// Bounds that are themselves broken must not make std::clamp undefined.
double between(double value, double low, double high) {
    return low <= high ? std::clamp(value, low, high) : value;
}

// G. Farin, Curves and Surfaces for CAGD, 5.1: Q_i = i/(n+1) P_{i−1} + (1 − i/(n+1)) P_i for degree n.
std::vector<ControlPoint> elevated(const std::vector<ControlPoint>& points) {
    std::vector<ControlPoint> more{points.front()};
    const auto count = static_cast<double>(points.size());  // n + 1
    for (std::size_t i = 1; i < points.size(); ++i) {
        const double share = static_cast<double>(i) / count;
        ControlPoint point{share * points[i - 1].x + (1.0 - share) * points[i].x,
                           share * points[i - 1].y + (1.0 - share) * points[i].y};
        // Averages lie between what they average; only their rounding may not.
        point.x = std::max(point.x, more.back().x);
        point.y = std::clamp(point.y, std::min(points[i - 1].y, points[i].y), std::max(points[i - 1].y, points[i].y));
        more.push_back(point);
    }
    more.push_back(points.back());
    return more;
}

}  // namespace

std::vector<double> decodedScales(const CurveDraft& draft, int numLayers) {
    if (numLayers < 1) return {};
    if (draft.kind == CurveKind::Free && draft.points.size() != static_cast<std::size_t>(numLayers)) return {};
    const auto made = curve::ScaleCurve::make(draft.kind, draft.points, draft.constraints);
    return made ? made->decode(numLayers) : std::vector<double>{};
}

std::optional<CurveDraft> withPointAdded(const CurveDraft& draft) {
    const std::size_t count = draft.points.size();
    if (draft.kind == CurveKind::Free || count < static_cast<std::size_t>(curve::kMinPoints)) return std::nullopt;
    CurveDraft more = draft;
    if (draft.kind == CurveKind::Bezier) {
        if (count >= static_cast<std::size_t>(curve::kMaxBezierPoints)) return std::nullopt;
        more.points = elevated(draft.points);
        return more;
    }
    std::size_t after = 1;
    const auto gap = [&](std::size_t i) { return draft.points[i].x - draft.points[i - 1].x; };
    for (std::size_t i = 2; i < count; ++i) {
        if (gap(i) > gap(after)) after = i;
    }
    const ControlPoint &left = draft.points[after - 1], &right = draft.points[after];
    const double x = 0.5 * left.x + 0.5 * right.x;
    double y = draft.kind == CurveKind::Step ? left.y : 0.5 * left.y + 0.5 * right.y;
    if (draft.kind == CurveKind::Monotone) {
        if (const auto made = curve::ScaleCurve::make(draft.kind, draft.points, draft.constraints)) y = made->at(x);
    }
    more.points.insert(more.points.begin() + static_cast<std::ptrdiff_t>(after), {x, y});
    return more;
}

std::optional<CurveDraft> withPointRemoved(const CurveDraft& draft, int index) {
    const auto count = static_cast<int>(draft.points.size());
    if (draft.kind == CurveKind::Free || count <= curve::kMinPoints || index <= 0 || index >= count - 1) {
        return std::nullopt;
    }
    CurveDraft fewer = draft;
    fewer.points.erase(fewer.points.begin() + index);
    return fewer;
}

CurveDraft withPointMoved(const CurveDraft& draft, int index, ControlPoint wanted) {
    const auto count = static_cast<int>(draft.points.size());
    if (index < 0 || index >= count) return draft;
    CurveDraft moved = draft;
    const auto at = static_cast<std::size_t>(index);
    ControlPoint& point = moved.points[at];
    if (std::isfinite(wanted.x) && index > 0 && index < count - 1 && draft.kind != CurveKind::Free) {
        point.x = between(wanted.x, draft.points[at - 1].x, draft.points[at + 1].x);
    }
    if (std::isfinite(wanted.y)) {
        point.y = between(wanted.y, draft.constraints.scaleMin, draft.constraints.scaleMax);
    }
    return moved;
}

CurveDraft withKind(const CurveDraft& draft, CurveKind kind, int numLayers) {
    CurveDraft other = draft;
    other.kind = kind;
    if (kind == draft.kind) return draft;
    const std::size_t most = kind == CurveKind::Bezier ? static_cast<std::size_t>(curve::kMaxBezierPoints) : 12;
    std::size_t wanted = draft.points.size();
    if (kind == CurveKind::Free) {
        wanted = static_cast<std::size_t>(std::max(numLayers, 0));
    } else if (wanted > most) {
        wanted = most;
    } else if (draft.kind != CurveKind::Free) {
        return other;  // the same points, read in another way
    }
    const auto made = curve::ScaleCurve::make(draft.kind, draft.points, draft.constraints);
    if (!made || wanted < static_cast<std::size_t>(curve::kMinPoints)) return draft;
    other.points.clear();
    for (std::size_t i = 0; i < wanted; ++i) {
        const double depth = static_cast<double>(i) / static_cast<double>(wanted - 1);
        other.points.push_back({depth, made->at(depth)});
    }
    return other;
}

}  // namespace lpes::widgets
