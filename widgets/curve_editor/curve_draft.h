#pragma once

#include <QMetaType>
#include <optional>
#include <vector>

#include "core/curve/scale_curve.h"

namespace lpes::widgets {

/// What the editor edits: control points and the rules that they keep. A value.
struct CurveDraft {
    curve::CurveKind kind = curve::CurveKind::Bezier;
    std::vector<curve::ControlPoint> points;
    curve::Constraints constraints;
    friend bool operator==(const CurveDraft&, const CurveDraft&) = default;
};

/// One scale per layer; empty while the points break a rule (curve::violation has it in words). thread-safe.
[[nodiscard]] std::vector<double> decodedScales(const CurveDraft& draft, int numLayers);

/// The same curve with one more control point: degree elevation for Bézier (exact to rounding), a point on the curve in
/// the middle of the longest gap for the others (a Monotone curve then bends a little otherwise beside it). Nothing for
/// Free, or when kMaxBezierPoints are reached.
[[nodiscard]] std::optional<CurveDraft> withPointAdded(const CurveDraft& draft);
/// Without point `index`. Nothing for an end point, for Free, or when only kMinPoints are left.
[[nodiscard]] std::optional<CurveDraft> withPointRemoved(const CurveDraft& draft, int index);
/// Point `index` moved as near to (x, y) as the rules allow: end points keep their x, x stays between the neighbours,
/// y inside the bounds.
[[nodiscard]] CurveDraft withPointMoved(const CurveDraft& draft, int index, curve::ControlPoint wanted);
/// As another kind of curve. All but Free read the same points in their own way; where that is not possible
/// (to or from Free, more points than the kind takes) the points are taken from the curve at even depths. The draft
/// itself while it breaks a rule that makes this impossible, or for Free with a single layer.
[[nodiscard]] CurveDraft withKind(const CurveDraft& draft, curve::CurveKind kind, int numLayers);

}  // namespace lpes::widgets

Q_DECLARE_METATYPE(lpes::widgets::CurveDraft)
