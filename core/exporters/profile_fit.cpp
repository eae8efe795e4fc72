#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/exporters/profile.h"
#include "core/rope/rope_config.h"

namespace lpes::exporters {

Result<std::vector<std::string>> checkFits(const Profile& profile, const ProfileModel& model) {
    const ProfileModel& made = profile.model;
    if (profile.scales.size() != static_cast<std::size_t>(std::max(model.layers, 0))) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("the profile has scales for {} layers and the model has {} layers; use a profile of this "
                        "model, or carry the profile over with 'lpes profile transfer'",
                        profile.scales.size(), model.layers));
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
    if (!profile.curve) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("the profile has {} scales but no curve, so it cannot be carried to {} layers; use a "
                                "profile that was made from control points",
                                profile.scales.size(), to.layers));
    }
    if (profile.curve->kind == curve::CurveKind::Free) {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("the profile's curve is free (one value for each of {} layers), so it cannot be carried "
                        "to {} layers; use a bezier, linear or step curve",
                        profile.curve->points.size(), to.layers));
    }
    if (to.layers < 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("the model to carry the profile to has {} layers; it must have at least 1", to.layers));
    }
    const curve::Constraints bounds =
        profile.constraints.value_or(curve::Constraints{rope::kMinScale, rope::kMaxScale, std::nullopt});
    const Result<curve::ScaleCurve> curve = curve::ScaleCurve::make(profile.curve->kind, profile.curve->points, bounds);
    if (!curve) return fail(curve.error());
    Profile carried = profile;
    carried.model = to;
    carried.scales = curve->decode(to.layers);
    if (auto valid = rope::checkScales(carried.scales, to.layers); !valid) return fail(valid.error());
    if (!carried.provenance.is_object()) carried.provenance = nlohmann::json::object();
    carried.provenance["transferred_from"] = {{"architecture", profile.model.architecture},
                                              {"layers", profile.model.layers},
                                              {"fingerprint", profile.model.fingerprint}};
    if (carried.extra.is_object()) carried.extra.erase("model");  // said something of the other model
    return carried;
}

}  // namespace lpes::exporters
