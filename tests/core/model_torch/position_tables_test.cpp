#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rope/rope_config.h"
#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;

TEST(FieldReports, T13_TheTablesOfEveryLayerReadBackAsApplied) {
    test::TinyModelSpec spec;
    spec.numLayers = 4;
    spec.linearFactor = 2.0;
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const auto model = loadTiny(spec, type);
        const auto session = model->newSession(1);
        const auto frequencies = rope::inverseFrequencies(model->config().rope, 512);
        const double rounding = type == ComputeType::Float32 ? 0.0 : 0x1p-9;
        LayerScales scales{1.5, 0.8, 1.5, 2.25};
        const auto expectTables = [&] {
            for (int layer = 0; layer < 4; ++layer) {
                const auto table = session->readBackTable(layer, scales, 400, 100);
                ASSERT_TRUE(table.has_value());
                const auto expected =
                    rope::positionTable(frequencies, scales[static_cast<std::size_t>(layer)], 400, 100);
                ASSERT_EQ(table->cos.size(), expected.cos.size());
                for (std::size_t i = 0; i < expected.cos.size(); ++i) {
                    ASSERT_NEAR(table->cos[i], expected.cos[i], rounding) << layer;
                    ASSERT_NEAR(table->sin[i], expected.sin[i], rounding) << layer;
                }
            }
            const auto check = session->verifyApplied(scales, 511);
            ASSERT_TRUE(check.has_value());
            EXPECT_TRUE(check->verified) << check->maxAbsError;
            EXPECT_EQ(check->probedPositions.front(), 0);
            EXPECT_EQ(check->probedPositions.back(), 511);
        };
        expectTables();
        const auto untouched = session->readBackTable(2, scales, 0, 50);
        scales[1] = 1.1;  // layer 1 alone; layers 0 and 2 share their scale
        expectTables();
        EXPECT_EQ(session->readBackTable(2, scales, 0, 50)->cos, untouched->cos);
        scales[0] = 1.1;  // and now layer 0 leaves the table that it shared with layer 2
        expectTables();
        EXPECT_EQ(session->readBackTable(2, scales, 0, 50)->cos, untouched->cos);
    }
}

TEST(PositionTables, SayTheSameAfterTheyHaveGrown) {
    const auto session = loadTiny()->newSession(1);
    const auto early = session->readBackTable(0, {1.3, 1.0}, 0, 10);
    ASSERT_TRUE(session->verifyApplied({1.3, 1.0}, 511)->verified);
    EXPECT_EQ(session->readBackTable(0, {1.3, 1.0}, 0, 10)->cos, early->cos);
}

TEST(PositionTables, StayRightWhenManyScalesHavePassedThrough) {
    const auto session = loadTiny()->newSession(1);
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(session->verifyApplied({1.0 + 0.01 * i, 0.5 + 0.001 * i}, 20)->verified) << i;
    }
    EXPECT_TRUE(session->verifyApplied({1.0, 0.5}, 400)->verified);
}

TEST(PositionTables, RefuseLayersAndPositionsThatDoNotExist) {
    const auto session = loadTiny()->newSession(1);
    EXPECT_FALSE(session->readBackTable(2, {}, 0, 1).has_value());
    EXPECT_FALSE(session->readBackTable(-1, {}, 0, 1).has_value());
    EXPECT_FALSE(session->readBackTable(0, {}, 512, 1).has_value());
    EXPECT_FALSE(session->readBackTable(0, {}, 0, 513).has_value());
    EXPECT_FALSE(session->readBackTable(0, {}, 0, 0).has_value());
    EXPECT_TRUE(session->readBackTable(0, {}, 511, 1).has_value());
    EXPECT_FALSE(session->verifyApplied({}, 512).has_value());
    EXPECT_FALSE(session->verifyApplied({}, -1).has_value());
    EXPECT_TRUE(session->verifyApplied({}, 0).has_value());
    EXPECT_EQ(session->verifyApplied({1.0}, 5).error().code, ErrorCode::BadInput);
}

}  // namespace
}  // namespace lpes::model
