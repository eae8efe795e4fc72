#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/exporters/profile.h"

namespace lpes::exporters {

/// A profile as the search writes it: 5 layers, the check value's curve, everything filled in.
inline Profile fullProfile() {
    Profile profile;
    profile.model = {"llama", 5, 64, 100000.0, R"({"factor":2.5,"rope_type":"linear"})", "sha256:abc"};
    profile.constraints = curve::Constraints{0.5, 2.5, 0.05};
    profile.curve = Profile::Curve{curve::CurveKind::Bezier, {{0, 1.0}, {1.0 / 3, 1.6}, {2.0 / 3, 2.0}, {1, 1.2}}};
    profile.scales =
        curve::ScaleCurve::make(profile.curve->kind, profile.curve->points, *profile.constraints)->decode(5);
    profile.provenance = {{"run_id", 12}, {"seed", 7}, {"fitness", -1.25}};
    profile.toolVersion = "0.1.0";
    return profile;
}

inline void expectEqual(const Profile& a, const Profile& b) {
    EXPECT_EQ(a.version, b.version);
    EXPECT_EQ(a.model.architecture, b.model.architecture);
    EXPECT_EQ(a.model.layers, b.model.layers);
    EXPECT_EQ(a.model.headDim, b.model.headDim);
    EXPECT_EQ(a.model.ropeTheta, b.model.ropeTheta);
    EXPECT_EQ(a.model.rope, b.model.rope);
    EXPECT_EQ(a.model.fingerprint, b.model.fingerprint);
    EXPECT_EQ(a.groups, b.groups);
    EXPECT_EQ(a.scales, b.scales);  // bit for bit
    ASSERT_EQ(a.curves.size(), b.curves.size());
    for (std::size_t group = 0; group < a.curves.size(); ++group) {
        EXPECT_EQ(a.curves[group].kind, b.curves[group].kind);
        EXPECT_EQ(a.curves[group].points, b.curves[group].points);
    }
    ASSERT_EQ(a.curve.has_value(), b.curve.has_value());
    if (a.curve) {
        EXPECT_EQ(a.curve->kind, b.curve->kind);
        EXPECT_EQ(a.curve->points, b.curve->points);
    }
    EXPECT_EQ(a.constraints, b.constraints);
    EXPECT_EQ(a.provenance, b.provenance);
    EXPECT_EQ(a.toolVersion, b.toolVersion);
    EXPECT_EQ(a.extra, b.extra);
}

/// The error of a text that must be refused, which names the file.
inline Error refused(const Result<LoadedProfile>& loaded, ErrorCode code = ErrorCode::BadInput) {
    if (loaded) {
        ADD_FAILURE() << "was accepted";
        return {};
    }
    EXPECT_EQ(loaded.error().code, code) << loaded.error().message;
    EXPECT_THAT(loaded.error().message, testing::StartsWith("p.json: "));
    return loaded.error();
}

}  // namespace lpes::exporters
