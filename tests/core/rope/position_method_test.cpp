#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rope/rope_config.h"

namespace lpes::rope {
namespace {

using testing::HasSubstr;

TEST(PositionMethod, BaselineHasNoValue) {
    const auto spec = parseMethod("baseline");
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->kind, MethodSpec::Kind::Baseline);
    EXPECT_EQ(spec->factor, 1.0);
    EXPECT_EQ(spec->text, "baseline");
}

TEST(PositionMethod, InterpolationAndUniformTakeANumber) {
    const auto pi = parseMethod("pi:1.5");
    ASSERT_TRUE(pi.has_value());
    EXPECT_EQ(pi->kind, MethodSpec::Kind::PositionInterpolation);
    EXPECT_EQ(pi->factor, 1.5);
    const auto uniform = parseMethod("uniform:0.75");
    ASSERT_TRUE(uniform.has_value());
    EXPECT_EQ(uniform->kind, MethodSpec::Kind::Uniform);
    EXPECT_EQ(uniform->factor, 0.75);
    EXPECT_EQ(uniform->text, "uniform:0.75");
}

TEST(PositionMethod, ProfileKeepsItsWholePath) {
    for (const std::string path : {"runs/best.json", "a:b.json", "a+b.json", "x+pies.json"}) {
        const auto spec = parseMethod("lpes:" + path);
        ASSERT_TRUE(spec.has_value()) << path << ": " << spec.error().message;
        EXPECT_EQ(spec->kind, MethodSpec::Kind::Lpes);
        EXPECT_EQ(spec->profile, path);
    }
}

class PlannedMethod : public testing::TestWithParam<const char*> {};

TEST_P(PlannedMethod, IsRefusedByName) {
    const std::string text = GetParam();
    const auto spec = parseMethod(text);
    ASSERT_FALSE(spec.has_value());
    EXPECT_EQ(spec.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(spec.error().message, HasSubstr(text));
}

INSTANTIATE_TEST_SUITE_P(CommandLine, PlannedMethod,
                         testing::Values("ntk:2", "dynamic-ntk:2", "yarn:4", "ms-poe", "ms-poe:min=1.2,max=1.8",
                                         "attention-buckets", "attention-buckets:combine=probs", "moice:router.bin",
                                         "yarn:4+lpes:p.json", "lpes:p.json+pi:2", "baseline+uniform:2"));

class Garbage : public testing::TestWithParam<const char*> {};

TEST_P(Garbage, IsAUsageErrorThatQuotesIt) {
    const std::string text = GetParam();
    const auto spec = parseMethod(text);
    ASSERT_FALSE(spec.has_value());
    EXPECT_EQ(spec.error().code, ErrorCode::Usage);
    const std::string value = text.substr(text.find(':') == std::string::npos ? 0 : text.find(':') + 1);
    EXPECT_THAT(spec.error().message, HasSubstr(value));
}

INSTANTIATE_TEST_SUITE_P(Spellings, Garbage,
                         testing::Values("", "Baseline", "baseline:2", "pi", "pi:", "pi:x", "pi:1,5", "pi:1.5x",
                                         "pi:nan", "pi:inf", "uniform:0", "uniform:-1", "uniform:1e9", "uniform: 1",
                                         "uniform:+1", "lpes", "lpes:", "linear:2", "+", "pi:1+2"));

}  // namespace
}  // namespace lpes::rope
