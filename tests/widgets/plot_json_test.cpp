#include "core/analysis/plot_json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/widgets/sample_plots.h"

using lpes::analysis::fromJson;
using lpes::analysis::toJson;
using testing::HasSubstr;

namespace {

std::string refusal(const nlohmann::json& json) {
    const auto result = fromJson(json);
    if (result) return "accepted";
    EXPECT_EQ(result.error().code, lpes::ErrorCode::BadInput);
    return result.error().message;
}

}  // namespace

TEST(PlotJson, RoundTripsEveryKindThroughText) {
    for (const auto& plot : lpes::test::allPlots()) {
        const nlohmann::json json = toJson(plot);
        EXPECT_EQ(json["kind"], lpes::test::kindOf(plot));
        const auto back = fromJson(nlohmann::json::parse(json.dump()));
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(back->index(), plot.index());
        EXPECT_EQ(toJson(*back), json) << lpes::test::kindOf(plot);
    }
}

TEST(PlotJson, RoundTripKeepsEveryDigit) {
    auto curve = lpes::test::curvePlot();
    curve.series[1].scales[3] = 0.1 + 0.2;
    const auto back = fromJson(nlohmann::json::parse(toJson(curve).dump()));
    ASSERT_TRUE(back);
    EXPECT_EQ(std::get<lpes::analysis::CurvePlot>(*back).series[1].scales[3], 0.1 + 0.2);
}

TEST(PlotJson, ValuesThatAreNotFiniteTravelAsNull) {
    for (const auto& plot : lpes::test::brokenPlots()) {
        const nlohmann::json json = toJson(plot);
        const auto back = fromJson(nlohmann::json::parse(json.dump()));
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(toJson(*back), json);
    }
    const auto back = fromJson(toJson(lpes::test::brokenPlots()[0]));
    EXPECT_TRUE(std::isnan(std::get<lpes::analysis::CurvePlot>(*back).series[1].scales[7]));
}

TEST(PlotJson, RefusesByNameWhatDoesNotFit) {
    const nlohmann::json good = toJson(lpes::test::curvePlot());
    EXPECT_THAT(refusal(nlohmann::json::array()), HasSubstr("object"));
    EXPECT_THAT(refusal({{"title", "x"}}), HasSubstr("\"kind\""));

    auto bad = good;
    bad["kind"] = "pie";
    EXPECT_THAT(refusal(bad), HasSubstr("\"pie\""));
    bad = good;
    bad["colour"] = "red";
    EXPECT_THAT(refusal(bad), HasSubstr("unknown key \"colour\""));
    bad = good;
    bad.erase("subtitle");
    EXPECT_THAT(refusal(bad), HasSubstr("lacks the key \"subtitle\""));
    bad = good;
    bad["series"][1]["role"] = "bset";
    EXPECT_THAT(refusal(bad), HasSubstr("series[1].role is \"bset\""));
    bad = good;
    bad["series"][1]["scales"][2] = "wide";
    EXPECT_THAT(refusal(bad), HasSubstr("series[1].scales[2] is \"wide\""));
    bad = good;
    bad["series"][1]["line"][0] = {1.0, 2.0, 3.0};
    EXPECT_THAT(refusal(bad), HasSubstr("series[1].line[0] has 3 numbers"));
    bad = good;
    bad["trained_context"] = -1;
    EXPECT_THAT(refusal(bad), HasSubstr("trained_context is -1"));
    bad["trained_context"] = 18446744073709551615ULL;
    EXPECT_THAT(refusal(bad), HasSubstr("trained_context is 18446744073709551615"));
    bad = good;
    bad["scale_min"] = 3.0;
    EXPECT_THAT(refusal(bad), HasSubstr("scale_min"));
}

TEST(PlotJson, RefusesArraysWhoseLengthsDoNotFitTogether) {
    nlohmann::json deviation = toJson(lpes::test::deviationPlot());
    deviation["series"][0]["low"].push_back(1.0);
    EXPECT_THAT(refusal(deviation), HasSubstr("31 values in \"low\"; 30 are expected"));
    nlohmann::json attention = toJson(lpes::test::attentionPlot());
    attention["series"][0]["positions"][2]["share_by_layer"][4].push_back(0.5);
    EXPECT_THAT(refusal(attention), HasSubstr("positions[2].share_by_layer[4] has 21 values"));
    attention = toJson(lpes::test::attentionPlot());
    attention["series"][0]["positions"][2]["mean_per_token"].push_back(0.5);
    EXPECT_THAT(refusal(attention), HasSubstr("\"mean_per_token\""));
}
