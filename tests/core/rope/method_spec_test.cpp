#include "core/rope/method_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lpes::rope {
namespace {

using Kind = MethodPart::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

MethodPart onlyPart(const std::string& text) {
    const auto spec = parseMethod(text);
    EXPECT_TRUE(spec.has_value()) << text << ": " << spec.error().message;
    if (!spec) return {};
    EXPECT_EQ(spec->parts.size(), 1u) << text;
    EXPECT_EQ(spec->text, text);
    return spec->parts.front();
}

TEST(MethodSpec, BaselineHasNoValue) {
    EXPECT_EQ(onlyPart("baseline"), MethodPart{});
    EXPECT_TRUE(parseMethod("baseline")->isBaseline());
    EXPECT_FALSE(parseMethod("pi:1")->isBaseline());
}

TEST(MethodSpec, FactorsFollowTheColon) {
    const struct {
        const char* text;
        Kind kind;
        double factor;
    } cases[] = {{"pi:1.5", Kind::PositionInterpolation, 1.5},
                 {"uniform:0.75", Kind::Uniform, 0.75},
                 {"ntk:2", Kind::Ntk, 2.0},
                 {"dynamic-ntk:2.5", Kind::DynamicNtk, 2.5},
                 {"yarn:4", Kind::Yarn, 4.0},
                 {"yarn:1e2", Kind::Yarn, 100.0}};
    for (const auto& each : cases) {
        const MethodPart part = onlyPart(each.text);
        EXPECT_EQ(part.kind, each.kind) << each.text;
        EXPECT_EQ(part.factor, each.factor) << each.text;
    }
}

TEST(MethodSpec, FilesKeepTheirWholePath) {
    for (const std::string path : {"runs/best.json", "a:b.json", "a+b.json", "x+pies.json", "a,b.csv", "a=b.json"}) {
        EXPECT_EQ(onlyPart("lpes:" + path).file, path);
        EXPECT_EQ(onlyPart("longrope:" + path).file, path);
        EXPECT_EQ(onlyPart("moice:" + path).file, path);
    }
    EXPECT_EQ(onlyPart("lpes:p.json,top_k=2").file, "p.json,top_k=2") << "only moice has options behind a file";
}

TEST(MethodSpec, MoiceTakesTopKBehindItsFile) {
    const MethodPart part = onlyPart("moice:a,b.moice,top_k=3");
    EXPECT_EQ(part.kind, Kind::Moice);
    EXPECT_EQ(part.file, "a,b.moice");
    EXPECT_EQ(part.topK, 3);
    EXPECT_FALSE(onlyPart("moice:r.moice").topK.has_value());
}

TEST(MethodSpec, MsPoeHasThePapersValuesUnlessToldOtherwise) {
    const MethodPart plain = onlyPart("ms-poe");
    EXPECT_EQ(plain.minRatio, 1.2);
    EXPECT_EQ(plain.maxRatio, 1.8);
    EXPECT_EQ(plain.variant, MethodPart::Variant::Paper);
    EXPECT_EQ(plain.groupRatio, MethodPart::GroupRatio::FirstHead);
    EXPECT_FALSE(plain.firstLayer.has_value());
    const MethodPart full = onlyPart("ms-poe:max=2,min=1,variant=code,gqa=mean,layers=3-17");
    EXPECT_EQ(full.minRatio, 1.0);
    EXPECT_EQ(full.maxRatio, 2.0);
    EXPECT_EQ(full.variant, MethodPart::Variant::Code);
    EXPECT_EQ(full.groupRatio, MethodPart::GroupRatio::Mean);
    EXPECT_EQ(full.firstLayer, 3);
    EXPECT_EQ(full.lastLayer, 17);
    EXPECT_EQ(onlyPart("ms-poe:variant=paper,gqa=first,heads=scored"), plain);
    EXPECT_EQ(onlyPart("ms-poe:heads=normal,variant=code").headOrder, MethodPart::HeadOrder::Normal);
}

TEST(MethodSpec, AttentionBucketsTakesBasesAndHowToCombine) {
    EXPECT_TRUE(onlyPart("attention-buckets").bases.empty());
    EXPECT_EQ(onlyPart("attention-buckets").combine, MethodPart::Combine::Logits);
    const MethodPart part = onlyPart("attention-buckets:bases=10000/17500/2.5e4,combine=probs");
    EXPECT_THAT(part.bases, ElementsAre(10000.0, 17500.0, 25000.0));
    EXPECT_EQ(part.combine, MethodPart::Combine::Probabilities);
    EXPECT_THAT(onlyPart("attention-buckets:bases=10000").bases, ElementsAre(10000.0));
    EXPECT_EQ(onlyPart("attention-buckets:bases=search").searchedBases, 6) << "as many as the released search";
    EXPECT_EQ(onlyPart("attention-buckets:bases=search/3").searchedBases, 3);
    EXPECT_FALSE(part.searchedBases.has_value());
}

TEST(MethodSpec, APlusJoinsWhatFollowsItByName) {
    const auto spec = parseMethod("yarn:4+lpes:a+b.json+pi:1.5");
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    ASSERT_EQ(spec->parts.size(), 3u);
    EXPECT_EQ(spec->parts[0].kind, Kind::Yarn);
    EXPECT_EQ(spec->parts[1].file, "a+b.json");
    EXPECT_EQ(spec->parts[2].factor, 1.5);
    for (const char* text : {"pi:2+uniform:2", "uniform:2+lpes:f", "ntk:2+pi:2+uniform:2+lpes:f", "longrope:f+lpes:g",
                             "dynamic-ntk:2+lpes:f"}) {
        EXPECT_TRUE(parseMethod(text).has_value()) << text;
    }
}

struct Wrong {
    const char* text;
    const char* quoted;   ///< the part that is wrong
    const char* example;  ///< how it is written
};

class WrongSpelling : public testing::TestWithParam<Wrong> {};

TEST_P(WrongSpelling, IsAUsageErrorThatQuotesItAndShowsARightOne) {
    const Wrong& wrong = GetParam();
    const auto spec = parseMethod(wrong.text);
    ASSERT_FALSE(spec.has_value()) << wrong.text;
    EXPECT_EQ(spec.error().code, ErrorCode::Usage);
    EXPECT_THAT(spec.error().message, AllOf(HasSubstr(wrong.quoted), HasSubstr(wrong.example))) << wrong.text;
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, WrongSpelling,
    testing::Values(Wrong{"", "''", "pi:1.5"}, Wrong{"Baseline", "'Baseline'", "baseline"},
                    Wrong{"linear:2", "'linear:2'", "pi:1.5"}, Wrong{"+", "'+'", "yarn:4+lpes:FILE"},
                    Wrong{"baseline:2", "'2'", "baseline"}, Wrong{"pi", "'pi'", "pi:1.5"}, Wrong{"pi:", "''", "pi:1.5"},
                    Wrong{"pi:x", "'x'", "pi:1.5"}, Wrong{"pi:1,5", "'1,5'", "pi:1.5"},
                    Wrong{"pi:1.5x", "'1.5x'", "pi:1.5"}, Wrong{"pi:nan", "'nan'", "0.01 to 100"},
                    Wrong{"pi:inf", "'inf'", "pi:1.5"}, Wrong{"pi:1+2", "'1+2'", "pi:1.5"},
                    Wrong{"uniform:0", "'0'", "uniform:1.5"}, Wrong{"uniform:-1", "'-1'", "uniform:1.5"},
                    Wrong{"uniform:1e9", "'1e9'", "uniform:1.5"}, Wrong{"uniform: 1", "' 1'", "uniform:1.5"},
                    Wrong{"uniform:+1", "'+1'", "uniform:1.5"}, Wrong{"ntk:0.5", "'0.5'", "from 1 to 1000"},
                    Wrong{"dynamic-ntk:1001", "'1001'", "dynamic-ntk:2"}, Wrong{"yarn", "'yarn'", "yarn:4"},
                    Wrong{"lpes", "'lpes'", "lpes:profile.json"}, Wrong{"lpes:", "'lpes:'", "lpes:profile.json"},
                    Wrong{"longrope:", "'longrope:'", "longrope:factors.csv"}, Wrong{"pi:2+yarn", "'yarn'", "yarn:4"},
                    Wrong{"lpes:f+pi:x", "'x'", "pi:1.5"}));

INSTANTIATE_TEST_SUITE_P(
    Options, WrongSpelling,
    testing::Values(
        Wrong{"ms-poe:", "''", "min=1.2"}, Wrong{"ms-poe:1.2", "'1.2'", "min=1.2"},
        Wrong{"ms-poe:min=0", "'0' of min", "min=1.2"}, Wrong{"ms-poe:max=100.5", "'100.5' of max", "max=1.8"},
        Wrong{"ms-poe:min=nan", "'nan'", "min=1.2"}, Wrong{"ms-poe:min=2", "min=2 above max=1.8", "min=1.2"},
        Wrong{"ms-poe:min=1,min=1", "'min' stands twice", "min=1.2"}, Wrong{"ms-poe:min=1,", "''", "min=1.2"},
        Wrong{"ms-poe:variant=both", "'both' of variant", "variant=code"},
        Wrong{"ms-poe:heads=sorted", "'sorted' of heads", "variant=code"},
        Wrong{"ms-poe:heads=normal", "the paper has no such order", "variant=code,heads=normal"},
        Wrong{"ms-poe:variant=code,heads=normal,gqa=mean", "scores no heads", "variant=code,heads=normal"},
        Wrong{"ms-poe:gqa=last", "'last'", "gqa=first"}, Wrong{"ms-poe:layers=2", "'2' of layers", "layers=2-31"},
        Wrong{"ms-poe:layers=5-4", "'5-4'", "layers=2-31"}, Wrong{"ms-poe:layers=-1-4", "'-1-4'", "layers=2-31"},
        Wrong{"ms-poe:bases=1", "'bases'", "min=1.2"}, Wrong{"attention-buckets:", "''", "bases=10000/18000"},
        Wrong{"attention-buckets:bases=search/1", "'search/1'", "2 to 32"},
        Wrong{"attention-buckets:bases=search/x", "'search/x'", "2 to 32"},
        Wrong{"attention-buckets:bases=", "''", "bases=10000/18000"},
        Wrong{"attention-buckets:bases=10000/", "''", "bases=10000/18000"},
        Wrong{"attention-buckets:bases=10000,18000", "'18000'", "bases=10000/18000"},
        Wrong{"attention-buckets:bases=10000/1", "'1' of bases", "above 1"},
        Wrong{"attention-buckets:combine=mean", "'mean'", "logits or probs"},
        Wrong{"attention-buckets:min=1", "'min'", "bases=10000/18000"}, Wrong{"moice", "'moice'", "top_k=3"},
        Wrong{"moice:,top_k=2", "names no file", "top_k=3"}, Wrong{"moice:f,top_k=0", "'0' of top_k", "top_k=3"},
        Wrong{"moice:f,top_k=1.5", "'1.5'", "top_k=3"}, Wrong{"moice:f,topk=2", "'topk'", "top_k=3"},
        Wrong{"moice:f,top_k=2,top_k=3", "stands twice", "top_k=3"}));

class NotTogether : public testing::TestWithParam<Wrong> {};

TEST_P(NotTogether, IsUnsupportedWithTheReason) {
    const Wrong& wrong = GetParam();
    const auto spec = parseMethod(wrong.text);
    ASSERT_FALSE(spec.has_value()) << wrong.text;
    EXPECT_EQ(spec.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(spec.error().message, AllOf(HasSubstr(wrong.text), HasSubstr(wrong.quoted), HasSubstr(wrong.example)));
}

INSTANTIATE_TEST_SUITE_P(
    Compositions, NotTogether,
    testing::Values(Wrong{"baseline+uniform:2", "'baseline'", "as it is"},
                    Wrong{"pi:2+baseline", "'baseline'", "as it is"}, Wrong{"ms-poe+pi:2", "'ms-poe'", "stands alone"},
                    Wrong{"lpes:f+ms-poe:min=1", "'ms-poe'", "attention at the model's own positions"},
                    Wrong{"attention-buckets+lpes:f", "'attention-buckets'", "base of its own"},
                    Wrong{"yarn:2+moice:f", "'moice'", "routers were trained"},
                    Wrong{"pi:2+pi:3", "'pi' stands twice", "pi:1.5"},
                    Wrong{"lpes:f+lpes:g", "'lpes' stands twice", "once"},
                    Wrong{"ntk:2+yarn:2", "'ntk' and 'yarn'", "uniform"},
                    Wrong{"longrope:f+pi:2+dynamic-ntk:2", "'longrope' and 'dynamic-ntk'", "decides all frequencies"}));

TEST(MethodSpec, EveryNameIsOneThatParses) {
    for (const Kind kind : {Kind::Baseline, Kind::MsPoe, Kind::AttentionBuckets}) {
        EXPECT_EQ(onlyPart(methodName(kind)).kind, kind);
    }
    EXPECT_EQ(methodName(Kind::DynamicNtk), "dynamic-ntk");
    EXPECT_EQ(methodName(Kind::LongRope), "longrope");
}

TEST(MethodList, IsSeparatedBySemicolons) {
    const auto specs = parseMethods("baseline; pi:1.5 ;yarn:4+lpes:a b.json;ms-poe:min=1,max=2");
    ASSERT_TRUE(specs.has_value()) << specs.error().message;
    ASSERT_EQ(specs->size(), 4u);
    EXPECT_EQ((*specs)[1].text, "pi:1.5");
    EXPECT_EQ((*specs)[2].parts[1].file, "a b.json");
    EXPECT_EQ(parseMethods("baseline")->size(), 1u);
    EXPECT_EQ(parseMethods("pi:2;uniform:2")->size(), 2u) << "two names of one rotation are compared on purpose";
}

TEST(MethodList, RefusesEmptyPartsAndRepetitions) {
    const auto refusal = [](const std::string& text) {
        const auto specs = parseMethods(text);
        EXPECT_FALSE(specs.has_value()) << text;
        EXPECT_EQ(specs.error().code, ErrorCode::Usage) << text;
        return specs.error().message;
    };
    EXPECT_THAT(refusal(""), AllOf(HasSubstr("part 1"), HasSubstr("baseline;pi:1.5")));
    EXPECT_THAT(refusal("pi:2;"), HasSubstr("part 2"));
    EXPECT_THAT(refusal("pi:2; ;ntk:2"), HasSubstr("part 2"));
    EXPECT_THAT(refusal("pi:1.5;baseline;pi:1.50"), AllOf(HasSubstr("'pi:1.5'"), HasSubstr("'pi:1.50'")));
    EXPECT_THAT(refusal("yarn:2+pi:2;pi:2+yarn:2"), HasSubstr("same method"));
    EXPECT_THAT(refusal("baseline;pi:x"), HasSubstr("'x'"));
}

}  // namespace
}  // namespace lpes::rope
