#include <cmath>
#include <functional>
#include <limits>

#include "tests/core/rope/method_fixtures.h"

namespace lpes::rope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Type = RopeConfig::Type;

void expectRefused(const std::string& text, const MethodModel& model, ErrorCode code, const std::string& quoted,
                   const std::string& why) {
    const auto method = resolved(text, model);
    ASSERT_FALSE(method.has_value()) << text;
    EXPECT_EQ(method.error().code, code) << text << ": " << method.error().text();
    EXPECT_THAT(method.error().message, AllOf(HasSubstr(quoted), HasSubstr(why))) << text;
}

TEST(MethodRefusal, NamesTheMethodTheModelsTypeAndTheReason) {
    const auto unsupported = [](const char* text, const char* name, Type type, const char* why) {
        expectRefused(text, modelOfType(type), ErrorCode::Unsupported, name, why);
        expectRefused(text, modelOfType(type), ErrorCode::Unsupported, "'" + ropeTypeName(type) + "'",
                      "pi, uniform and lpes work on every model");
    };
    for (const Type type : {Type::Dynamic, Type::Yarn, Type::LongRope, Type::FrequencyFactors}) {
        unsupported("ntk:2", "'ntk'", type, "rescaled for the base");
    }
    for (const Type type :
         {Type::Linear, Type::Dynamic, Type::Yarn, Type::LongRope, Type::Llama3, Type::FrequencyFactors}) {
        unsupported("yarn:4", "'yarn'", type, "rescaled already");
        unsupported("yarn:1", "'yarn'", type, "rescaled already");
        unsupported("pi:2+dynamic-ntk:2", "'dynamic-ntk'", type, "rescaled already");
        unsupported("attention-buckets", "'attention-buckets'", type, "a base that decides every frequency");
        unsupported("moice:router", "'moice'", type, "a base that decides every frequency");
    }
    for (const Type type : {Type::LongRope, Type::FrequencyFactors}) {
        unsupported("longrope:row", "'longrope'", type, "factors of its own");
    }
}

TEST(MethodRefusal, OfSlidingEmbeddings) {
    for (const char* text : {"yarn:4", "dynamic-ntk:2", "attention-buckets", "moice:router"}) {
        expectRefused(text, slidingModel(), ErrorCode::Unsupported, "sliding layers", "the method is defined for one");
    }
    MethodModel model = slidingModel();
    model.slidingRope->type = Type::FrequencyFactors;
    expectRefused("ntk:2", model, ErrorCode::Unsupported, "'frequency_factors'", "ntk");
    expectRefused("longrope:row", model, ErrorCode::Unsupported, "'frequency_factors'", "longrope");
    model = slidingModel();
    model.slidingRope->rotaryDim = 64;
    expectRefused("longrope:row", model, ErrorCode::Unsupported, "32", "64");
    EXPECT_TRUE(resolved("longrope:row", slidingModel()).has_value());
}

TEST(MethodRefusal, OfHeadsTooNarrowForNtksExponent) {
    MethodModel model = plainModel();
    model.rope.rotaryDim = 2;
    expectRefused("ntk:2", model, ErrorCode::Unsupported, "'ntk'", "d/(d-2)");
    expectRefused("dynamic-ntk:2", model, ErrorCode::Unsupported, "'dynamic-ntk'", "d/(d-2)");
}

TEST(MethodRefusal, OfFilesThatDoNotFit) {
    const MethodModel model = plainModel();
    expectRefused("lpes:absent", model, ErrorCode::BadInput, "absent", "profile");
    expectRefused("lpes:short", model, ErrorCode::BadInput, "2 layer scales", "4 layers");
    expectRefused("pi:2+lpes:short", model, ErrorCode::BadInput, "2 layer scales", "4 layers");
    expectRefused("longrope:absent", model, ErrorCode::BadInput, "absent", "factors");
    expectRefused("longrope:three", model, ErrorCode::BadInput, "three: has 3 rows of 64 factors",
                  "one row of 64 factors (d/2), or 4 rows of 64 (L × d/2)");
    expectRefused("longrope:narrow", model, ErrorCode::BadInput, "narrow: row 1 has 32 factors instead of 64",
                  "one row of 64 factors (d/2), or 4 rows of 64 (L × d/2)");
    expectRefused("longrope:ragged", model, ErrorCode::BadInput, "ragged: row 3 has 63 factors instead of 64", "(d/2)");
    expectRefused("longrope:huge", model, ErrorCode::BadInput, "layer 0, frequency 0 is 100000", "10000");
    expectRefused("moice:absent", model, ErrorCode::BadInput, "absent", "router");
    expectRefused("moice:router,top_k=4", model, ErrorCode::BadInput, "top_k=4", "3 experts");
    MethodModel other = plainModel();
    other.numLayers = 5;
    expectRefused("moice:router", other, ErrorCode::BadInput, "4 layers with head_dim 128", "5 layers");
    other = plainModel();
    other.rope.headDim = 64;
    expectRefused("moice:router", other, ErrorCode::BadInput, "head_dim 128", "head_dim 64");
}

TEST(MethodRefusal, OfFilesThatNobodyReads) {
    for (const char* text : {"lpes:f", "longrope:f", "moice:f"}) {
        const auto method = resolveMethod(*parseMethod(text), plainModel(), {});
        ASSERT_FALSE(method.has_value()) << text;
        EXPECT_EQ(method.error().code, ErrorCode::Unsupported);
        EXPECT_THAT(method.error().message, HasSubstr("'f'"));
    }
}

TEST(MethodRefusal, OfLayersThatTheModelLacks) {
    expectRefused("ms-poe:layers=0-4", plainModel(), ErrorCode::BadInput, "layers 0 to 4", "layers 0 to 3");
    MethodModel shallow = plainModel();
    shallow.numLayers = 2;
    expectRefused("ms-poe:variant=code", shallow, ErrorCode::BadInput, "2 layers", "layers=0-1");
    EXPECT_TRUE(resolved("ms-poe", shallow).has_value());
}

/// A method that fits until `spoil` has changed it.
void expectChecked(const std::string& text, const std::function<void(PositionMethod&)>& spoil, ErrorCode code,
                   const std::string& quoted, const MethodModel& model = plainModel()) {
    PositionMethod method = methodOf(text, model);
    ASSERT_TRUE(checkMethod(method, model).has_value()) << text;
    spoil(method);
    const auto checked = checkMethod(method, model);
    ASSERT_FALSE(checked.has_value()) << quoted;
    EXPECT_EQ(checked.error().code, code) << checked.error().message;
    EXPECT_THAT(checked.error().message, HasSubstr(quoted));
}

TEST(CheckMethod, NamesWhatIsOutOfPlace) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr auto kBad = ErrorCode::BadInput;
    expectChecked(
        "pi:2", [](PositionMethod& m) { m.scales.pop_back(); }, kBad, "3 layer scales");
    expectChecked(
        "pi:2", [](PositionMethod& m) { m.scales[2] = kNan; }, kBad, "layer 2");
    expectChecked(
        "pi:2", [](PositionMethod& m) { m.contextFactor = 0.5; }, kBad, "0.5");
    expectChecked(
        "ntk:2", [](PositionMethod& m) { m.rope->theta = 1.0; }, kBad, "RoPE base is 1");
    expectChecked(
        "ntk:2", [](PositionMethod& m) { m.rope->headDim = 64; }, kBad, "rotates 64");
    expectChecked(
        "yarn:2", [](PositionMethod& m) { m.rope->attentionFactor = 0.0; }, kBad, "attention factor is 0");
    expectChecked(
        "ntk:2", [](PositionMethod& m) { m.slidingRope = m.rope; }, kBad, "sliding layers");
    expectChecked(
        "lpes:bands", [](PositionMethod& m) { m.headScales.pop_back(); }, kBad, "3 layers");
    expectChecked(
        "lpes:bands", [](PositionMethod& m) { m.headScales[1].pop_back(); }, kBad, "layer 1 has 1 scales");
    expectChecked(
        "lpes:bands", [](PositionMethod& m) { m.headScales[1][0] = 0.0; }, kBad, "layer 1, head 0 is 0");
    expectChecked(
        "lpes:bands", [](PositionMethod& m) { m.divisors.pop_back(); }, kBad, "3 layers");
    expectChecked(
        "lpes:bands", [](PositionMethod& m) { m.divisors[3].pop_back(); }, kBad, "layer 3 has 63");
    expectChecked(
        "lpes:bands", [](PositionMethod& m) { m.divisors[3][5] = -1.0; }, kBad, "layer 3, frequency 5 is -1");
}

TEST(CheckMethod, NamesWhatIsWrongWithARival) {
    constexpr auto kBad = ErrorCode::BadInput;
    expectChecked(
        "ms-poe", [](PositionMethod& m) { m.msPoe->ratios.pop_back(); }, kBad, "7 ratios");
    expectChecked(
        "ms-poe", [](PositionMethod& m) { m.msPoe->ratios[0] = 0.0; }, kBad, "ratio 0");
    expectChecked(
        "ms-poe", [](PositionMethod& m) { m.msPoe->ratios[3] = 1.0; }, kBad, "ascend");
    expectChecked(
        "ms-poe", [](PositionMethod& m) { m.msPoe->lastLayer = 4; }, kBad, "layers 0 to 3");
    expectChecked(
        "ms-poe", [](PositionMethod& m) { m.msPoe->threshold = 0.0; }, kBad, "threshold");
    expectChecked(
        "attention-buckets", [](PositionMethod& m) { m.buckets->bases.clear(); }, kBad, "no bases");
    expectChecked(
        "attention-buckets", [](PositionMethod& m) { m.buckets->bases[2] = 1.0; }, kBad, "base 2");
    const auto withRouters = [](const std::function<void(MoiceRouters&)>& spoil) {
        return [spoil](PositionMethod& m) {
            auto routers = std::make_shared<MoiceRouters>(*m.moice);
            spoil(*routers);
            m.moice = routers;
        };
    };
    const auto moice = [&](const std::function<void(MoiceRouters&)>& spoil, const std::string& quoted) {
        expectChecked("moice:router", withRouters(spoil), kBad, quoted);
    };
    moice([](MoiceRouters& r) { r.bases.clear(); }, "no bases");
    moice([](MoiceRouters& r) { r.topK = 0; }, "keeps 0 experts of 3");
    moice([](MoiceRouters& r) { r.topK = 4; }, "keeps 4 experts of 3");
    moice([](MoiceRouters& r) { r.layers.pop_back(); }, "3 layers");
    moice([](MoiceRouters& r) { r.layers[1].w1.pop_back(); }, "layer 1");
    moice([](MoiceRouters& r) { r.layers[1].w2.pop_back(); }, "layer 1");
    moice([](MoiceRouters& r) { r.layers[2].w3[0] = std::numeric_limits<float>::infinity(); }, "layer 2");
}

TEST(CheckMethod, RefusesWhatContradictsItself) {
    constexpr auto kNot = ErrorCode::Unsupported;
    expectChecked(
        "ms-poe",
        [](PositionMethod& m) {
            m.buckets = AttentionBuckets{{10000.0}, {}};
        },
        kNot, "alone");
    expectChecked(
        "attention-buckets", [](PositionMethod& m) { m.rope = plainModel().rope; }, kNot, "plain embedding");
    PositionMethod method;
    method.buckets = AttentionBuckets{{10000.0}, {}};
    EXPECT_FALSE(checkMethod(method, slidingModel()).has_value());
    EXPECT_FALSE(checkMethod(method, modelOfType(Type::Llama3)).has_value());
}

}  // namespace
}  // namespace lpes::rope
