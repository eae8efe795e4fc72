#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/curve/scale_curve.h"

namespace lpes::exporters {

/// What a profile was made for, so that it is not applied to something else by mistake.
struct ProfileModel {
    std::string architecture;
    int layers = 0;
    int headDim = 0;
    double ropeTheta = 0.0;
    std::string rope;         ///< original rope block verbatim (JSON text)
    std::string fingerprint;  ///< may be empty for a profile made by hand
};

/// The exchange format of conventions.md §2.2 and §5: positions are divided by `scales`; 1 = unchanged.
struct Profile {
    int version = 1;
    ProfileModel model;
    std::vector<double> scales;  ///< [L]
    struct Curve {
        curve::CurveKind kind = curve::CurveKind::Bezier;
        std::vector<curve::ControlPoint> points;
    };
    std::optional<Curve> curve;
    std::optional<curve::Constraints> constraints;
    nlohmann::json provenance = nlohmann::json::object();
    std::string toolVersion;
    nlohmann::json extra = nlohmann::json::object();  ///< unknown keys, kept and written again
};

inline constexpr int kProfileVersion = 1;

/// A profile with what the user should know of it.
struct LoadedProfile {
    Profile profile;
    std::vector<std::string> warnings;  ///< unknown keys, missing optional parts
};

/// UTF-8 JSON, keys of conventions.md §5 (format, version, model, scales, curve, constraints, provenance,
/// tool_version), digits that round-trip, decimal points in every locale; what is unset is null. `rope` is written as a
/// JSON value (its layout is not kept), or as a text when it is none. thread-safe.
[[nodiscard]] std::string toJson(const Profile& profile);
/// BadInput (field, value): not JSON, another "format", a newer version, scales that are not finite or outside
/// 0.01 … 100 (names the layer), a number of scales other than model.layers, a broken curve, more than 64 levels of
/// nesting. Unsupported: several scales per layer. A missing "model" takes its layers from the scales and warns; scales
/// that differ from what the curve gives are used, with a warning. `origin` (the file) starts every message.
[[nodiscard]] Result<LoadedProfile> profileFromJson(const std::string& text, const std::string& origin);

/// "layer,scale" lines; with the header or without it, one line per layer in any order, each layer once.
[[nodiscard]] std::string toCsv(const Profile& profile);
[[nodiscard]] Result<LoadedProfile> profileFromCsv(const std::string& text, const std::string& origin);

/// Reads .csv or JSON, by what the file holds.
[[nodiscard]] Result<LoadedProfile> readProfile(const std::filesystem::path& path);

/// BadInput when layers, architecture or head_dim differ (names both values); a warning when only the fingerprint (or
/// rope theta) differs. A field that the profile leaves empty is not compared.
[[nodiscard]] Result<std::vector<std::string>> checkFits(const Profile& profile, const ProfileModel& model);

/// The profile for a model with another number of layers: its curve decoded there. Unsupported for Free or without a
/// curve.
[[nodiscard]] Result<Profile> transferred(const Profile& profile, const ProfileModel& to);

}  // namespace lpes::exporters
