#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::loadTiny;
using test::randomIds;

std::vector<float> advance(ModelSession& session, const std::vector<TokenId>& ids) {
    auto result = session.advance(ids);
    if (!result) throw std::runtime_error(result.error().text());
    return *result;
}

double largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, static_cast<double>(std::abs(a[i] - b[i])));
    return largest;
}

TokenId best(const std::vector<float>& logits) {
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST(Generation, TokenByTokenAgreesWithOnePrefill) {
    test::TinyModelSpec gqaWithBias;
    gqaWithBias.qkvBias = gqaWithBias.outputBias = gqaWithBias.mlpBias = true;
    test::TinyModelSpec mha;
    mha.numKvHeads = 4;
    mha.tiedHead = false;
    for (const auto& spec : {gqaWithBias, mha}) {
        const auto model = loadTiny(spec);
        const auto whole = model->newSession(1), pieces = model->newSession(1), chunks = model->newSession(1);
        const auto ids = randomIds(300, 1);  // beyond the first room of the cache
        const auto expected = advance(*whole, ids);
        std::vector<float> one, chunk;
        for (const TokenId id : ids) one = advance(*pieces, {id});
        for (std::size_t i = 0; i < ids.size(); i += 75)
            chunk = advance(*chunks, {ids.begin() + i, ids.begin() + i + 75});
        EXPECT_LT(largestDifference(expected, one), 1e-4);
        EXPECT_LT(largestDifference(expected, chunk), 1e-4);
        EXPECT_EQ(pieces->cachedTokens(), 300);
    }
}

TEST(FieldReports, T14_ChangingTheProfileDropsTheCache) {
    const auto model = loadTiny();
    const LayerScales before{1.0, 1.0}, after{1.6, 0.6};
    const auto session = model->newSession(1);
    ASSERT_TRUE(session->setMethod(before).has_value());
    std::vector<TokenId> sequence = randomIds(30, 5);
    auto logits = advance(*session, sequence);
    for (int i = 0; i < 20; ++i) {
        sequence.push_back(best(logits));
        logits = advance(*session, {sequence.back()});
    }
    EXPECT_EQ(session->cachedTokens(), 50);
    ASSERT_TRUE(session->setMethod(after).has_value());
    EXPECT_EQ(session->cachedTokens(), 0);
    sequence.push_back(best(logits));
    const auto continued = advance(*session, {sequence.back()});
    EXPECT_EQ(session->cachedTokens(), 51);

    const auto fresh = model->newSession(1);
    ASSERT_TRUE(fresh->setMethod(after).has_value());
    EXPECT_EQ(advance(*fresh, sequence), continued) << "the same prefill gives the same bits";

    const auto stale = model->newSession(1);
    ASSERT_TRUE(stale->setMethod(before).has_value());
    EXPECT_GT(largestDifference(advance(*stale, sequence), continued), 1e-2) << "the profile had no effect";
}

TEST(Generation, KeepsTheCacheWhenTheScalesSayTheSame) {
    const auto session = loadTiny()->newSession(1);
    advance(*session, randomIds(10, 1));
    ASSERT_TRUE(session->setMethod({}).has_value());
    ASSERT_TRUE(session->setMethod(LayerScales{1.0, 1.0}).has_value());
    EXPECT_EQ(session->cachedTokens(), 10);
    EXPECT_EQ(session->currentMethod().scales, (LayerScales{1.0, 1.0}));
    ASSERT_FALSE(session->setMethod(LayerScales{1.0}).has_value());
    EXPECT_EQ(session->cachedTokens(), 10);
    EXPECT_EQ(session->currentMethod().scales.size(), 2u) << "refused scales change nothing";
}

TEST(Generation, ForgetsTheSequenceWhenReset) {
    const auto session = loadTiny()->newSession(1);
    const auto ids = randomIds(12, 1);
    const auto first = advance(*session, ids);
    advance(*session, randomIds(3, 2));
    session->resetSequence();
    EXPECT_EQ(session->cachedTokens(), 0);
    EXPECT_EQ(advance(*session, ids), first);
}

TEST(Generation, RefusesToRunBeyondTheContext) {
    const auto session = loadTiny()->newSession(1);
    advance(*session, randomIds(500, 1));
    const auto result = session->advance(randomIds(13, 2));
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::BadInput);
    EXPECT_THAT(result.error().message, testing::HasSubstr("513"));
    EXPECT_EQ(session->cachedTokens(), 500) << "a refused call changes nothing";
    EXPECT_TRUE(session->advance(randomIds(12, 2)).has_value());
    EXPECT_FALSE(session->advance({}).has_value());
}

TEST(Generation, LeavesTheSequenceAloneWhenStopped) {
    const auto session = loadTiny()->newSession(1);
    const auto ids = randomIds(12, 1), more = randomIds(4, 2);
    advance(*session, ids);
    std::stop_source source;
    source.request_stop();
    const auto stopped = session->advance(more, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(wasStopped(stopped.error()));
    EXPECT_EQ(session->cachedTokens(), 12);
    const auto other = loadTiny()->newSession(1);
    advance(*other, ids);
    EXPECT_EQ(advance(*session, more), advance(*other, more));
}

TEST(Generation, DoesNotMixWithScoring) {
    const auto session = loadTiny()->newSession(1);
    const auto ids = randomIds(40, 1), more = randomIds(4, 2);
    advance(*session, ids);
    ASSERT_TRUE(session->scoreText(randomIds(100, 3), LayerScales{2.0, 0.5}, 1).has_value());
    const auto undisturbed = loadTiny()->newSession(1);
    advance(*undisturbed, ids);
    EXPECT_EQ(advance(*session, more), advance(*undisturbed, more));
}

}  // namespace
}  // namespace lpes::model
