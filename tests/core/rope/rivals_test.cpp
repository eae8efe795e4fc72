#include "core/rope/rivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/files.h"

namespace lpes::rope {
namespace {

using nlohmann::json;
using testing::DoubleNear;
using testing::ElementsAre;
using Variant = MethodPart::Variant;

/// tests/golden/make_rivals_golden.py, an implementation of its own, made these.
const json& golden() {
    static const json read = [] {
        const auto text = readTextFile(LPES_TEST_DATA "/golden/rivals.json");
        EXPECT_TRUE(text.has_value());
        return json::parse(*text);
    }();
    return read;
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(NtkBase, HasTheValuesOfItsFormula) {
    EXPECT_NEAR(ntkBase(10000.0, 2.0, 128), 20221.2617, 5e-5);  // methods.md §1.2
    EXPECT_NEAR(ntkBase(10000.0, 4.0, 128), 40889.9424, 5e-5);
    EXPECT_EQ(ntkBase(10000.0, 1.0, 128), 10000.0);
    for (const json& one : golden()["ntk"]) {
        const double expected = one["result"];
        EXPECT_NEAR(ntkBase(one["base"], one["factor"], one["dim"]), expected, 1e-12 * expected);
    }
}

TEST(MsPoeRatios, FollowTheGridsOfPaperAndCode) {
    const auto paper = msPoeRatios(32, 1.2, 1.8, Variant::Paper);
    EXPECT_EQ(paper.front(), 1.2);
    EXPECT_EQ(paper.back(), 1.8);
    EXPECT_NEAR(mean(paper), 1.5, 1e-12);
    const auto code = msPoeRatios(32, 1.2, 1.8, Variant::Code);
    EXPECT_EQ(code.front(), 1.2);
    EXPECT_NEAR(code.back(), 1.78125, 1e-12);
    EXPECT_NEAR(mean(code), 1.490625, 1e-12);
}

TEST(MsPoeRatios, OfEqualEndsAreAllTheSame) {
    for (const Variant variant : {Variant::Paper, Variant::Code}) {
        EXPECT_THAT(msPoeRatios(3, 1.5, 1.5, variant), ElementsAre(1.5, 1.5, 1.5));
        EXPECT_THAT(msPoeRatios(1, 1.2, 1.8, variant), ElementsAre(1.2));
    }
}

TEST(MsPoeScore, IsTheShareFarAboveTheMean) {
    const std::vector<float> row{0.75F, 0.0625F, 0.0625F, 0.0625F, 0.0625F, 0.0F, 0.0F, 0.0F};
    EXPECT_EQ(msPoeScore(row, 3.0, Variant::Paper), 0.125);
    // The mean is 1/8, so that 6 times the mean is met exactly: the code's comparison is strict.
    EXPECT_EQ(msPoeScore(row, 6.0, Variant::Paper), 0.125);
    EXPECT_EQ(msPoeScore(row, 6.0, Variant::Code), 0.0);
    EXPECT_EQ(msPoeScore({}, 3.0, Variant::Paper), 0.0);
}

TEST(MsPoeHeadRatios, AreRankedByThePaperAndGatheredByTheCode) {
    const std::vector<double> scores{0.1, 0.4, 0.2, 0.3}, ratios{1.2, 1.4, 1.6, 1.8};
    EXPECT_THAT(msPoeHeadRatios(scores, ratios, Variant::Paper), ElementsAre(1.8, 1.2, 1.6, 1.4));
    EXPECT_THAT(msPoeHeadRatios(scores, ratios, Variant::Code), ElementsAre(1.4, 1.8, 1.6, 1.2));
}

TEST(MsPoeHeadRatios, KeepTheHeadsOrderWhereScoresAreEqual) {
    const std::vector<double> scores(3, 0.5), ratios{1.2, 1.5, 1.8};
    for (const Variant variant : {Variant::Paper, Variant::Code}) {
        EXPECT_EQ(msPoeHeadRatios(scores, ratios, variant), ratios);
    }
    for (const json& one : golden()["orders"]) {
        const auto of = [&](const char* key) { return one[key].get<std::vector<double>>(); };
        EXPECT_EQ(msPoeHeadRatios(of("scores"), of("ratios"), Variant::Paper), of("paper"));
        EXPECT_EQ(msPoeHeadRatios(of("scores"), of("ratios"), Variant::Code), of("code"));
    }
}

TEST(MsPoeKeyRatios, AreThoseOfTheFirstQueryHeadOfEachGroup) {
    const std::vector<double> heads{1.1, 1.2, 1.3, 1.4, 1.5, 1.6};
    EXPECT_THAT(msPoeKeyRatios(heads, 2), ElementsAre(1.1, 1.4));
    EXPECT_THAT(msPoeKeyRatios(heads, 3), ElementsAre(1.1, 1.3, 1.5));
    EXPECT_EQ(msPoeKeyRatios(heads, 6), heads);
}

TEST(PublishedBases, GrowWithTheModelsOwn) {
    EXPECT_THAT(attentionBucketBases(10000.0), ElementsAre(10000, 13000, 16000, 19000, 22000, 25000, 28000));
    EXPECT_THAT(moiceBases(10000.0), ElementsAre(10000, 17500, 18000, 19000, 20000, 22500, 25000));
    EXPECT_THAT(attentionBucketBases(1e6), ElementsAre(1e6, 1.3e6, 1.6e6, 1.9e6, 2.2e6, 2.5e6, 2.8e6));
    EXPECT_EQ(moiceBases(5e5).front(), 5e5) << "the router sees queries rotated by the model's own base";
}

TEST(BucketWeights, AreTheSoftmaxOfTheLargestLogits) {
    // methods.md §1.4: z₁ = [10, 9, 0], z₂ = [12, 1, 11.5].
    const auto weights = bucketWeights(std::vector<double>{10.0, 12.0});
    EXPECT_THAT(weights, ElementsAre(DoubleNear(0.119203, 5e-7), DoubleNear(0.880797, 5e-7)));
    const double z1[] = {10.0, 9.0, 0.0}, z2[] = {12.0, 1.0, 11.5}, z[] = {11.761594, 1.953624, 10.129166};
    for (int v = 0; v < 3; ++v) EXPECT_NEAR(weights[0] * z1[v] + weights[1] * z2[v], z[v], 1e-6);
    EXPECT_THAT(bucketWeights(std::vector<double>{-3.0}), ElementsAre(1.0));
    EXPECT_THAT(bucketWeights(std::vector<double>(4, 7.0)), ElementsAre(0.25, 0.25, 0.25, 0.25));
    EXPECT_THAT(bucketWeights(std::vector<double>{5000.0, 5000.0}), ElementsAre(0.5, 0.5)) << "no overflow";
}

TEST(BucketWaveform, HasTheGoldenValues) {
    for (const json& one : golden()["waves"]) {
        const int first = one["first"];
        const auto wave = bucketWaveform(one["base"], one["dim"], first, first + 4);
        ASSERT_EQ(wave.size(), 5u);
        for (std::size_t i = 0; i < wave.size(); ++i) EXPECT_NEAR(wave[i], one["values"][i].get<double>(), 1e-9);
    }
    // At distance 0 every cosine is 1: (2/√d)·d/2 = √d.
    EXPECT_DOUBLE_EQ(bucketWaveform(10000.0, 64, 0, 0).front(), 8.0);
    EXPECT_TRUE(bucketWaveform(10000.0, 64, 5, 4).empty());
}

TEST(BucketSearch, ChoosesTheGoldenBasesInTheirOrder) {
    for (const json& one : golden()["searches"]) {
        const BucketSearch search{one["dim"],  one["first"], one["last"],  one["low"],      one["high"],
                                  one["step"], one["count"], one["start"], one["tolerance"]};
        EXPECT_EQ(searchBucketBases(search), one["bases"].get<std::vector<double>>()) << one.dump();
    }
}

TEST(BucketSearch, EndsWhereTheCandidatesRunOut) {
    BucketSearch search;
    search.headDim = 16;
    search.first = 0;
    search.last = 100;
    search.minBase = search.maxBase = 10000.0;
    EXPECT_THAT(searchBucketBases(search), ElementsAre(10000.0));
    search.maxBase = 10500.0;
    EXPECT_THAT(searchBucketBases(search), ElementsAre(10000.0, 10500.0));
    search.start = {7000.0, 8000.0};
    search.count = 2;
    EXPECT_EQ(searchBucketBases(search), search.start);
}

}  // namespace
}  // namespace lpes::rope
