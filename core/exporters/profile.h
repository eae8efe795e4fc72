#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/curve/scale_curve.h"
#include "core/curve/scale_groups.h"

namespace lpes::exporters {

/// What a profile was made for, so that it is not applied to something else by mistake.
struct ProfileModel {
    std::string architecture;
    int layers = 0;
    int headDim = 0;
    double ropeTheta = 0.0;
    std::string rope;         ///< original rope block verbatim (JSON text)
    std::string fingerprint;  ///< may be empty for a profile made by hand
    int kvHeads = 0;          ///< K; in a file only where scales belong to key/value heads
    int frequencies = 0;      ///< R/2, half of what a head rotates; in a file it is the last of band_ends
};

/// The exchange format of conventions.md §2.2 and §5: positions are divided by `scales`; 1 = unchanged. There is a
/// scale for each layer, or for each layer and key/value head, or for each layer and band of frequencies (which is
/// divided as positions would be).
struct Profile {
    int version = 1;
    ProfileModel model;
    curve::ScaleGroups groups;   ///< what a scale belongs to besides its layer, G of them
    std::vector<double> scales;  ///< [L·G], layer by layer
    struct Curve {
        curve::CurveKind kind = curve::CurveKind::Bezier;
        std::vector<curve::ControlPoint> points;
    };
    std::optional<Curve> curve;  ///< where there is a scale per layer
    std::vector<Curve> curves;   ///< [G] of every other profile; empty: none
    std::optional<curve::Constraints> constraints;
    nlohmann::json provenance = nlohmann::json::object();
    std::string toolVersion;
    nlohmann::json extra = nlohmann::json::object();  ///< unknown keys, kept and written again

    /// L, as many as `scales` fill.
    [[nodiscard]] int layers() const {
        return groups.count() > 0 ? static_cast<int>(scales.size()) / groups.count() : 0;
    }
};

inline constexpr int kProfileVersion = 1;

/// A profile with what the user should know of it.
struct LoadedProfile {
    Profile profile;
    std::vector<std::string> warnings;  ///< unknown keys, missing optional parts
};

/// UTF-8 JSON, keys of conventions.md §5 (format, version, model, scales, curve, constraints, provenance,
/// tool_version), digits that round-trip, decimal points in every locale; what is unset is null. `rope` is written as a
/// JSON value (its layout is not kept), or as a text when it is none. Where scales belong to more than their layer:
/// "per" ("kv_head" or "band"), "band_ends" (the first frequency behind each band), "model.kv_heads", rows of scales
/// [L][G] and "curves" [{kind, points} × G] in place of "curve". thread-safe.
[[nodiscard]] std::string toJson(const Profile& profile);
/// The scales as a file holds them: [L], or [L][G].
[[nodiscard]] nlohmann::json scalesJson(const Profile& profile);
/// BadInput (field, value): not JSON, another "format", a newer version, scales that are not finite or outside
/// 0.01 … 100 (names the layer, and the head or band), a number of scales other than model.layers or than the groups,
/// an unknown "per", bands that do not rise, a broken curve, more than 64 levels of nesting. A missing "model" takes
/// its layers from the scales and warns; scales that differ from what the curves give are used, with a warning.
/// `origin` (the file) starts every message.
[[nodiscard]] Result<LoadedProfile> profileFromJson(const std::string& text, const std::string& origin);

/// "layer,scale" lines; with the header or without it, one line per layer in any order, each layer once. Below the
/// header "layer,group,scale", which must be there, one line for each layer and group: a group is the number of its
/// key/value head ("3"), or a band's first and last frequency ("8-19"; "8-8" for a single one), bands of a layer
/// without a gap from 0.
[[nodiscard]] std::string toCsv(const Profile& profile);
[[nodiscard]] Result<LoadedProfile> profileFromCsv(const std::string& text, const std::string& origin);

/// Reads .csv or JSON, by what the file holds.
[[nodiscard]] Result<LoadedProfile> readProfile(const std::filesystem::path& path);

/// BadInput when layers, architecture, head_dim, the number of key/value heads (of scales by head) or of frequencies
/// (of scales by band) differ (names both values); a warning when only the fingerprint (or rope theta) differs. A field
/// that the profile leaves empty is not compared.
[[nodiscard]] Result<std::vector<std::string>> checkFits(const Profile& profile, const ProfileModel& model);

/// Why a profile that a search made is no proven gain, in one sentence: its held-out comparison found none beyond the
/// noise. Nothing for a proven gain, and for a profile that claims none (made by hand, without provenance). Formats that
/// carry no provenance would hide it.
[[nodiscard]] std::optional<std::string> unprovenReason(const Profile& profile);

/// The profile for a model with another number of layers: its curves decoded there. Unsupported for Free, without a
/// curve, and for a model with another number of key/value heads (of scales by head) or of frequencies (by band).
[[nodiscard]] Result<Profile> transferred(const Profile& profile, const ProfileModel& to);

}  // namespace lpes::exporters
