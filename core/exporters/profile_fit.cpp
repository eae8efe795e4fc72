#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/exporters/profile.h"
#include "core/rope/rope_config.h"

namespace lpes::exporters {

namespace {

using Kind = curve::ScaleGroups::Kind;

/// Why the groups are not this model's, or nothing.
std::optional<std::string> otherGroups(const curve::ScaleGroups& groups, const ProfileModel& model) {
    if (groups.kind == Kind::KvHead && groups.heads != model.kvHeads) {
        return fmt::format("the profile has scales for {} key/value heads and the model has {}", groups.heads,
                           model.kvHeads);
    }
    if (groups.kind == Kind::Band && (groups.bandEnds.empty() || groups.bandEnds.back() != model.frequencies)) {
        return fmt::format("the profile's bands end at frequency {} and the model has {} frequencies",
                           groups.bandEnds.empty() ? 0 : groups.bandEnds.back(), model.frequencies);
    }
    return std::nullopt;
}

/// The profile's curves, one for each group.
Result<curve::GroupedCurve> curvesOf(const Profile& profile) {
    const curve::Constraints bounds =
        profile.constraints.value_or(curve::Constraints{rope::kMinScale, rope::kMaxScale, std::nullopt});
    std::vector<curve::ScaleCurve> curves;
    for (const Profile::Curve& one : profile.groups.perLayer() ? std::vector{*profile.curve} : profile.curves) {
        auto made = curve::ScaleCurve::make(one.kind, one.points, bounds);
        if (!made) return fail(made.error());
        curves.push_back(std::move(*made));
    }
    return curve::GroupedCurve::make(profile.groups, std::move(curves));
}

}  // namespace

std::optional<std::string> unprovenReason(const Profile& profile) {
    if (!profile.provenance.is_object()) return std::nullopt;
    const auto heldout = profile.provenance.find("heldout");
    if (heldout == profile.provenance.end() || !heldout->is_object()) return std::nullopt;
    const auto better = heldout->find("better");
    if (better == heldout->end() || !better->is_boolean() || better->get<bool>()) return std::nullopt;
    if (heldout->value("measured", true) == false)
        return "the profile was never asked the held-out items; only the JSON profile says so";
    // Where several profiles of a front were tested side by side, it is the adjusted p value that decided.
    auto p = heldout->find("p_holm");
    const bool adjusted = p != heldout->end() && p->is_number();
    if (!adjusted) p = heldout->find("p_value");
    if (p != heldout->end() && p->is_null())
        return "the profile's gain was not tested, on too few held-out items; only the JSON profile says so";
    return fmt::format("the profile's gain on held-out items is inside the noise{}; only the JSON profile says so",
                       p != heldout->end() && p->is_number()
                           ? fmt::format(" (p = {:.3g}{})", p->get<double>(), adjusted ? " by Holm" : "")
                           : "");
}

Result<std::vector<std::string>> checkFits(const Profile& profile, const ProfileModel& model) {
    const ProfileModel& made = profile.model;
    if (profile.layers() != std::max(model.layers, 0)) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("the profile has scales for {} layers and the model has {} layers; use a profile of this "
                        "model, or carry the profile over with 'lpes profile transfer'",
                        profile.layers(), model.layers));
    }
    if (auto other = otherGroups(profile.groups, model)) {
        return fail(ErrorCode::BadInput, *other + "; use a profile of this model");
    }
    if (!made.architecture.empty() && made.architecture != model.architecture) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("the profile was made for the architecture '{}' and the model is '{}'; use a profile of "
                        "this model, or carry the profile over with 'lpes profile transfer'",
                        made.architecture, model.architecture));
    }
    if (made.headDim > 0 && made.headDim != model.headDim) {
        return fail(ErrorCode::BadInput,
                    fmt::format("the profile was made for head_dim {} and the model has head_dim {}; use a profile of "
                                "this model, or carry the profile over with 'lpes profile transfer'",
                                made.headDim, model.headDim));
    }
    std::vector<std::string> warnings;
    if (!made.fingerprint.empty() && made.fingerprint != model.fingerprint) {
        warnings.push_back(
            fmt::format("the profile was made for other weights of the same shape (fingerprint {}, the "
                        "model's is {}); check it on your own data",
                        made.fingerprint, model.fingerprint.empty() ? "unknown" : model.fingerprint));
    }
    // Files hold theta as float or as text: a difference of rounding is none.
    if (made.ropeTheta > 0.0 && std::abs(made.ropeTheta - model.ropeTheta) > 1e-6 * made.ropeTheta) {
        warnings.push_back(
            fmt::format("the profile was made for RoPE base {} and the model has {}; check it on your own "
                        "data",
                        made.ropeTheta, model.ropeTheta));
    }
    return warnings;
}

Result<Profile> transferred(const Profile& profile, const ProfileModel& to) {
    const Profile::Curve* free = nullptr;
    if (profile.curve) free = profile.curve->kind == curve::CurveKind::Free ? &*profile.curve : nullptr;
    for (const Profile::Curve& one : profile.curves) free = one.kind == curve::CurveKind::Free ? &one : free;
    if (profile.groups.perLayer() ? !profile.curve.has_value() : profile.curves.empty()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("the profile has {} scales but no curve, so it cannot be carried to {} layers; use a "
                                "profile that was made from control points",
                                profile.scales.size(), to.layers));
    }
    if (free != nullptr) {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("the profile's curve is free (one value for each of {} layers), so it cannot be carried "
                        "to {} layers; use a bezier, linear, monotone or step curve",
                        free->points.size(), to.layers));
    }
    if (to.layers < 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("the model to carry the profile to has {} layers; it must have at least 1", to.layers));
    }
    if (auto other = otherGroups(profile.groups, to)) {
        return fail(ErrorCode::Unsupported,
                    *other + "; only the number of layers may differ, so make a profile for that model");
    }
    const Result<curve::GroupedCurve> curves = curvesOf(profile);
    if (!curves) return fail(curves.error());
    Profile carried = profile;
    carried.model = to;
    carried.scales = curves->decode(to.layers);
    const auto values = static_cast<int>(carried.scales.size());
    if (auto valid = rope::checkScales(carried.scales, values); !valid) return fail(valid.error());
    if (!carried.provenance.is_object()) carried.provenance = nlohmann::json::object();
    carried.provenance["transferred_from"] = {{"architecture", profile.model.architecture},
                                              {"layers", profile.model.layers},
                                              {"fingerprint", profile.model.fingerprint}};
    if (carried.extra.is_object()) carried.extra.erase("model");  // said something of the other model
    return carried;
}

}  // namespace lpes::exporters
