#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/rope/rivals.h"
#include "tests/core/rope/method_fixtures.h"

namespace lpes::rope {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Type = RopeConfig::Type;

std::vector<double> frequencies(const std::string& text, const MethodModel& model = plainModel(), int length = 1,
                                bool sliding = false, int path = 0) {
    return methodFrequencies(methodOf(text, model), model, 0, sliding, length, path);
}

/// What `name` of tests/golden/make_rope_golden.py has for a length: transformers' own frequencies, in float32.
void expectGolden(const std::vector<double>& ours, const json& expected) {
    ASSERT_EQ(ours.size(), expected.size());
    for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], expected[i].get<double>(), 3e-6 * ours[i]) << i;
}

json ropeGolden(const char* name) {
    const auto text = readTextFile(LPES_TEST_DATA "/golden/rope_frequencies.json");
    EXPECT_TRUE(text.has_value());
    return json::parse(*text).at("cases").at(name);
}

TEST(PositionMethod, WithoutAnyIsTheModelAsItIs) {
    for (const PositionMethod& method : {PositionMethod{}, methodOf("baseline")}) {
        EXPECT_TRUE(method.onePerLayer());
        EXPECT_TRUE(method.scales.empty());
        EXPECT_EQ(method.text, "baseline");
        EXPECT_EQ(method.contextFactor, 1.0);
        EXPECT_TRUE(checkMethod(method, plainModel()).has_value());
        EXPECT_EQ(methodFrequencies(method, plainModel(), 3, false, 5000), inverseFrequencies(plainModel().rope, 1));
    }
}

TEST(PositionMethod, OfFactorOneHasTheBaselinesBits) {
    const auto baseline = inverseFrequencies(plainModel().rope, 1);
    for (const char* text : {"ntk:1", "yarn:1", "dynamic-ntk:1", "pi:1", "uniform:1"}) {
        EXPECT_EQ(frequencies(text, plainModel(), 4096), baseline) << text;
        EXPECT_EQ(methodOf(text).contextFactor, 1.0) << text;
        for (const double scale : methodOf(text).scales) EXPECT_EQ(scale, 1.0);
    }
    EXPECT_EQ(methodRope(methodOf("yarn:1"), plainModel(), false).attentionFactor, 1.0);
}

TEST(PositionMethod, OfScalesMultipliesThem) {
    EXPECT_THAT(methodOf("pi:1.5").scales, ElementsAre(1.5, 1.5, 1.5, 1.5));
    EXPECT_THAT(methodOf("lpes:ramp").scales, ElementsAre(1.0, 1.25, 1.5, 2.0));
    EXPECT_THAT(methodOf("pi:2+uniform:0.5+lpes:ramp").scales, ElementsAre(1.0, 1.25, 1.5, 2.0));
    EXPECT_THAT(methodOf("lpes:ramp+pi:3").scales, ElementsAre(3.0, 3.75, 4.5, 6.0));
    EXPECT_EQ(methodOf("lpes:ramp+pi:3").contextFactor, 3.0);
    EXPECT_EQ(methodOf("pi:0.5").contextFactor, 1.0);
    EXPECT_EQ(methodOf("uniform:3").contextFactor, 1.0) << "LPES is no extension of the context";
    const auto tooMuch = resolved("pi:50+uniform:50");
    ASSERT_FALSE(tooMuch.has_value());
    EXPECT_EQ(tooMuch.error().code, ErrorCode::BadInput);
    EXPECT_THAT(tooMuch.error().text(), AllOf(HasSubstr("2500"), HasSubstr("pi:50+uniform:50")));
}

TEST(PositionMethod, OfScalesWorksOnEveryModel) {
    for (const Type type : {Type::Default, Type::Linear, Type::Dynamic, Type::Yarn, Type::LongRope, Type::Llama3,
                            Type::FrequencyFactors}) {
        const MethodModel model = modelOfType(type);
        for (const char* text : {"pi:2", "uniform:2", "lpes:ramp", "pi:2+lpes:ramp", "lpes:bands", "ms-poe"}) {
            ASSERT_TRUE(resolved(text, model).has_value()) << text << " on " << ropeTypeName(type);
        }
        EXPECT_EQ(frequencies("pi:2", model, 3000), inverseFrequencies(model.rope, 3000)) << ropeTypeName(type);
    }
}

TEST(PositionMethod, OfAProfileByBandsDividesFrequenciesAndHeads) {
    const PositionMethod method = methodOf("lpes:bands+pi:2");
    EXPECT_FALSE(method.onePerLayer());
    EXPECT_THAT(method.headScales, Each(ElementsAre(1.0, 2.0)));
    EXPECT_THAT(method.scales, Each(2.0));
    EXPECT_EQ(methodFrequencies(method, plainModel(), 1, false, 1)[0], 0.25);
    // Band factors and LongRoPE's multiply.
    EXPECT_EQ(methodFrequencies(methodOf("longrope:row+lpes:bands"), plainModel(), 1, false, 1)[0], 0.25);
    EXPECT_EQ(methodOf("longrope:row+lpes:bands").divisors[2][1], 8.0);
}

TEST(Ntk, KeepsTheFastestFrequencyAndDividesTheSlowest) {
    const auto plain = inverseFrequencies(plainModel().rope, 1);
    const auto scaled = frequencies("ntk:4");
    EXPECT_EQ(scaled.front(), 1.0);
    EXPECT_NEAR(scaled.back(), plain.back() / 4.0, 1e-15);
    const PositionMethod method = methodOf("ntk:4");
    EXPECT_NEAR(method.rope->theta, 40889.9424, 5e-5);
    EXPECT_THAT(method.rope->thetaOrigin, HasSubstr("10000"));
    EXPECT_EQ(method.contextFactor, 4.0);
}

TEST(Ntk, ReplacesTheBaseOfLinearLlama3AndSlidingEmbeddings) {
    for (const Type type : {Type::Linear, Type::Llama3}) {
        const MethodModel model = modelOfType(type);
        RopeConfig expected = model.rope;
        expected.theta = ntkBase(10000.0, 2.0, 128);
        EXPECT_EQ(frequencies("ntk:2", model), inverseFrequencies(expected, 1)) << ropeTypeName(type);
    }
    const PositionMethod method = methodOf("ntk:2", slidingModel());
    EXPECT_EQ(methodRope(method, slidingModel(), false).theta, ntkBase(1e6, 2.0, 128));
    EXPECT_EQ(methodRope(method, slidingModel(), true).theta, ntkBase(10000.0, 2.0, 128));
    MethodModel partial = plainModel();
    partial.rope.rotaryDim = 96;
    EXPECT_EQ(methodOf("ntk:2", partial).rope->theta, ntkBase(10000.0, 2.0, 96));
}

TEST(DynamicNtk, HasTransformersFrequenciesAtEveryLength) {
    const json golden = ropeGolden("dynamic");
    for (const auto& [length, expected] : golden["inv_freq"].items()) {
        expectGolden(frequencies("dynamic-ntk:2", plainModel(), std::stoi(length)), expected);
    }
    EXPECT_EQ(frequencies("dynamic-ntk:2", plainModel(), 4096), inverseFrequencies(plainModel().rope, 1));
    EXPECT_TRUE(dependsOnLength(methodRope(methodOf("dynamic-ntk:2"), plainModel(), false)));
    EXPECT_EQ(methodOf("dynamic-ntk:2").contextFactor, 2.0);
}

TEST(Yarn, HasTransformersFrequenciesAndItsAttentionFactor) {
    const json golden = ropeGolden("yarn_llama2");
    expectGolden(frequencies("yarn:4"), golden["inv_freq"]["1"]);
    const RopeConfig rope = methodRope(methodOf("yarn:4"), plainModel(), false);
    EXPECT_NEAR(rope.attentionFactor, 1.138629, 5e-7);
    EXPECT_NEAR(rope.attentionFactor, golden["attention_factor"].get<double>(), 1e-12);
    EXPECT_EQ(methodOf("yarn:4").contextFactor, 4.0);
    MethodModel qwen = plainModel();
    qwen.rope.theta = 1e6;
    qwen.contextLength = 32768;
    expectGolden(frequencies("yarn:4", qwen), ropeGolden("yarn_qwen")["inv_freq"]["1"]);
}

TEST(Yarn, RampsBetweenTheDimensionsOfItsCheckValues) {
    const auto plain = inverseFrequencies(plainModel().rope, 1), scaled = frequencies("yarn:4");
    EXPECT_DOUBLE_EQ(scaled[20], plain[20]);  // methods.md §1.3: low = 20, high = 46
    EXPECT_LT(scaled[21], plain[21]);
    EXPECT_GT(scaled[45], plain[45] / 4.0);
    EXPECT_DOUBLE_EQ(scaled[46], plain[46] / 4.0);
}

TEST(Yarn, JoinedWithScalesKeepsBoth) {
    const PositionMethod method = methodOf("yarn:4+lpes:ramp+pi:2");
    EXPECT_THAT(method.scales, ElementsAre(2.0, 2.5, 3.0, 4.0));
    EXPECT_EQ(method.rope->type, Type::Yarn);
    EXPECT_EQ(method.contextFactor, 8.0);
    EXPECT_EQ(method.text, "yarn:4+lpes:ramp+pi:2");
    EXPECT_TRUE(method.onePerLayer());
}

TEST(LongRope, DividesEachFrequencyInEveryLayer) {
    const auto plain = inverseFrequencies(plainModel().rope, 1);
    for (const char* text : {"longrope:row", "longrope:table"}) {
        const PositionMethod method = methodOf(text);
        ASSERT_EQ(method.divisors.size(), 4u);
        for (int layer = 0; layer < 4; ++layer) {
            const auto divided = methodFrequencies(method, plainModel(), layer, false, 1);
            for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(divided[i], plain[i] / (1.0 + static_cast<double>(i)));
        }
        EXPECT_EQ(method.contextFactor, 1.0);
    }
}

TEST(MsPoe, TakesTheGridAndLayersOfItsVariant) {
    const MsPoe paper = *methodOf("ms-poe").msPoe;
    EXPECT_EQ(paper.ratios, msPoeRatios(8, 1.2, 1.8, MethodPart::Variant::Paper));
    EXPECT_TRUE(paper.applies(0) && paper.applies(3));
    const MsPoe code = *methodOf("ms-poe:min=1,max=2,variant=code,gqa=mean").msPoe;
    EXPECT_EQ(code.ratios, msPoeRatios(plainModel().numKvHeads, 1.0, 2.0, MethodPart::Variant::Code))
        << "one per group";
    EXPECT_EQ(code.groupRatio, MethodPart::GroupRatio::Mean);
    EXPECT_FALSE(code.applies(1));
    EXPECT_TRUE(code.applies(2) && code.applies(3));
    const MsPoe chosen = *methodOf("ms-poe:variant=code,layers=1-2").msPoe;
    EXPECT_EQ(chosen.firstLayer, 1);
    EXPECT_EQ(chosen.lastLayer, 2);
    EXPECT_FALSE(methodOf("ms-poe").onePerLayer());
}

TEST(AttentionBuckets, RunEachPathWithItsOwnBase) {
    const PositionMethod method = methodOf("attention-buckets:bases=10000/25000,combine=probs");
    EXPECT_EQ(methodFrequencies(method, plainModel(), 0, false, 1, 0), inverseFrequencies(plainModel().rope, 1));
    RopeConfig second = plainModel().rope;
    second.theta = 25000.0;
    EXPECT_EQ(methodFrequencies(method, plainModel(), 2, false, 1, 1), inverseFrequencies(second, 1));
    EXPECT_EQ(method.buckets->combine, MethodPart::Combine::Probabilities);
    MethodModel qwen = plainModel();
    qwen.rope.theta = 1e6;
    EXPECT_EQ(methodOf("attention-buckets", qwen).buckets->bases, attentionBucketBases(1e6));
    // The search keeps its proportions: a hundredfold base finds hundredfold bases.
    const PositionMethod found = methodOf("attention-buckets:bases=search/3", qwen);
    const std::vector<double>& searched = found.buckets->bases;
    ASSERT_EQ(searched.size(), 3u);
    ASSERT_TRUE(found.bucketSearch);
    EXPECT_DOUBLE_EQ(found.bucketSearch->minBase, 1e6);
    EXPECT_DOUBLE_EQ(found.bucketSearch->maxBase, 3e6);
    EXPECT_EQ(found.bucketSearch->candidates(), 41);
    EXPECT_EQ(found.bucketSearch->count, 3);
    EXPECT_EQ(searchBucketBases(*found.bucketSearch), searched);
    EXPECT_FALSE(methodOf("attention-buckets", qwen).bucketSearch) << "published ones";
    PositionMethod given = found;
    given.bucketSearch.reset();
    EXPECT_TRUE(samePositions(found, given)) << "where bases come from rotates nothing";
    for (const double base : searched) {
        EXPECT_GE(base, 1e6);
        EXPECT_LE(base, 3e6);
    }
    EXPECT_EQ(methodCost(methodOf("attention-buckets:bases=search/3")).passes, 3);
}

TEST(Moice, ReadsRoutersAndTakesTopKFromTheSpelling) {
    const PositionMethod method = methodOf("moice:router");
    EXPECT_EQ(method.moice->topK, 3);
    EXPECT_EQ(methodRope(method, plainModel(), false, 1).theta, 18000.0);
    EXPECT_EQ(methodOf("moice:router,top_k=2").moice->topK, 2);
    EXPECT_EQ(methodOf("moice:router,top_k=2").moice->layers.size(), 4u);
}

TEST(MethodCost, CountsPassesAttentionsAndCaches) {
    const auto cost = [](const char* text) { return methodCost(methodOf(text)); };
    for (const char* text : {"baseline", "pi:2", "yarn:4+lpes:ramp", "dynamic-ntk:2", "longrope:row"}) {
        EXPECT_EQ(cost(text).passes, 1) << text;
        EXPECT_EQ(cost(text).attentionsPerLayer, 1) << text;
        EXPECT_FALSE(cost(text).onePrompt) << text;
    }
    EXPECT_TRUE(cost("ms-poe").onePrompt);
    EXPECT_FALSE(cost("ms-poe:variant=code,heads=normal").onePrompt) << "its ratios are the same for every prompt";
    EXPECT_EQ(cost("attention-buckets").passes, 7);
    EXPECT_EQ(cost("attention-buckets").keyCaches, 7);
    EXPECT_EQ(cost("attention-buckets").valueCaches, 7);
    EXPECT_EQ(cost("moice:router").passes, 1);
    EXPECT_EQ(cost("moice:router,top_k=1").attentionsPerLayer, 3);
    EXPECT_EQ(cost("moice:router").keyCaches, 3);
}

TEST(MethodCost, CountsExpertsOfOneBaseOnce) {
    const auto withBases = [](const std::vector<double>& bases) {
        PositionMethod method = methodOf("moice:router");
        auto routers = std::make_shared<MoiceRouters>(*method.moice);
        routers->bases = bases;
        method.moice = std::move(routers);
        return method;
    };
    const PositionMethod one = withBases({10000.0, 10000.0, 10000.0});
    EXPECT_EQ(methodCost(one).attentionsPerLayer, 1);
    EXPECT_EQ(methodCost(one).keyCaches, 1);
    EXPECT_TRUE(requireOneAttention(one, "attention").has_value()) << "there is one to look at";
    const PositionMethod two = withBases({10000.0, 18000.0, 10000.0});
    EXPECT_EQ(methodCost(two).attentionsPerLayer, 2);
    EXPECT_THAT(requireOneAttention(two, "attention").error().message, testing::HasSubstr("has 2"));
    // Attention Buckets' paths are not made one: each is a pass of its own.
    EXPECT_EQ(methodCost(methodOf("attention-buckets:bases=10000/10000")).passes, 2);
}

}  // namespace
}  // namespace lpes::rope
