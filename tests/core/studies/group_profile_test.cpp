#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/exporters/longrope_csv.h"
#include "core/studies/inspect.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report.h"
#include "core/studies/search_setup.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two layers, four heads in two groups, eight frequencies.
class GroupProfiles : public testing::Test {
  protected:
    /// A profile with these rows of scales, one for each layer.
    [[nodiscard]] std::string profile(const std::string& name, const curve::ScaleGroups& groups,
                                      const std::vector<double>& scales) const {
        exporters::Profile made;
        made.groups = groups;
        made.scales = scales;
        made.model.layers = made.layers();
        std::ofstream(m_folder / name) << exporters::toJson(made);
        return (m_folder / name).string();
    }
    [[nodiscard]] json inspected(const std::string& method) const {
        NullObserver observer;
        return take(studies::inspectModel(m_folder.model(), method, "cpu", observer));
    }
    [[nodiscard]] Error refusal(const std::string& method) const {
        NullObserver observer;
        const auto shown = studies::inspectModel(m_folder.model(), method, "cpu", observer);
        EXPECT_FALSE(shown.has_value()) << method;
        return shown ? Error{} : shown.error();
    }
    /// NLL of every prompt of a few items, in order.
    [[nodiscard]] std::vector<double> nlls(const std::string& method) {
        NullObserver observer;
        studies::EvalSettings eval;
        eval.compute = smallSearch(m_folder).compute;
        eval.task = smallSearch(m_folder).task;
        eval.task.limit = 2;
        eval.method = method;
        const auto done = take(studies::runEvaluation(eval, *m_store, observer, {}));
        EXPECT_EQ(done.result["applied"], "verified");
        const auto variant = take(m_store->reader().variants(done.runId)).front();
        if (method.find(".json") != std::string::npos) {
            EXPECT_THAT(variant.scales, IsEmpty()) << "variants by layer are told apart by their scales";
            EXPECT_EQ(variant.name, method);
        }
        std::vector<double> out;
        for (const store::OutcomeRow& row : take(m_store->reader().outcomes(variant.id, "eval")))
            out.push_back(row.nll);
        EXPECT_EQ(out.size(), 6u);
        return out;
    }

    const StudyFolder m_folder;
    std::unique_ptr<store::StoreWriter> m_store = openStore(m_folder / "lpes.db");
    const curve::ScaleGroups m_heads = curve::ScaleGroups::kvHeads(2);
    const curve::ScaleGroups m_bands = curve::ScaleGroups::bands({2, 5, 8});
};

TEST_F(GroupProfiles, EqualScalesOfAllHeadsAreTheScaleOfTheirLayerToTheBit) {
    std::ofstream(m_folder / "layer.csv") << "0,1.25\n1,1.6\n";
    const auto layer = nlls("lpes:" + (m_folder / "layer.csv").string());
    EXPECT_EQ(nlls("lpes:" + profile("heads.json", m_heads, {1.25, 1.25, 1.6, 1.6})), layer);
    EXPECT_NE(nlls("lpes:" + profile("other.json", m_heads, {1.25, 1.25, 1.6, 1.1})), layer);
}

/// Frequencies are equal to the bit. Angles are m·(θ/s) for a band and (m/s)·θ for a layer, which differ by the
/// rounding of two operations in double; cos and sin of a prompt's few hundred positions are then equal in nearly all
/// of their 24 bits, and a likelihood follows them.
TEST_F(GroupProfiles, EqualScalesOfAllBandsAreTheScaleOfTheirLayerWithinRounding) {
    std::ofstream(m_folder / "layer.csv") << "0,1.25\n1,1.6\n";
    const std::string layer = "lpes:" + (m_folder / "layer.csv").string();
    const std::string bands = "lpes:" + profile("bands.json", m_bands, {1.25, 1.25, 1.25, 1.6, 1.6, 1.6});
    EXPECT_EQ(inspected(bands)["inv_freq"], inspected(layer)["inv_freq"]);
    const auto one = nlls(layer), other = nlls(bands);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(other[i], one[i], 1e-5) << i;
    EXPECT_EQ(nlls("lpes:" + profile("ones.json", m_bands, {1, 1, 1, 1, 1, 1})), nlls("baseline"));
}

TEST_F(GroupProfiles, InspectShowsHeadsAndFrequencies) {
    const json heads = inspected("lpes:" + profile("heads.json", m_heads, {1.0, 1.5, 2.0, 0.5}));
    EXPECT_EQ(heads["head_scales"], json({{1.0, 1.5}, {2.0, 0.5}}));
    EXPECT_EQ(heads["layer_scales"], json({1.0, 1.0}));
    EXPECT_THAT(heads["method_meaning"][0]["meaning"].get<std::string>(), HasSubstr("each key/value head"));
    const json bands = inspected("lpes:" + profile("bands.json", m_bands, {1, 2, 4, 0.5, 1, 8}));
    const json plain = inspected("baseline");
    const std::vector<std::vector<double>> divisors{{1, 1, 2, 2, 2, 4, 4, 4}, {0.5, 0.5, 1, 1, 1, 8, 8, 8}};
    EXPECT_EQ(bands["divisors"], json(divisors));
    for (std::size_t layer = 0; layer < 2; ++layer) {
        for (std::size_t i = 0; i < 8; ++i) {
            EXPECT_EQ(bands["inv_freq"][layer][i].get<double>(),
                      plain["inv_freq"][layer][i].get<double>() / divisors[layer][i]);
        }
    }
    EXPECT_THAT(bands["method_meaning"][0]["meaning"].get<std::string>(), HasSubstr("bands of frequencies"));
}

TEST_F(GroupProfiles, GoWithOtherMethods) {
    const std::string bands = "lpes:" + profile("bands.json", m_bands, {1, 2, 4, 0.5, 1, 8});
    const std::string heads = "lpes:" + profile("heads.json", m_heads, {1.0, 1.5, 2.0, 0.5});
    const json yarn = inspected("yarn:2"), both = inspected("yarn:2+" + bands);
    EXPECT_EQ(both["inv_freq"][0][7].get<double>(), yarn["inv_freq"][0][7].get<double>() / 4.0);
    EXPECT_EQ(both["method_cost"]["context"], 1024);
    const json pi = inspected("pi:2+" + heads);
    EXPECT_EQ(pi["layer_scales"], json({2.0, 2.0}));
    EXPECT_EQ(pi["head_scales"], json({{1.0, 1.5}, {2.0, 0.5}}));
    for (const std::string& method : {"yarn:2+" + bands, "pi:2+" + heads, "pi:2+" + bands, "ntk:2+" + heads}) {
        for (const double nll : nlls(method)) EXPECT_TRUE(std::isfinite(nll)) << method;
    }
}

TEST_F(GroupProfiles, OfAnotherModelAreRefusedByName) {
    const Error heads =
        refusal("lpes:" + profile("heads.json", curve::ScaleGroups::kvHeads(3), std::vector<double>(6, 1.0)));
    EXPECT_EQ(heads.code, ErrorCode::BadInput);
    EXPECT_THAT(heads.message, AllOf(HasSubstr("3 key/value heads"), HasSubstr("the model has 2")));
    const Error bands =
        refusal("lpes:" + profile("bands.json", curve::ScaleGroups::bands({4, 16}), std::vector<double>(4, 1.0)));
    EXPECT_EQ(bands.code, ErrorCode::BadInput);
    EXPECT_THAT(bands.message, AllOf(HasSubstr("frequency 16"), HasSubstr("8 frequencies")));
}

TEST_F(GroupProfiles, BandsExportedAsLongRopeGiveTheSameFrequencies) {
    const std::string file = profile("bands.json", m_bands, {1, 2, 4, 0.55, 1.15, 8});
    const auto loaded = take(exporters::readProfile(file));
    std::ofstream(m_folder / "factors.csv") << take(exporters::profileToLongRope(loaded.profile, 8));
    const std::string factors = "longrope:" + (m_folder / "factors.csv").string();
    EXPECT_EQ(inspected(factors)["inv_freq"], inspected("lpes:" + file)["inv_freq"]);
    EXPECT_EQ(nlls(factors), nlls("lpes:" + file));
}

TEST_F(GroupProfiles, DeviationVariantsRefuseThem) {
    studies::DeviationSettings settings;
    settings.compute = smallSearch(m_folder).compute;
    settings.task = smallSearch(m_folder).task;
    settings.variants = {"smooth", "noisy"};
    settings.profiles = {profile("heads.json", m_heads, {1, 1, 1, 1})};
    NullObserver observer;
    const auto refused = studies::runDeviation(settings, *m_store, observer, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("heads.json"), HasSubstr("key/value head")));
}

TEST_F(GroupProfiles, ASearchOfHeadsStoppedAndResumedEndsInTheSameHistory) {
    studies::SearchRunSettings settings = smallSearch(m_folder);
    settings.search.groups = curve::ScaleGroups::kvHeads(0);
    NullObserver quiet;
    auto whole = openStore(m_folder / "whole.db");
    const auto done = take(studies::runSearch(settings, *whole, quiet, {}));
    StopAfter observer(24);
    auto stopped = take(studies::runSearch(settings, *m_store, observer, observer.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    EXPECT_EQ(stopped.result["best"]["scales"][0].size(), 2u);
    const auto resumed = take(studies::resumeSearch(stopped.runId, std::nullopt, *m_store, quiet, {}));
    EXPECT_EQ(historyOf(m_store->reader(), resumed.runId), historyOf(whole->reader(), done.runId));

    EXPECT_EQ(done.result["settings"]["per"]["value"], "kv-head");
    EXPECT_EQ(done.result["best"]["scales"].size(), 2u);
    EXPECT_EQ(done.result["best"]["control_points"].size(), 2u);
    EXPECT_EQ(done.result["best"]["control_points"][1].size(), 4u);
    const auto profiles = take(whole->reader().profiles(done.runId));
    const auto profile = take(exporters::profileFromJson(profiles.front().json, "stored profile"));
    EXPECT_THAT(profile.warnings, IsEmpty());
    EXPECT_EQ(profile.profile.groups, m_heads);
    EXPECT_EQ(exporters::scalesJson(profile.profile), done.result["best"]["scales"]);
    EXPECT_EQ(profile.profile.curves.size(), 2u);
    EXPECT_THAT(take(whole->reader().deviations(done.runId)), testing::SizeIs(2)) << "of the profile alone";
}

TEST_F(GroupProfiles, ASearchOfBandsDrawsEachOfThem) {
    studies::SearchRunSettings settings = smallSearch(m_folder);
    settings.search.groups = m_bands;
    settings.search.maxGenerations = 1;
    NullObserver quiet;
    const auto done = take(studies::runSearch(settings, *m_store, quiet, {}));
    store::StoreReader& reader = m_store->reader();
    const auto run = take(reader.run(done.runId));
    const auto plot = std::get<analysis::CurvePlot>(take(studies::plotData(reader, run, "curve")));
    ASSERT_EQ(plot.series.size(), 3u);
    EXPECT_THAT(plot.title, HasSubstr("band of frequencies"));
    EXPECT_EQ(plot.series[0].name, "band 0–1");
    EXPECT_EQ(plot.series[2].name, "band 5–7");
    for (std::size_t band = 0; band < 3; ++band) {
        EXPECT_EQ(plot.series[band].scales.size(), 2u);
        EXPECT_EQ(plot.series[band].scales[1], done.result["best"]["scales"][1][band].get<double>());
        EXPECT_EQ(plot.series[band].controlPoints.size(), 4u);
        EXPECT_EQ(plot.series[band].controlPoints[0].second,
                  done.result["best"]["control_points"][band][0][1].get<double>());
    }
    const auto population = take(studies::populationOf(reader, run));
    EXPECT_THAT(population.groupNames, ElementsAre("band 0–1", "band 2–4", "band 5–7"));
    EXPECT_EQ(population.best->scales.size(), 6u);
    for (const char* kind : {"accuracy", "convergence", "attention", "deviation"}) {
        EXPECT_TRUE(studies::plotData(reader, run, kind)) << kind;
    }

    StopAfter observer(12);
    const auto stopped = take(studies::runSearch(settings, *m_store, observer, observer.token()));
    const auto begun = take(reader.run(stopped.runId));
    EXPECT_EQ(std::get<analysis::CurvePlot>(take(studies::plotData(reader, begun, "curve"))).series.size(), 3u);
}

TEST_F(GroupProfiles, ASearchNeedsBandsOfTheModel) {
    studies::SearchRunSettings settings = smallSearch(m_folder);
    settings.search.groups = curve::ScaleGroups::bands({4, 16});
    NullObserver quiet;
    const auto refused = studies::runSearch(settings, *m_store, quiet, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("--per band:4,16"), HasSubstr("8 frequencies")));
    EXPECT_EQ(studies::planSearch(settings).error().message, refused.error().message);
    settings.search.groups = curve::ScaleGroups::kvHeads(0);
    EXPECT_TRUE(studies::planSearch(settings));
}

TEST_F(GroupProfiles, SettingsKeepWhatScalesBelongTo) {
    studies::SearchRunSettings settings = smallSearch(m_folder);
    json stored = studies::toJson(settings);
    EXPECT_EQ(stored["per"]["value"], "layer");
    stored.erase("per");
    EXPECT_TRUE(take(studies::searchSettingsFromJson(stored)).search.groups.perLayer()) << "runs of earlier versions";
    settings.search.groups = m_bands;
    EXPECT_EQ(take(studies::searchSettingsFromJson(studies::toJson(settings))).search.groups, m_bands);
    stored["per"] = {{"value", "head"}, {"origin", "flag"}};
    EXPECT_FALSE(studies::searchSettingsFromJson(stored).has_value());
}

}  // namespace
}  // namespace lpes::test
