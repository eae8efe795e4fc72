#include <gtest/gtest.h>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;
using test::randomIds;

TEST(Representations, UnderTheSameScalesAreAlike) {
    const auto session = loadTiny()->newSession(1);
    for (const int length : {40, 150}) {  // fewer rows than the hidden size, and more
        const auto same = session->compareRepresentations(randomIds(length, 1), {}, LayerScales{1.0, 1.0});
        ASSERT_TRUE(same.has_value());
        ASSERT_EQ(same->deviation.size(), 2u);
        for (std::size_t layer = 0; layer < 2; ++layer) {
            EXPECT_NEAR(same->deviation[layer], 0.0, 1e-12);
            EXPECT_NEAR(same->rsa[layer], 1.0, 1e-12);
            EXPECT_NEAR(same->meanCosine[layer], 1.0, 1e-12);
        }
    }
}

TEST(Representations, DeviateMoreTheMoreThePositionsAreScaled) {
    const auto session = loadTiny()->newSession(1);
    const auto ids = randomIds(150, 1);
    const auto slight = session->compareRepresentations(ids, {}, LayerScales{1.01, 1.01});
    const auto strong = session->compareRepresentations(ids, {}, LayerScales{2.0, 2.0});
    ASSERT_TRUE(slight.has_value() && strong.has_value());
    for (std::size_t layer = 0; layer < 2; ++layer) {
        EXPECT_GT(slight->deviation[layer], 0.0);
        EXPECT_GT(strong->deviation[layer], 2.0 * slight->deviation[layer]);
        EXPECT_LT(strong->rsa[layer], slight->rsa[layer]);
        EXPECT_LT(strong->meanCosine[layer], slight->meanCosine[layer]);
    }
}

TEST(Representations, OfLayersBeforeTheFirstChangeDoNotDeviate) {
    test::TinyModelSpec spec;
    spec.numLayers = 3;
    const auto result =
        loadTiny(spec)->newSession(1)->compareRepresentations(randomIds(60, 1), {}, LayerScales{1.0, 1.7, 1.0});
    ASSERT_TRUE(result.has_value());
    EXPECT_NEAR(result->deviation[0], 0.0, 1e-12);
    EXPECT_GT(result->deviation[1], 1e-4);
}

TEST(Representations, NeedAFewTokens) {
    const auto session = loadTiny()->newSession(1);
    const auto result = session->compareRepresentations(randomIds(3, 1), {}, LayerScales{1.5, 1.5});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::Usage);
}

TEST(Representations, StopBetweenLayers) {
    std::stop_source source;
    source.request_stop();
    const auto result =
        loadTiny()->newSession(1)->compareRepresentations(randomIds(30, 1), {}, {1.5, 1.5}, source.get_token());
    ASSERT_FALSE(result.has_value());
    EXPECT_TRUE(wasStopped(result.error()));
}

}  // namespace
}  // namespace lpes::model
