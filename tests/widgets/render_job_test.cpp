#include "app/render/render_job.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/analysis/plot_json.h"
#include "tests/widgets/sample_plots.h"

using namespace lpes;
using testing::HasSubstr;

namespace {

nlohmann::json job() {
    return {{"plots",
             {{{"data", analysis::toJson(test::curvePlot())},
               {"out", {"a.svg", "a.pdf"}},
               {"theme", "dark"},
               {"width_mm", 85}},
              {{"data", analysis::toJson(test::accuracyPlot())}, {"out", {"b.png"}}}}}};
}

Error refusal(const nlohmann::json& json) {
    const auto result = render::parseJob(json.dump(), {});
    return result ? Error{} : result.error();
}

}  // namespace

TEST(RenderJob, ReadsSeveralPlotsWithTheirOwnOptions) {
    widgets::RenderOptions defaults;
    defaults.dpi = 300;
    const auto pictures = render::parseJob(job().dump(), defaults);
    ASSERT_TRUE(pictures) << pictures.error().text();
    ASSERT_EQ(pictures->size(), 2u);
    EXPECT_THAT((*pictures)[0].out, testing::ElementsAre("a.svg", "a.pdf"));
    EXPECT_TRUE((*pictures)[0].options.dark);
    EXPECT_EQ((*pictures)[0].options.widthMm, 85.0);
    EXPECT_EQ((*pictures)[0].options.dpi, 300.0);
    EXPECT_FALSE((*pictures)[1].options.dark);
    EXPECT_EQ((*pictures)[1].options.widthMm, 170.0);
}

TEST(RenderJob, RefusesByNameWhatDoesNotFit) {
    EXPECT_EQ(render::parseJob("{", {}).error().code, ErrorCode::BadInput);
    EXPECT_THAT(refusal(nlohmann::json::object()).message, HasSubstr("\"plots\""));
    auto bad = job();
    bad["extra"] = 1;
    EXPECT_THAT(refusal(bad).message, HasSubstr("extra"));
    bad = job();
    bad["plots"][1].erase("out");
    EXPECT_THAT(refusal(bad).message, HasSubstr("plots[1] lacks the key \"out\""));
    bad = job();
    bad["plots"][1]["out"] = nlohmann::json::array();
    EXPECT_THAT(refusal(bad).message, HasSubstr("plots[1].out"));
    bad = job();
    bad["plots"][0]["theme"] = "blue";
    EXPECT_THAT(refusal(bad).message, HasSubstr("\"blue\""));
    bad = job();
    bad["plots"][0]["widht_mm"] = 85;
    EXPECT_THAT(refusal(bad).message, HasSubstr("widht_mm"));
    bad = job();
    bad["plots"][1]["data"]["series"][0]["role"] = 7;
    EXPECT_THAT(refusal(bad).text(), HasSubstr("plots[1].data: "));
    EXPECT_THAT(refusal(bad).text(), HasSubstr("series[0].role is 7"));
    bad = job();
    bad["plots"][1]["out"] = {"b.png", "b.bmp"};
    EXPECT_EQ(refusal(bad).code, ErrorCode::Unsupported);
    bad = job();
    bad["plots"][1]["dpi"] = 1e9;
    EXPECT_EQ(refusal(bad).code, ErrorCode::Usage);
}
