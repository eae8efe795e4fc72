// Prompts of one batch that begin alike, computed once, against each computed for itself; and reading on from a common
// beginning.
#include <stop_token>

#include "tests/core/model_torch/every_method.h"

namespace lpes::model {
namespace {

using test::everyMethod;
using test::MethodBench;
using test::need;
using test::randomIds;

constexpr ScoreOptions kShare{true};

std::vector<TokenId> joined(std::initializer_list<std::vector<TokenId>> parts) {
    std::vector<TokenId> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

/// Boughs and twigs of unequal length on a trunk, a prompt that is the trunk alone, one prompt with several answers, a
/// prompt of its own and one with too little in common; `unit` tokens are what is worth sharing.
std::vector<ScoredPrompt> tree(int unit) {
    const auto trunk = randomIds(unit, 1), bough = randomIds(unit / 2, 2);
    const auto choices = joined({trunk, randomIds(unit / 3, 3)});
    return {{joined({trunk, bough, randomIds(unit / 4, 4)}), randomIds(3, 11)},
            {choices, {7}},
            {choices, {9}},
            {trunk, randomIds(2, 12)},
            {randomIds(unit, 5), randomIds(4, 13)},
            {choices, {7, 8, 9}},
            {joined({trunk, bough, randomIds(unit / 2, 6)}), {3}},
            {{trunk.begin(), trunk.begin() + 10}, randomIds(3, 14)},
            {joined({trunk, bough}), {250}},
            {choices, {7}}};
}

double apart(const std::vector<AnswerScore>& one, const std::vector<AnswerScore>& other) {
    double largest = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        for (std::size_t k = 0; k < one[i].logProbs.size(); ++k)
            test::widen(largest, std::abs(one[i].logProbs[k] - other[i].logProbs[k]));
    }
    return largest;
}

/// Each prompt in a pass of its own.
std::vector<AnswerScore> alone(ModelSession& session, std::span<const ScoredPrompt> batch,
                               const PositionMethod& method) {
    std::vector<AnswerScore> scores;
    for (std::size_t i = 0; i < batch.size(); ++i)
        scores.push_back(need(session.scoreAnswers(batch.subspan(i, 1), method)).front());
    return scores;
}

/// Gives some prompts the answer that the model would give.
void answerGreedily(ModelSession& session, std::vector<ScoredPrompt>& batch) {
    for (std::size_t i = 0; i < batch.size(); i += 2) {
        for (std::size_t k = 0; k < batch[i].answer.size(); ++k) {
            std::vector<TokenId> ids = batch[i].prompt;
            ids.insert(ids.end(), batch[i].answer.begin(), batch[i].answer.begin() + static_cast<std::ptrdiff_t>(k));
            batch[i].answer[k] = need(session.scoreText(ids, {}, 1)).argmax.back();
        }
    }
}

TEST(SharedScores, AreThoseOfPromptsForThemselvesUnderEveryMethod) {
    for (const auto& spec : {test::groupedSpec(), test::ungroupedSpec()}) {
        const MethodBench bench(spec);
        const auto session = bench.session(2);
        auto batch = tree(24);
        answerGreedily(*session, batch);
        if (spec.numKvHeads == spec.numHeads) {
            const auto expected = need(session->scoreAnswers(batch, {}));
            test::expectWithin(1e-5, apart(need(session->scoreAnswers(batch, {}, {}, kShare)), expected), "mha");
            continue;
        }
        for (const PositionMethod& method : everyMethod(bench)) {
            const auto expected = need(session->scoreAnswers(batch, method));
            const auto shared = need(session->scoreAnswers(batch, method, {}, kShare));
            // A branch of few rows goes through another kernel, whose softmax rounds otherwise.
            test::expectWithin(2e-5, apart(shared, expected), method.text);
            int strict = 0;
            for (std::size_t i = 0; i < batch.size(); ++i) {
                EXPECT_EQ(shared[i].allArgmax, expected[i].allArgmax) << method.text << " " << i;
                strict += shared[i].allArgmax ? 1 : 0;
            }
            if (method.text == "baseline") {
                EXPECT_GE(strict, 5);
            }
            if (!sharesPrefixes(method)) {
                EXPECT_EQ(apart(shared, expected), 0.0) << method.text;
            }
            EXPECT_EQ(sharesPrefixes(method), !method.msPoe.has_value());
        }
    }
}

TEST(SharedScores, OfLongAnswersToPromptsOfOneTokenLookAtMoreRowsThanThereAre) {
    const auto answer = randomIds(40, 15);
    const std::vector<ScoredPrompt> batch{{{5}, answer}, {{5}, answer}, {{5}, joined({answer, {9}})}};
    for (const auto& spec : {test::groupedSpec(), test::ungroupedSpec()}) {
        const MethodBench bench(spec);
        const auto session = bench.session(1);
        const auto expected = alone(*session, batch, {});
        test::expectWithin(1e-5, apart(need(session->scoreAnswers(batch, {}, {}, kShare)), expected), "shared");
    }
}

TEST(SharedScores, InBFloat16DifferByLessThanItsOwnRounding) {
    test::TinyModelSpec spec = test::groupedSpec();
    spec.contextLength = 512;
    const MethodBench bench(spec, ComputeType::BFloat16);
    const auto session = bench.session(2);
    const auto exact = test::load(std::make_shared<test::MemoryWeights>(bench.tiny))->newSession(2);
    for (const int unit : {24, 150}) {
        const auto batch = tree(unit);
        for (const PositionMethod& method : everyMethod(bench)) {
            const auto together = need(session->scoreAnswers(batch, method));
            const double rounding = apart(together, need(exact->scoreAnswers(batch, method)));
            const double found = apart(need(session->scoreAnswers(batch, method, {}, kShare)), together);
            EXPECT_LT(found, rounding) << method.text << " " << unit;
            test::expectWithin(test::kBFloat16Bound, found, method.text + "_" + std::to_string(unit));
        }
    }
}

TEST(SharedScores, DependOnHowLongASequenceIsWhereFrequenciesDo) {
    const MethodBench bench(test::groupedSpec());
    const PositionMethod method = bench.resolve("dynamic-ntk:2");
    const auto session = bench.session();
    // Beyond the model's context of 64 tokens each length has frequencies of its own.
    const auto ids = randomIds(100, 1);
    const auto prefix = [&](std::ptrdiff_t count) { return std::vector<TokenId>(ids.begin(), ids.begin() + count); };
    const std::vector<ScoredPrompt> batch{{prefix(100), {1}}, {prefix(90), {2, 3}}, {prefix(50), {4}},
                                          {prefix(60), {5}},  {prefix(100), {6}},   {prefix(90), {2, 7}}};
    const auto expected = alone(*session, batch, method);
    EXPECT_LT(apart(need(session->scoreAnswers(batch, method, {}, kShare)), expected), 1e-5);
}

TEST(SharedScores, AreTheSameBitsWhenRepeatedAndLeaveOthersAsTheyWere) {
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const MethodBench bench(test::groupedSpec(), type);
        const auto batch = tree(24);
        const auto session = bench.session(2), other = bench.session(2);
        const auto unshared = need(session->scoreAnswers(batch, {}));
        const auto first = need(session->scoreAnswers(batch, {}, {}, kShare));
        EXPECT_EQ(apart(need(session->scoreAnswers(batch, {})), unshared), 0.0);
        EXPECT_EQ(apart(need(session->scoreAnswers(batch, {}, {}, kShare)), first), 0.0);
        EXPECT_EQ(apart(need(other->scoreAnswers(batch, {}, {}, kShare)), first), 0.0);
        // A batch in which nothing is alike is the same batch where its order is.
        const std::vector<ScoredPrompt> single{batch[0]};
        EXPECT_EQ(apart(need(session->scoreAnswers(single, {}, {}, kShare)), need(session->scoreAnswers(single, {}))),
                  0.0);
    }
}

TEST(SharedScores, RefuseAndStopAsOthersDo) {
    const auto session = MethodBench(test::groupedSpec()).session();
    const std::vector<ScoredPrompt> tooLong{{randomIds(64, 1), {1}}}, empty{{{}, {1}}}, good{{randomIds(20, 1), {1}}};
    EXPECT_EQ(session->scoreAnswers(tooLong, {}, {}, kShare).error().code, ErrorCode::BadInput);
    EXPECT_EQ(session->scoreAnswers(empty, {}, {}, kShare).error().code, ErrorCode::Usage);
    EXPECT_EQ(session->scoreAnswers({}, {}, {}, kShare).error().code, ErrorCode::Usage);
    EXPECT_FALSE(session->scoreAnswers(good, LayerScales{1.0}, {}, kShare).has_value());
    std::stop_source source;
    source.request_stop();
    EXPECT_TRUE(wasStopped(session->scoreAnswers(good, {}, source.get_token(), kShare).error()));
    EXPECT_TRUE(session->scoreAnswers(good, {}, {}, kShare).has_value());
}

TEST(Rewinding, AndReadingOnIsAFreshSequenceUnderEveryMethod) {
    const MethodBench bench(test::groupedSpec());
    const auto ids = randomIds(40, 1), other = randomIds(12, 2);
    for (const PositionMethod& method : everyMethod(bench)) {
        const auto session = bench.session();
        ASSERT_TRUE(session->setMethod(method).has_value());
        need(session->advance(ids));
        for (const TokenId id : randomIds(5, 3)) need(session->advance(std::vector{id}));
        for (const int kept : {30, 17, 0}) {
            ASSERT_TRUE(session->rewind(kept).has_value());
            EXPECT_EQ(session->cachedTokens(), method.msPoe ? 0 : kept) << method.text;
            auto whole = std::vector<TokenId>(ids.begin(), ids.begin() + kept);
            whole.insert(whole.end(), other.begin(), other.end());
            const auto fresh = bench.session();
            ASSERT_TRUE(fresh->setMethod(method).has_value());
            double largest = 0.0;
            const auto compare = [&](const std::vector<float>& found, const std::vector<float>& expected) {
                for (std::size_t i = 0; i < found.size(); ++i) test::widen(largest, std::abs(found[i] - expected[i]));
            };
            compare(need(session->advance(other)), need(fresh->advance(whole)));
            for (const TokenId id : randomIds(3, 4))
                compare(need(session->advance(std::vector{id})), need(fresh->advance(std::vector{id})));
            test::expectWithin(1e-5, largest, method.text);
        }
    }
}

TEST(Rewinding, DropsKeysThatWereRotatedForALongerSequence) {
    const MethodBench bench(test::groupedSpec());
    const auto ids = randomIds(100, 1), other = randomIds(20, 2);
    const PositionMethod method = bench.resolve("dynamic-ntk:2");
    const auto session = bench.session(), fresh = bench.session();
    ASSERT_TRUE(session->setMethod(method).has_value() && fresh->setMethod(method).has_value());
    need(session->advance(ids));
    ASSERT_TRUE(session->rewind(80).has_value());
    EXPECT_EQ(session->cachedTokens(), 0);
    std::vector<TokenId> whole(ids.begin(), ids.begin() + 80);
    whole.insert(whole.end(), other.begin(), other.end());
    EXPECT_EQ(need(session->advance(other)), need(fresh->advance(whole)));
}

TEST(Rewinding, RefusesWhatIsNotThere) {
    const auto session = MethodBench(test::groupedSpec()).session();
    EXPECT_TRUE(session->rewind(0).has_value());
    need(session->advance(randomIds(20, 1)));
    for (const int tokens : {-1, 21}) {
        const auto result = session->rewind(tokens);
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().code, ErrorCode::Usage);
        EXPECT_NE(result.error().message.find(std::to_string(tokens)), std::string::npos);
        EXPECT_EQ(session->cachedTokens(), 20);
    }
    EXPECT_TRUE(session->rewind(20).has_value());
    EXPECT_EQ(session->cachedTokens(), 20);
}

}  // namespace
}  // namespace lpes::model
