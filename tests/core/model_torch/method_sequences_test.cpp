// Generation and scoring under every method: switching, resetting, stopping, contexts, threads.
#include <atomic>
#include <stop_token>
#include <thread>

#include "tests/core/model_torch/every_method.h"

namespace lpes::model {
namespace {

using test::everyMethod;
using test::MethodBench;
using test::need;
using test::randomIds;

std::vector<TokenId> slice(const std::vector<TokenId>& ids, std::size_t begin, std::size_t count) {
    return {ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.begin() + static_cast<std::ptrdiff_t>(begin + count)};
}

double apart(const std::vector<float>& one, const std::vector<float>& other) {
    double largest = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i) test::widen(largest, std::abs(one[i] - other[i]));
    return largest;
}

TEST(MethodSequences, TokenByTokenIsPrefillWhereRatiosDoNotComeFromThePrompt) {
    const MethodBench bench(test::groupedSpec());
    const auto ids = randomIds(64, 1);
    for (const PositionMethod& method : everyMethod(bench)) {
        if (method.msPoe) continue;
        const auto whole = bench.session(), pieces = bench.session();
        ASSERT_TRUE(whole->setMethod(method).has_value() && pieces->setMethod(method).has_value());
        std::vector<float> last;
        for (const TokenId id : ids) last = need(pieces->advance(std::vector{id}));
        test::expectWithin(1e-4, apart(need(whole->advance(ids)), last), "pieces_" + method.text);
        EXPECT_EQ(pieces->cachedTokens(), 64);
    }
}

TEST(MethodSequences, SwitchingTheMethodReadsTheSequenceAgain) {
    const MethodBench bench(test::groupedSpec());
    const auto ids = randomIds(40, 2);
    const auto methods = everyMethod(bench);
    std::vector<std::vector<std::vector<float>>> fresh;  // [method]: logits after the switch and three tokens later
    for (const PositionMethod& method : methods) {
        const auto session = bench.session();
        ASSERT_TRUE(session->setMethod(method).has_value());
        auto& after = fresh.emplace_back();
        if (method.msPoe) {  // the prompt's ratios, whenever the method came
            need(session->advance(slice(ids, 0, 20)));
            after.push_back(need(session->advance(slice(ids, 20, 6))));
        } else {
            after.push_back(need(session->advance(slice(ids, 0, 26))));
        }
        for (std::size_t i = 26; i < 29; ++i) after.push_back(need(session->advance(slice(ids, i, 1))));
    }
    for (std::size_t from = 0; from < methods.size(); ++from) {
        for (std::size_t to = 0; to < methods.size(); ++to) {
            if (from == to) continue;
            const auto session = bench.session();
            ASSERT_TRUE(session->setMethod(methods[from]).has_value());
            need(session->advance(slice(ids, 0, 20)));
            for (std::size_t i = 20; i < 25; ++i) need(session->advance(slice(ids, i, 1)));
            EXPECT_EQ(session->cachedTokens(), 25);
            ASSERT_TRUE(session->setMethod(methods[to]).has_value());
            EXPECT_EQ(session->cachedTokens(), 0);
            EXPECT_EQ(session->currentMethod().text, methods[to].text);
            for (std::size_t i = 25; i < 29; ++i) {
                const auto found = need(session->advance(slice(ids, i, 1)));
                const std::string what = methods[from].text + " to " + methods[to].text;
                if (methods[to].msPoe) {
                    EXPECT_LT(apart(found, fresh[to][i - 25]), 1e-4) << what;
                } else {
                    EXPECT_EQ(found, fresh[to][i - 25]) << what;
                }
            }
        }
    }
}

TEST(MethodSequences, ResettingForgetsThePromptAndItsRatios) {
    const MethodBench bench(test::groupedSpec());
    const auto first = randomIds(33, 3), second = randomIds(21, 4), more = randomIds(1, 5);
    for (const PositionMethod& method : everyMethod(bench)) {
        const auto session = bench.session(), fresh = bench.session();
        ASSERT_TRUE(session->setMethod(method).has_value() && fresh->setMethod(method).has_value());
        need(session->advance(first));
        need(session->advance(more));
        session->resetSequence();
        EXPECT_EQ(session->cachedTokens(), 0);
        EXPECT_EQ(need(session->advance(second)), need(fresh->advance(second))) << method.text;
        EXPECT_EQ(need(session->advance(more)), need(fresh->advance(more))) << method.text;
    }
}

TEST(MethodSequences, AStopAtAnyMomentLeavesTheSequenceAsItWas) {
    const MethodBench bench(test::groupedSpec());
    const auto prompt = randomIds(50, 6), more = randomIds(8, 7);
    for (const PositionMethod& method : everyMethod(bench)) {
        const auto undisturbed = bench.session();
        ASSERT_TRUE(undisturbed->setMethod(method).has_value());
        const auto afterPrompt = need(undisturbed->advance(prompt)), afterMore = need(undisturbed->advance(more));
        for (int moment = 0; moment < 8; ++moment) {
            const auto session = bench.session();
            ASSERT_TRUE(session->setMethod(method).has_value());
            const auto interrupted = [&](const std::vector<TokenId>& ids) {
                std::stop_source source;
                if (moment == 0) source.request_stop();
                const int before = session->cachedTokens();
                std::jthread stopper([&] {
                    std::atomic<int> spun = 0;
                    while (spun < moment * 20000) ++spun;
                    source.request_stop();
                });
                auto result = session->advance(ids, source.get_token());
                if (result) return *result;
                EXPECT_TRUE(wasStopped(result.error()));
                EXPECT_EQ(session->cachedTokens(), before) << method.text;
                return need(session->advance(ids));
            };
            EXPECT_EQ(interrupted(prompt), afterPrompt) << method.text << moment;
            EXPECT_EQ(interrupted(more), afterMore) << method.text << moment;
        }
    }
}

TEST(MethodSequences, MayBeAsMuchLongerAsTheMethodsFactorAndNoLonger) {
    const MethodBench bench(test::groupedSpec());
    for (const PositionMethod& method : everyMethod(bench)) {
        const int longest = method.text.starts_with("pi")                  ? 96
                            : method.text.find("ntk") != std::string::npos ? 128
                            : method.text.starts_with("yarn")              ? 128
                                                                           : 64;
        const auto session = bench.session();
        ASSERT_TRUE(session->setMethod(method).has_value());
        EXPECT_EQ(rope::contextLength(method, methodModel(bench.model->config())), longest) << method.text;
        EXPECT_TRUE(session->scoreText(randomIds(longest, 8), method, 1).has_value()) << method.text;
        EXPECT_TRUE(session->scoreAnswers(std::vector{test::randomPrompt(longest - 4, 4, 8)}, method).has_value());
        EXPECT_TRUE(session->advance(randomIds(longest, 8)).has_value()) << method.text;
        const auto refused = [&](const auto& result) {
            ASSERT_FALSE(result.has_value()) << method.text;
            EXPECT_EQ(result.error().code, ErrorCode::BadInput) << result.error().text();
        };
        refused(session->scoreText(randomIds(longest + 1, 8), method, 1));
        refused(session->scoreAnswers(std::vector{test::randomPrompt(longest - 3, 4, 8)}, method));
        refused(session->advance(randomIds(1, 8)));
        EXPECT_EQ(session->cachedTokens(), longest);
    }
}

TEST(MethodSequences, GiveTheSameOnOneThreadAndOnTwo) {
    // Within rounding: the matrix products' order of summation depends on the threads, under the baseline as under any
    // method. Batch and generation of one method for each way to make a layer's attention.
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const MethodBench bench(test::groupedSpec(), type);
        const double bound = type == ComputeType::Float32 ? 1e-4 : 0.1;
        const auto ids = randomIds(31, 9);
        const auto batch = test::unequalPrompts(64);
        for (const PositionMethod& method : everyMethod(bench)) {
            const bool taken = method.text == "baseline" || method.text == "lpes:heads" || method.moice ||
                               method.text.starts_with("ms-poe:min") || method.text.ends_with("120000");
            if (!taken) continue;
            const auto one = bench.session(1), two = bench.session(2);
            const auto expected = need(one->scoreAnswers(batch, method)),
                       found = need(two->scoreAnswers(batch, method));
            double ofScores = 0.0, ofLogits = 0.0;
            for (std::size_t item = 0; item < batch.size(); ++item) {
                for (std::size_t i = 0; i < batch[item].answer.size(); ++i) {
                    test::widen(ofScores, std::abs(found[item].logProbs[i] - expected[item].logProbs[i]));
                }
            }
            const auto expectedLogits = test::decoded(*one, ids, 30, method),
                       logits = test::decoded(*two, ids, 30, method);
            for (std::size_t i = 0; i < logits.size(); ++i) {
                test::widen(ofLogits, apart(logits[i], expectedLogits[i]));
            }
            test::expectWithin(bound, ofScores, computeTypeName(type) + "_scores_" + method.text);
            test::expectWithin(bound, ofLogits, computeTypeName(type) + "_logits_" + method.text);
        }
    }
}

TEST(MethodSequences, OneSessionTakesMethodsInAnyOrder) {
    const MethodBench bench(test::groupedSpec());
    const auto methods = everyMethod(bench);
    const auto session = bench.session();
    const auto ids = randomIds(64, 10), generated = randomIds(20, 11);
    const auto undisturbed = bench.session();
    need(session->advance(generated));
    need(undisturbed->advance(generated));
    std::vector<std::vector<double>> alone;
    for (const PositionMethod& method : methods) {
        alone.push_back(need(bench.session()->scoreText(ids, method, 1)).logProbs);
    }
    for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < methods.size(); ++i) {
            const std::size_t which = (i * 4 + static_cast<std::size_t>(round)) % methods.size();
            EXPECT_EQ(need(session->scoreText(ids, methods[which], 1)).logProbs, alone[which]) << methods[which].text;
        }
    }
    EXPECT_EQ(need(session->advance(std::vector<TokenId>{5})), need(undisturbed->advance(std::vector<TokenId>{5})))
        << "scoring disturbed what is generated";
}

}  // namespace
}  // namespace lpes::model
