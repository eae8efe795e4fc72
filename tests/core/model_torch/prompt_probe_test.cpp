// Attention and deviation of several prompts in one pass, against the calls that measure them one by one.
#include <gtest/gtest.h>

#include <vector>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

std::vector<TokenId> someIds(int count, int step) {
    std::vector<TokenId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(7 + i * step % 200);
    return ids;
}

TEST(PromptProbe, IsAttentionAndDeviationOfSeveralPromptsInOnePass) {
    const auto model = test::loadTiny({.numLayers = 3});
    const auto session = model->newSession(1);
    const LayerScales scales = {1.3, 0.8, 2.0};
    ProbedPrompt one{someIds(60, 5), {{0, 10}, {10, 35}, {35, 60}}, nullptr}, two{someIds(41, 3), {{2, 9}}, nullptr};
    const auto reference = session->referenceRepresentation(one.prompt, {});
    ASSERT_TRUE(reference) << reference.error().text();
    EXPECT_EQ((*reference)->promptTokens(), 60);
    EXPECT_GT((*reference)->bytes(), 0);
    one.reference = *reference;
    const auto probes = session->probePrompts(std::vector{two, one}, scales);
    ASSERT_TRUE(probes) << probes.error().text();
    const ProbedPrompt* prompts[] = {&two, &one};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto attention = session->attentionOfLastToken(prompts[i]->prompt, prompts[i]->spans, scales);
        ASSERT_TRUE(attention);
        ASSERT_EQ((*probes)[i].attention.shareByLayer.size(), 3u);
        for (std::size_t layer = 0; layer < 3; ++layer) {
            EXPECT_NEAR((*probes)[i].attention.sinkByLayer[layer], attention->sinkByLayer[layer], 1e-6);
            for (std::size_t span = 0; span < prompts[i]->spans.size(); ++span) {
                EXPECT_NEAR((*probes)[i].attention.shareByLayer[layer][span], attention->shareByLayer[layer][span],
                            1e-6);
            }
        }
    }
    EXPECT_TRUE((*probes)[0].deviation.empty());
    const auto compared = session->compareRepresentations(one.prompt, {}, scales);
    ASSERT_TRUE(compared);
    ASSERT_EQ((*probes)[1].deviation.size(), 3u);
    for (std::size_t layer = 0; layer < 3; ++layer) {
        EXPECT_NEAR((*probes)[1].deviation[layer], compared->deviation[layer], 1e-6) << layer;
    }
    const auto same = session->probePrompts(std::vector{one}, {1.0, 1.0, 1.0});
    ASSERT_TRUE(same);
    for (const double deviation : same->front().deviation) EXPECT_EQ(deviation, 0.0);
    const auto attentionOnly = session->probePrompts(std::vector{two}, scales);
    ASSERT_TRUE(attentionOnly);
    EXPECT_EQ(attentionOnly->front().attention.shareByLayer,
              session->attentionOfLastToken(two.prompt, two.spans, scales)->shareByLayer);
}

TEST(PromptProbe, RefusesAForeignReferenceAndAnswersAStop) {
    const auto model = test::loadTiny({});
    const auto other = test::loadTiny({.seed = 2});
    const auto session = model->newSession(1);
    ProbedPrompt item{someIds(8, 1), {}, nullptr};
    const auto reference = session->referenceRepresentation(item.prompt, {});
    ASSERT_TRUE(reference);
    item.reference = *reference;
    const auto foreign = other->newSession(1)->probePrompts(std::vector{item}, {});
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().code, ErrorCode::Usage);
    ProbedPrompt longer = item;
    longer.prompt.push_back(9);
    EXPECT_FALSE(session->probePrompts(std::vector{longer}, {}));
    EXPECT_FALSE(session->probePrompts({}, {}));
    std::stop_source source;
    source.request_stop();
    const auto stopped = session->probePrompts(std::vector{item}, {}, source.get_token());
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(wasStopped(stopped.error()));
    EXPECT_FALSE(session->referenceRepresentation(std::vector<TokenId>{5, 6}, {})) << "nothing to compare";
}

}  // namespace
}  // namespace lpes::model
