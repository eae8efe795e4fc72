#include "tests/core/exporters/profile_fixtures.h"

namespace lpes::exporters {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string misfit(const ProfileModel& model) {
    const auto fits = checkFits(fullProfile(), model);
    EXPECT_FALSE(fits);
    if (fits) return {};
    EXPECT_EQ(fits.error().code, ErrorCode::BadInput);
    return fits.error().message;
}

TEST(CheckFits, IsSilentForTheModelItWasMadeFor) {
    EXPECT_THAT(checkFits(fullProfile(), fullProfile().model).value(), IsEmpty());
}

TEST(CheckFits, RefusesAnotherShapeWithBothValues) {
    ProfileModel model = fullProfile().model;
    model.layers = 30;
    EXPECT_THAT(misfit(model), AllOf(HasSubstr("5 layers"), HasSubstr("30 layers")));
    model = fullProfile().model;
    model.architecture = "qwen2";
    EXPECT_THAT(misfit(model), AllOf(HasSubstr("'llama'"), HasSubstr("'qwen2'")));
    model = fullProfile().model;
    model.headDim = 128;
    EXPECT_THAT(misfit(model), AllOf(HasSubstr("head_dim 64"), HasSubstr("head_dim 128")));
}

TEST(CheckFits, WarnsOfOtherWeightsAndAnotherBase) {
    ProfileModel model = fullProfile().model;
    model.fingerprint = "sha256:def";
    EXPECT_THAT(checkFits(fullProfile(), model).value(),
                ElementsAre(AllOf(HasSubstr("sha256:abc"), HasSubstr("sha256:def"))));
    model.ropeTheta = 10000.0;
    EXPECT_EQ(checkFits(fullProfile(), model)->size(), 2u);
    EXPECT_THAT(checkFits(fullProfile(), model)->at(1), AllOf(HasSubstr("100000"), HasSubstr("10000")));
}

TEST(CheckFits, DoesNotCompareWhatTheProfileLeavesEmpty) {
    Profile bare;
    bare.scales = std::vector<double>(5, 1.0);
    EXPECT_THAT(checkFits(bare, fullProfile().model).value(), IsEmpty());
    ProfileModel other = fullProfile().model;
    other.layers = 4;
    EXPECT_FALSE(checkFits(bare, other));
}

TEST(Transferred, DecodesTheCurveForTheOtherModel) {
    Profile profile = fullProfile();
    profile.extra = {{"model", {{"kv_heads", 2}}}, {"colour", "red"}};
    const ProfileModel to{"qwen2", 24, 128, 1e6, "null", "sha256:def"};
    const auto carried = transferred(profile, to);
    ASSERT_TRUE(carried) << carried.error().message;
    EXPECT_EQ(carried->model.architecture, "qwen2");
    EXPECT_EQ(carried->scales,
              curve::ScaleCurve::make(profile.curve->kind, profile.curve->points, *profile.constraints)->decode(24));
    EXPECT_EQ(carried->scales.front(), 1.0);
    EXPECT_EQ(carried->scales.back(), 1.2);
    EXPECT_EQ(carried->provenance["transferred_from"]["layers"], 5);
    EXPECT_EQ(carried->provenance["seed"], 7);
    EXPECT_EQ(carried->extra, (nlohmann::json{{"colour", "red"}}));
    EXPECT_THAT(checkFits(*carried, to).value(), IsEmpty());
    const auto again = profileFromJson(toJson(*carried), "p.json");
    ASSERT_TRUE(again);
    expectEqual(again->profile, *carried);
}

TEST(Transferred, RefusesWhatHasNoCurve) {
    const ProfileModel to{"llama", 24, 64, 1e4, "null", ""};
    Profile bare = fullProfile();
    bare.curve.reset();
    EXPECT_EQ(transferred(bare, to).error().code, ErrorCode::Unsupported);
    Profile free = fullProfile();
    free.curve = Profile::Curve{curve::CurveKind::Free, {{0, 1}, {0.25, 1}, {0.5, 1}, {0.75, 1}, {1, 1}}};
    EXPECT_EQ(transferred(free, to).error().code, ErrorCode::Unsupported);
    EXPECT_THAT(transferred(free, to).error().message, HasSubstr("24 layers"));
    EXPECT_EQ(transferred(fullProfile(), {}).error().code, ErrorCode::Usage);
    Profile broken = fullProfile();
    broken.curve->points[0].x = 0.5;
    EXPECT_FALSE(transferred(broken, to));
}

TEST(UnprovenReason, IsThatOfASearchWithoutASignificantGain) {
    Profile profile = fullProfile();
    EXPECT_FALSE(unprovenReason(profile)) << "it claims nothing";
    profile.provenance["heldout"] = {{"better", false}, {"p_value", 0.31}};
    EXPECT_THAT(unprovenReason(profile).value(), HasSubstr("p = 0.31"));
    profile.provenance["heldout"].update({{"p_value", 0.02}, {"p_holm", 0.06}});
    EXPECT_THAT(unprovenReason(profile).value(), HasSubstr("inside the noise (p = 0.06 by Holm)"))
        << "0.02 is no noise: what decided stands there";
    profile.provenance["heldout"]["p_holm"] = nullptr;
    profile.provenance["heldout"]["p_value"] = nullptr;
    EXPECT_THAT(unprovenReason(profile).value(), HasSubstr("not tested, on too few held-out items"));
    profile.provenance["heldout"]["better"] = true;
    EXPECT_FALSE(unprovenReason(profile));
    profile.provenance = 7;
    EXPECT_FALSE(unprovenReason(profile));
}

}  // namespace
}  // namespace lpes::exporters
