// Passes that begin behind layers which another pass computed, against those that compute every layer themselves.
#include <stop_token>

#include "tests/core/model_torch/every_method.h"
#include "tests/core/model_torch/kept_layers.h"

namespace lpes::model {
namespace {

using test::KeptLayers;
using test::MethodBench;
using test::need;
using test::randomIds;

constexpr int kLayers = 5;

test::TinyModelSpec deepSpec(int kvHeads) {
    return {.numLayers = kLayers, .numKvHeads = kvHeads, .contextLength = 512};
}

/// Prompts of unequal length; the first three begin alike, two are the same but for their answers.
std::vector<ScoredPrompt> packed() {
    const auto trunk = randomIds(120, 1);
    std::vector<ScoredPrompt> batch;
    for (const int length : {90, 31, 31}) {
        ScoredPrompt& prompt = batch.emplace_back();
        prompt.prompt = trunk;
        const auto own = randomIds(length, static_cast<std::uint32_t>(length));
        prompt.prompt.insert(prompt.prompt.end(), own.begin(), own.end());
        prompt.answer = randomIds(4, static_cast<std::uint32_t>(20 + batch.size()));
    }
    batch.push_back(test::randomPrompt(17, 1, 5));
    batch.push_back(test::randomPrompt(200, 6, 6));
    return batch;
}

void expectSame(const std::vector<AnswerScore>& found, const std::vector<AnswerScore>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].logProbs, expected[i].logProbs) << "prompt " << i;
        EXPECT_EQ(found[i].meanNll, expected[i].meanNll) << "prompt " << i;
        EXPECT_EQ(found[i].allArgmax, expected[i].allArgmax) << "prompt " << i;
    }
}

bool differ(const std::vector<AnswerScore>& one, const std::vector<AnswerScore>& other) {
    return one.front().logProbs != other.front().logProbs;
}

/// One method, and for every number of leading layers another one that is the same in these alone.
struct Pair {
    const char* name;
    PositionMethod method;
    std::vector<PositionMethod> others;  ///< [layers − 1], the first has one layer in common
};

template <class Rows>
Rows changedFrom(const Rows& rows, const Rows& other, std::size_t layers) {
    Rows changed = rows;
    for (std::size_t layer = layers; layer < rows.size(); ++layer) changed[layer] = other[layer];
    return changed;
}

std::vector<Pair> pairs(int kvHeads) {
    std::vector<Pair> all(3);
    const LayerScales scales{1.0, 1.35, 0.8, 1.6, 1.1}, otherScales{2.0, 0.9, 1.45, 1.0, 2.2};
    all[0].name = "scales by layer";
    all[0].method = scales;
    std::vector<LayerScales> heads, otherHeads;
    std::vector<std::vector<double>> divisors, otherDivisors;
    for (int layer = 0; layer < kLayers; ++layer) {
        LayerScales& row = heads.emplace_back();
        for (int head = 0; head < kvHeads; ++head) row.push_back(1.0 + 0.25 * layer + 0.1 * head);
        otherHeads.push_back(row);
        otherHeads.back().back() += 0.5;
        divisors.emplace_back(8, 1.0 + 0.2 * layer);
        otherDivisors.push_back(divisors.back());
        otherDivisors.back().front() = 3.0;
    }
    all[1].name = "by key/value head";
    all[1].method.headScales = heads;
    all[2].name = "by frequency";
    all[2].method.divisors = divisors;
    for (std::size_t layers = 1; layers < static_cast<std::size_t>(kLayers); ++layers) {
        all[0].others.emplace_back(changedFrom(scales, otherScales, layers));
        all[1].others.emplace_back().headScales = changedFrom(heads, otherHeads, layers);
        all[2].others.emplace_back().divisors = changedFrom(divisors, otherDivisors, layers);
    }
    return all;
}

TEST(LeadingLayers, ThatAnotherPassComputedLeadToTheSameBits) {
    for (const int kvHeads : {4, 2, 1}) {
        for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
            const MethodBench bench(deepSpec(kvHeads), type);
            const auto session = bench.session(1), other = bench.session(1);
            const auto batch = packed();
            for (const Pair& pair : pairs(kvHeads)) {
                for (const bool share : {false, true}) {
                    SCOPED_TRACE(std::string(pair.name) + (share ? ", shared prefixes" : "") + ", " +
                                 std::to_string(kvHeads) + " heads, " + computeTypeName(type));
                    KeptLayers kept;
                    const auto whole = need(session->scoreAnswers(batch, pair.method, {}, {share}));
                    expectSame(need(session->scoreAnswers(batch, pair.method, {}, {share, &kept})), whole);
                    ASSERT_EQ(kept.states.size(), static_cast<std::size_t>(kLayers - 1));
                    for (int layers = 1; layers < kLayers; ++layers) {
                        const PositionMethod& changed = pair.others[static_cast<std::size_t>(layers - 1)];
                        const auto expected = need(session->scoreAnswers(batch, changed, {}, {share}));
                        EXPECT_TRUE(differ(expected, whole)) << layers << " layers: the test says nothing";
                        kept.from = layers;
                        expectSame(need(other->scoreAnswers(batch, changed, {}, {share, &kept})), expected);
                        expectSame(need(other->scoreAnswers(batch, pair.method, {}, {share, &kept})), whole);
                    }
                }
            }
        }
    }
}

TEST(LeadingLayers, AreKeptAgainBehindThoseThatWereTakenOver) {
    const MethodBench bench(deepSpec(2), ComputeType::BFloat16);
    const auto session = bench.session();
    const auto batch = packed();
    const Pair pair = pairs(2).front();
    KeptLayers first, second;
    need(session->scoreAnswers(batch, pair.method, {}, {false, &first}));
    second.states.emplace(2, first.states.at(2));
    second.from = 2;
    need(session->scoreAnswers(batch, pair.others[1], {}, {false, &second}));
    EXPECT_EQ(second.states.size(), 3u) << "behind 2, 3 and 4 layers";
    second.from = 4;
    PositionMethod last = pair.others[1];
    last.scales.back() = 0.7;
    expectSame(need(session->scoreAnswers(batch, last, {}, {false, &second})),
               need(session->scoreAnswers(batch, last)));
}

TEST(LeadingLayers, AreKeptWhereSomebodyWantsThemAndAreAsLargeAsTheyWereSaidToBe) {
    const MethodBench bench(deepSpec(2));
    const auto session = bench.session();
    const std::vector<ScoredPrompt> batch{test::randomPrompt(30, 1, 1), test::randomPrompt(20, 1, 2)};
    KeptLayers kept;
    kept.keeping = false;
    need(session->scoreAnswers(batch, {}, {}, {false, &kept}));
    EXPECT_EQ(kept.states.size(), 0u);
    EXPECT_EQ(kept.largest, 50 * 64 * 4) << "tokens · hidden size · float32";
    kept.keeping = true;
    need(session->scoreAnswers(batch, {}, {}, {false, &kept}));
    for (const auto& [layers, state] : kept.states) EXPECT_EQ(state->bytes(), kept.largest) << layers;
    EXPECT_EQ(kept.asked, 2);
}

TEST(LeadingLayers, AreLeftAloneByMethodsThatChooseByContentOrHaveSeveralPaths) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const std::vector<ScoredPrompt> batch{test::randomPrompt(40, 2, 1)};
    for (const PositionMethod& method : test::everyMethod(bench)) {
        KeptLayers kept;
        const auto expected = need(session->scoreAnswers(batch, method));
        expectSame(need(session->scoreAnswers(batch, method, {}, {false, &kept})), expected);
        const bool plain = !method.msPoe && !method.buckets && !method.moice;
        EXPECT_EQ(kept.asked, plain ? 1 : 0) << method.text;
        EXPECT_EQ(kept.states.size(), plain ? 2u : 0u) << method.text;
        if (!plain) continue;
        kept.from = 2;
        expectSame(need(session->scoreAnswers(batch, method, {}, {false, &kept})), expected);
    }
}

TEST(LeadingLayers, OfAnotherPassAreAnErrorAndNoAnswer) {
    const MethodBench bench(deepSpec(2));
    const auto session = bench.session();
    KeptLayers kept;
    need(session->scoreAnswers(std::vector{test::randomPrompt(30, 1, 1)}, {}, {}, {false, &kept}));
    kept.from = 1;
    const auto other = session->scoreAnswers(std::vector{test::randomPrompt(31, 1, 1)}, {}, {}, {false, &kept});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::Failed);
}

TEST(LeadingLayers, DoNotKeepAStopFromBeingHeard) {
    const MethodBench bench(deepSpec(2));
    const auto session = bench.session();
    const std::vector<ScoredPrompt> batch{test::randomPrompt(30, 1, 1)};
    KeptLayers kept;
    const auto expected = need(session->scoreAnswers(batch, {}, {}, {false, &kept}));
    kept.from = 4;
    std::stop_source source;
    source.request_stop();
    EXPECT_TRUE(wasStopped(session->scoreAnswers(batch, {}, source.get_token(), {false, &kept}).error()));
    expectSame(need(session->scoreAnswers(batch, {}, {}, {false, &kept})), expected);
}

}  // namespace
}  // namespace lpes::model
