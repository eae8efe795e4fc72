#include "app/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/draft_keeper.h"
#include "core/base/files.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {
namespace {

using app::Document;
using testing::HasSubstr;

exporters::ProfileModel model(int layers) {
    exporters::ProfileModel out;
    out.architecture = "llama";
    out.layers = layers;
    out.headDim = 16;
    out.ropeTheta = 10000.0;
    out.rope = "null";
    out.fingerprint = "f";
    return out;
}

widgets::CurveDraft moved(const Document& document, int point, double y) {
    return widgets::withPointMoved(document.draft(), point,
                                   {document.draft().points[static_cast<std::size_t>(point)].x, y});
}

TEST(Document, StartsWithACurveThatChangesNothing) {
    Document document;
    EXPECT_TRUE(document.scales().empty()) << "without a model there are no layers";
    document.setModel(model(6), 512);
    EXPECT_THAT(document.scales(), testing::Each(1.0));
    EXPECT_FALSE(document.isModified());
}

TEST(Document, OneStepPerChangeAndNoneForNone) {
    Document document;
    document.setModel(model(6), 512);
    const widgets::CurveDraft before = document.draft();
    document.commit(before, QStringLiteral("nothing"));
    EXPECT_EQ(document.undoStack().count(), 0);
    document.commit(moved(document, 0, 1.5), QStringLiteral("move point 0"));
    document.commit(moved(document, 3, 0.7), QStringLiteral("move point 3"));
    EXPECT_EQ(document.undoStack().count(), 2);
    EXPECT_TRUE(document.isModified());
    document.undoStack().undo();
    document.undoStack().undo();
    EXPECT_EQ(document.draft(), before);
    EXPECT_FALSE(document.isModified());
    document.undoStack().redo();
    EXPECT_EQ(document.draft().points[0].y, 1.5);
}

TEST(Document, RefusesScalesByHeadAndByBandByName) {
    Document document;
    document.setModel(model(6), 512);
    exporters::Profile profile;
    profile.model = model(6);
    profile.groups = curve::ScaleGroups::kvHeads(2);
    profile.scales.assign(12, 1.5);
    const auto heads = document.takeProfile(profile, QStringLiteral("heads.json"));
    ASSERT_FALSE(heads);
    EXPECT_EQ(heads.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(heads.error().message, HasSubstr("key/value head"));
    profile.groups = curve::ScaleGroups::bands({4, 8});
    EXPECT_THAT(document.takeProfile(profile, QStringLiteral("bands.json")).error().message,
                HasSubstr("band of frequencies"));
    EXPECT_EQ(document.undoStack().count(), 0);
}

TEST(Document, AProfileRoundTripsThroughTheEditor) {
    Document document;
    document.setModel(model(6), 512);
    document.commit(moved(document, 1, 1.4), QStringLiteral("move"));
    const auto profile = document.profile();
    ASSERT_TRUE(profile) << profile.error().text();
    EXPECT_EQ(profile->scales, document.scales());
    Document other;
    other.setModel(model(6), 512);
    ASSERT_TRUE(other.takeProfile(*profile, QStringLiteral("a.json")));
    EXPECT_EQ(other.draft(), document.draft());
    EXPECT_EQ(other.origin(), QStringLiteral("a.json"));
    other.undoStack().undo();
    EXPECT_EQ(other.draft(), Document::freshDraft());
}

TEST(Document, KeepsProvenanceUntilTheCurveIsChanged) {
    Document document;
    document.setModel(model(4), 512);
    auto found = document.profile();
    ASSERT_TRUE(found);
    found->provenance = {{"run_id", 7}};
    ASSERT_TRUE(document.takeProfile(*found, QStringLiteral("best of run 7")));
    EXPECT_EQ(document.profile()->provenance["run_id"], 7);
    document.commit(moved(document, 0, 2.0), QStringLiteral("move"));
    EXPECT_FALSE(document.profile()->provenance.contains("run_id")) << "it no longer says how these scales came about";
    document.undoStack().undo();
    EXPECT_EQ(document.profile()->provenance["run_id"], 7);
}

TEST(Document, RefusesAProfileOfAnotherModelAndStaysAsItIs) {
    Document document;
    document.setModel(model(4), 512);
    Document other;
    other.setModel(model(6), 512);
    const auto refused = document.takeProfile(*other.profile(), QStringLiteral("b.json"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
    EXPECT_THAT(refused.error().message, HasSubstr("6"));
    EXPECT_EQ(document.undoStack().count(), 0);
}

TEST(Document, ScalesWithoutACurveBecomeAFreeOne) {
    Document document;
    document.setModel(model(3), 512);
    auto profile = *document.profile();
    profile.curve.reset();
    profile.scales = {1.234, 0.9, 3.0};
    ASSERT_TRUE(document.takeProfile(profile, QStringLiteral("c.csv")));
    EXPECT_EQ(document.draft().kind, curve::CurveKind::Free);
    EXPECT_EQ(document.scales(), profile.scales) << "not rounded to any grid, not cut to any bound";
    document.setModel(model(5), 512);
    EXPECT_THAT(document.scales(), testing::Each(1.0)) << "a free curve is for its own number of layers";
}

TEST(DraftKeeper, BringsTheCurveBackInTheNextSession) {
    const TemporaryFolder folder;
    const auto file = folder / "curves";
    widgets::CurveDraft kept;
    {
        Document document;
        app::DraftKeeper keeper(document, file, nullptr);
        document.setModel(model(6), 512);
        EXPECT_FALSE(keeper.restore());
        document.commit(moved(document, 2, 1.8), QStringLiteral("move"));
        kept = document.draft();
    }
    Document document;
    app::DraftKeeper keeper(document, file, nullptr);
    document.setModel(model(6), 512);
    EXPECT_TRUE(keeper.restore());
    EXPECT_EQ(document.draft(), kept);
    Document elsewhere;
    app::DraftKeeper stranger(elsewhere, file, nullptr);
    exporters::ProfileModel other = model(4);
    other.fingerprint = "g";
    elsewhere.setModel(other, 512);
    EXPECT_FALSE(stranger.restore()) << "another model's curve is left alone";
    elsewhere.commit(moved(elsewhere, 0, 2.0), QStringLiteral("move"));
    stranger.flush();
    elsewhere.setModel(model(6), 512);
    EXPECT_TRUE(stranger.restore()) << "each model has its own";
    EXPECT_EQ(elsewhere.draft(), kept);
}

TEST(DraftKeeper, LeavesWhatWasDrawnAloneWhenAProfileIsOnlyLookedAt) {
    const TemporaryFolder folder;
    Document document;
    app::DraftKeeper keeper(document, folder / "curves", nullptr);
    document.setModel(model(6), 512);
    document.commit(moved(document, 2, 1.8), QStringLiteral("move"));
    const widgets::CurveDraft drawn = document.draft();
    keeper.flush();
    auto profile = *document.profile();
    profile.curve.reset();
    profile.scales.assign(6, 1.5);
    ASSERT_TRUE(document.takeProfile(profile, QStringLiteral("other.json")));
    keeper.flush();
    document.setModel(model(6), 512);
    ASSERT_TRUE(keeper.restore());
    EXPECT_EQ(document.draft(), drawn);
}

TEST(DraftKeeper, SaysOnceThatItCannotWrite) {
    const TemporaryFolder folder;
    ASSERT_TRUE(writeFileAtomically(folder / "blocked", "a file where a folder should be"));
    Document document;
    app::DraftKeeper keeper(document, folder / "blocked" / "curves", nullptr);
    int told = 0;
    QObject::connect(&keeper, &app::DraftKeeper::failed, [&](const QString&) { ++told; });
    document.setModel(model(6), 512);
    document.commit(moved(document, 2, 1.8), QStringLiteral("move"));
    keeper.flush();
    document.commit(moved(document, 2, 1.9), QStringLiteral("move"));
    keeper.flush();
    EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace lpes::test
