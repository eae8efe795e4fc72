#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/exporters/longrope_csv.h"
#include "core/rope/rivals.h"
#include "core/studies/inspect.h"
#include "core/studies/model_setup.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// Two layers, four heads in two groups, head_dim 16, context 512.
class MethodSetup : public testing::Test {
  protected:
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(m_folder / name) << text;
        return (m_folder / name).string();
    }
    [[nodiscard]] Result<json> inspected(const std::string& method) const {
        NullObserver observer;
        return studies::inspectModel(m_folder.model(), method, "cpu", observer);
    }
    [[nodiscard]] std::string refusal(const std::string& method, ErrorCode code) const {
        const auto shown = inspected(method);
        EXPECT_FALSE(shown.has_value()) << method;
        if (shown) return {};
        EXPECT_EQ(shown.error().code, code) << shown.error().text();
        return shown.error().message;
    }

    const StudyFolder m_folder;
};

TEST_F(MethodSetup, InspectSaysWhichBasesWereSearchedAndFound) {
    const json shown = take(inspected("attention-buckets:bases=search/3"));
    const json& search = shown["bases_search"];
    EXPECT_EQ(search["min_base"], 10000.0);
    EXPECT_EQ(search["max_base"], 30000.0);
    EXPECT_EQ(search["step"], 500.0);
    EXPECT_EQ(search["candidates"], 41);
    EXPECT_EQ(search["first_distance"], 128);
    EXPECT_EQ(search["last_distance"], 511);
    EXPECT_EQ(search["count"], 3);
    ASSERT_EQ(search["found"].size(), 3u);
    EXPECT_EQ(search["found"][0], shown["bases"][0]["base"]);
    EXPECT_THAT(shown["method_meaning"][0]["meaning"].get<std::string>(),
                AllOf(HasSubstr("a greedy search for 3 found among 41 from 10000 to 30000 in steps of 500"),
                      HasSubstr("128 to 511 tokens")));
    EXPECT_FALSE(take(inspected("attention-buckets")).contains("bases_search")) << "published ones";
}

TEST_F(MethodSetup, InspectShowsTheFrequenciesThatAMethodGives) {
    const json plain = take(inspected("baseline"));
    const json ntk = take(inspected("ntk:2"));
    EXPECT_EQ(ntk["inv_freq"][1][0], 1.0);
    EXPECT_NEAR(ntk["inv_freq"][1][7].get<double>(), plain["inv_freq"][1][7].get<double>() / 2.0, 1e-12);
    EXPECT_EQ(ntk["method_rope"]["theta"], rope::ntkBase(10000.0, 2.0, 16));
    EXPECT_EQ(ntk["rope"]["theta"], 10000.0) << "the model's own stays to be seen";
    const json yarn = take(inspected("yarn:4+uniform:2"));
    EXPECT_DOUBLE_EQ(yarn["inv_freq"][0][0].get<double>(), 0.5);
    EXPECT_DOUBLE_EQ(yarn["inv_freq"][0][7].get<double>(), plain["inv_freq"][0][7].get<double>() / 8.0);
    EXPECT_EQ(yarn["layer_scales"], json({2.0, 2.0}));
    EXPECT_EQ(yarn["method_rope"]["type"], "yarn");
    EXPECT_NEAR(yarn["method_rope"]["attention_factor"].get<double>(), 0.1 * std::log(4.0) + 1.0, 1e-12);
    EXPECT_EQ(yarn["method_cost"]["context"], 2048);
    const json dynamic = take(inspected("dynamic-ntk:2"));
    EXPECT_EQ(dynamic["inv_freq"], plain["inv_freq"]);
    EXPECT_LT(dynamic["inv_freq_long"][0][7], plain["inv_freq"][0][7]) << "at twice the model's context";
    EXPECT_FALSE(plain.contains("inv_freq_long"));
}

TEST_F(MethodSetup, InspectShowsWhatIsNoTableOfLayers) {
    const json buckets = take(inspected("attention-buckets:bases=10000/20000"));
    ASSERT_EQ(buckets["bases"].size(), 2u);
    EXPECT_EQ(buckets["bases"][0]["inv_freq"], buckets["inv_freq"]);
    EXPECT_NEAR(buckets["bases"][1]["inv_freq"][1][7].get<double>(), std::pow(20000.0, -14.0 / 16.0), 1e-12);
    EXPECT_EQ(buckets["method_cost"]["passes"], 2);
    EXPECT_EQ(buckets["method_cost"]["key_caches"], 2);
    const json own = take(inspected("baseline"));
    EXPECT_EQ(buckets["memory"][0]["kv_cache_bytes"], 2 * own["memory"][0]["kv_cache_bytes"].get<std::int64_t>());
    EXPECT_GT(buckets["memory"][0]["activation_bytes"], own["memory"][0]["activation_bytes"]);
    const json msPoe = take(inspected("ms-poe"));
    EXPECT_EQ(msPoe["head_ratios"]["ratios"], json({1.2, 1.4, 1.6, 1.8}));
    EXPECT_EQ(msPoe["head_ratios"]["last_layer"], 1);
    EXPECT_EQ(msPoe["method_cost"]["one_prompt"], true);
    EXPECT_EQ(msPoe["head_ratios"]["heads"], "scored");
    EXPECT_EQ(msPoe["head_ratios"]["threshold"], 3.0);
    const json fixed = take(inspected("ms-poe:variant=code,heads=normal,layers=0-1"));
    EXPECT_EQ(fixed["head_ratios"]["heads"], "normal");
    EXPECT_EQ(fixed["head_ratios"]["threshold"], nullptr);
    EXPECT_EQ(fixed["method_cost"]["one_prompt"], false);
}

TEST_F(MethodSetup, InspectSaysWhatEachPartMeansAndCosts) {
    const std::string factors = write("factors.csv", "1,2,3,4,5,6,7,8\n");
    const std::string profile = write("profile.csv", "0,1\n1,1.5\n");
    const auto words = [&](const std::string& method) {
        std::string all;
        const json shown = take(inspected(method));
        for (const json& part : shown["method_meaning"]) {
            all += part["part"].get<std::string>() + ": " + part["meaning"].get<std::string>() + "\n";
        }
        return all + shown["method_cost"]["meaning"].get<std::string>();
    };
    EXPECT_THAT(words("baseline"), HasSubstr("the model as it is"));
    EXPECT_THAT(words("pi:1.5"), AllOf(HasSubstr("divides positions by 1.5"), HasSubstr("that of the baseline")));
    EXPECT_THAT(words("uniform:2"), HasSubstr("LPES with one value"));
    EXPECT_THAT(words("ntk:2"), HasSubstr("base grows from 10000 to"));
    EXPECT_THAT(words("dynamic-ntk:2"), AllOf(HasSubstr("up to 512 tokens"), HasSubstr("rotated anew")));
    EXPECT_THAT(words("yarn:4"), AllOf(HasSubstr("divided by 4"), HasSubstr("1.138629")));
    EXPECT_THAT(words("yarn:1"), HasSubstr("the model as it is"));
    EXPECT_THAT(words("longrope:" + factors), HasSubstr("factors.csv"));
    EXPECT_THAT(words("yarn:2+lpes:" + profile),
                AllOf(HasSubstr("yarn: "), HasSubstr("lpes: "), HasSubstr("profile.csv")));
    EXPECT_THAT(words("ms-poe"), AllOf(HasSubstr("layers 0 to 1"), HasSubstr("first query head")));
    EXPECT_THAT(words("ms-poe:variant=code,gqa=mean,layers=1-1"),
                AllOf(HasSubstr("released code"), HasSubstr("(ours)")));
    EXPECT_THAT(words("ms-poe:variant=code,heads=normal,layers=0-1"),
                AllOf(HasSubstr("from 1.65 for the first head down to 1.2 for the last"), HasSubstr("head_type normal"),
                      HasSubstr("that of the baseline")));
    EXPECT_THAT(words("attention-buckets"), AllOf(HasSubstr("7 paths"), HasSubstr("logits"), HasSubstr("7 times")));
    EXPECT_THAT(words("attention-buckets:combine=probs"), HasSubstr("probabilities"));
}

TEST_F(MethodSetup, LongRopeFactorsOfAProfileAreThatProfile) {
    const std::string factors = write("factors.csv", exporters::toLongRopeCsv(std::vector<double>{1.0, 1.5}, 8));
    const std::string profile = write("profile.csv", "0,1\n1,1.5\n");
    EXPECT_EQ(take(inspected("longrope:" + factors))["inv_freq"], take(inspected("lpes:" + profile))["inv_freq"]);
    const std::string ones = write("ones.csv", "1,1,1,1,1,1,1,1\n");
    EXPECT_EQ(take(inspected("longrope:" + ones))["inv_freq"], take(inspected("baseline"))["inv_freq"]);
    EXPECT_EQ(take(inspected("longrope:" + factors))["layer_scales"], json({1.0, 1.0}));
}

TEST_F(MethodSetup, FilesThatDoNotFitAreRefused) {
    EXPECT_THAT(refusal("longrope:" + write("seven.csv", "1,1,1,1,1,1,1\n"), ErrorCode::BadInput),
                AllOf(HasSubstr("seven.csv"), HasSubstr("7 factors instead of 8")));
    EXPECT_THAT(refusal("longrope:" + write("bad.csv", "1,x\n"), ErrorCode::BadInput), HasSubstr("column 2"));
    EXPECT_THAT(refusal("lpes:" + write("three.csv", "0,1\n1,1\n2,1\n"), ErrorCode::BadInput), HasSubstr("3 layers"));
    EXPECT_THAT(refusal("moice:router.moice", ErrorCode::BadInput), HasSubstr("cannot read 'router.moice'"));
    EXPECT_THAT(refusal("ms-poe:variant=code", ErrorCode::BadInput), HasSubstr("layers=0-1"));
}

TEST_F(MethodSetup, AModelsOwnScalingIsNamedInARefusal) {
    TinyModelSpec spec;
    spec.linearFactor = 2.0;
    const StudyFolder linear(spec);
    NullObserver observer;
    const auto refused = studies::inspectModel(linear.model(), "yarn:4", "cpu", observer);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("'yarn'"), HasSubstr("'linear'")));
    const json ntk = take(studies::inspectModel(linear.model(), "ntk:2", "cpu", observer));
    EXPECT_EQ(ntk["inv_freq"][0][0], 0.5);
}

TEST_F(MethodSetup, AProfileIsAMethodWhateverItsNameIs) {
    const std::string file = write("a+yarn:4.csv", "0,1\n1,1.5\n");
    NullObserver observer;
    const auto opened = take(studies::openModel(m_folder.model(), false));
    const auto method = take(studies::profileMethod(file, opened.weights->config(), observer));
    EXPECT_EQ(method.scales, (rope::LayerScales{1.0, 1.5}));
    EXPECT_TRUE(studies::isLayerScales(method));
}

TEST_F(MethodSetup, AFileOfFactorsThatDoesNotFitIsNamedWithItsRowAndBothCounts) {
    const auto refused = [&](const std::string& text) {
        const std::string file = write("factors.csv", text);
        const std::string message = refusal("longrope:" + file, ErrorCode::BadInput);
        EXPECT_THAT(message, AllOf(HasSubstr(file), HasSubstr("one row of 8 factors (d/2), or 2 rows of 8 (L × d/2)")));
        return message;
    };
    EXPECT_THAT(refused("1,2,3,4,5,6,7\n"), HasSubstr("row 1 has 7 factors instead of 8"));
    EXPECT_THAT(refused("1,1,1,1,1,1,1,1\n\n1,1,1,1,1,1,1,1,1\n"), HasSubstr("row 2 has 9 factors instead of 8"));
    EXPECT_THAT(refused("1\n2\n3\n"), HasSubstr("row 1 has 3 factors instead of 8")) << "a column is a row";
    const std::string row = "1,1,1,1,1,1,1,1\n";
    EXPECT_THAT(refused(row + row + row), HasSubstr("has 3 rows of 8 factors"));
}

TEST_F(MethodSetup, OnlyScalesAreStoredAsScales) {
    NullObserver observer;
    const auto opened = take(studies::openModel(m_folder.model(), false));
    const auto stored = [&](const std::string& method) {
        return studies::storedScales(
            take(studies::methodFor(take(rope::parseMethod(method)), *opened.weights, observer)));
    };
    EXPECT_EQ(stored("pi:2+uniform:0.5"), (rope::LayerScales{1.0, 1.0}));
    // Else they would be the same variant in the data base as the scales alone.
    EXPECT_EQ(stored("yarn:4+uniform:2"), rope::LayerScales());
    EXPECT_EQ(stored("ms-poe"), rope::LayerScales());
    EXPECT_EQ(stored("attention-buckets"), rope::LayerScales());
}

TEST_F(MethodSetup, AHashIsOfWhatAMethodsFilesHold) {
    const std::string one = "lpes:" + write("one.csv", "0,1\n1,1.5\n");
    const std::string same = "lpes:" + write("same.csv", "0,1.0\n1,1.50\n");
    const std::string other = "lpes:" + write("other.csv", "0,1.5\n1,1\n");
    const auto hashOf = [&](const std::string& method) { return take(inspected(method))["method_hash"]; };
    EXPECT_EQ(hashOf(one).get<std::string>().size(), 64u);
    EXPECT_EQ(hashOf(same), hashOf(one));
    EXPECT_NE(hashOf(other), hashOf(one));
    EXPECT_NE(hashOf("longrope:" + write("factors.csv", "1,2,3,4,5,6,7,8\n")),
              hashOf("longrope:" + write("others.csv", "1,2,3,4,5,6,7,9\n")));
    for (const char* method : {"baseline", "uniform:1.5", "yarn:2", "attention-buckets"})
        EXPECT_EQ(hashOf(method), nullptr) << method;
    // Routers of other weights, bases or numbers of experts.
    rope::MethodPart part;
    part.kind = rope::MethodPart::Kind::Moice;
    part.file = "router";
    const rope::MethodSpec spec{{part}, "moice:router"};
    rope::MoiceRouters routers{{10000.0, 20000.0}, 2, 1, {{{1, 2}, {3, 4}, {5, 6}}}, {}, {}};
    std::vector<std::string> hashes;
    const auto add = [&] {
        rope::PositionMethod method;
        method.moice = std::make_shared<rope::MoiceRouters>(routers);
        hashes.push_back(studies::methodHash(spec, method));
    };
    add();
    add();
    routers.layers[0].w2[1] = 7;
    add();
    routers.bases[1] = 30000.0;
    add();
    routers.topK = 2;
    add();
    EXPECT_EQ(hashes[0], hashes[1]);
    for (std::size_t i = 2; i < hashes.size(); ++i) EXPECT_NE(hashes[i], hashes[i - 1]) << i;
}

TEST_F(MethodSetup, EveryMethodIsEvaluatedUnderItsName) {
    NullObserver observer;
    studies::EvalSettings eval;
    eval.compute = smallSearch(m_folder).compute;
    eval.task = smallSearch(m_folder).task;
    eval.task.limit = 1;
    auto store = openStore(m_folder / "lpes.db");
    const std::string factors = write("factors.csv", "1,2,3,4,5,6,7,8\n");
    for (const std::string& method :
         {std::string("ntk:2"), std::string("dynamic-ntk:2"), std::string("yarn:4+uniform:2"), std::string("ms-poe"),
          std::string("attention-buckets"), "longrope:" + factors, std::string("pi:2+uniform:0.5")}) {
        eval.method = method;
        const auto done = take(studies::runEvaluation(eval, *store, observer, {}));
        EXPECT_EQ(done.result["method"], method);
        EXPECT_EQ(done.result["applied"], "verified");
        EXPECT_EQ(take(store->reader().variants(done.runId)).front().name, method);
    }
}

}  // namespace
}  // namespace lpes::test
