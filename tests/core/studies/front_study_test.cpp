#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/exporters/profile.h"
#include "core/search/pareto.h"
#include "core/studies/front_query.h"
#include "core/studies/objectives.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report.h"
#include "core/studies/search_front.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using search::Objective;
using testing::HasSubstr;
using testing::Not;

class FrontStudy : public testing::Test {
  protected:
    FrontStudy() {
        settings.search.objectives = {Objective::Middle, Objective::Ends, Objective::Short};
        settings.guardrail.items = 5;
        settings.finalists = 2;
    }
    void refused(const studies::SearchRunSettings& wrong, const char* words) {
        const auto plan = studies::planSearch(wrong);
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().code, ErrorCode::Usage);
        EXPECT_THAT(plan.error().message, HasSubstr(words));
    }
    const StudyFolder folder{withContext(2048)};
    studies::SearchRunSettings settings = smallSearch(folder);
    NullObserver observer;
};

TEST_F(FrontStudy, LeavesAFrontToPickFrom) {
    auto store = openStore(folder / "lpes.db");
    const auto outcome = take(studies::runSearch(settings, *store, observer, {}));
    const json& result = outcome.result;
    EXPECT_EQ(result["state"], "finished");
    ASSERT_GE(result["front"].size(), 2u) << "one candidate is best at everything, so the test says little";
    int picked = 0, reported = 0;
    std::vector<search::Objectives> points;
    for (const json& member : result["front"]) {
        EXPECT_EQ(member["number"], points.size() + 1);
        const json& own = member["objectives"];
        points.push_back({own["middle"].get<double>(), own["ends"].get<double>(), own["short"].get<double>()});
        // Three positions: the score in the middle, and the mean of the two ends.
        EXPECT_DOUBLE_EQ(points.back()[0], member["by_position"][1].get<double>());
        EXPECT_NEAR(points.back()[1],
                    (member["by_position"][0].get<double>() + member["by_position"][2].get<double>()) / 2, 1e-12);
        EXPECT_NEAR(member["perplexity"].get<double>(), std::exp(-points.back()[2]), 1e-9);
        if (member["picked"] == true) {
            ++picked;
            EXPECT_EQ(member["scales"], result["best"]["scales"]);
            for (const char* key : {"p_value", "p_holm", "better", "verdict"})
                EXPECT_EQ(member["heldout"][key], result["heldout"][key]) << key;
        }
        if (!member["heldout"].is_object()) continue;
        ++reported;
        EXPECT_EQ(member["heldout"]["best"]["positions"].size(), 3u);
        EXPECT_EQ(member["heldout"]["p_holm"], nullptr) << "too few items for a test";
        EXPECT_EQ(member["heldout"]["objectives"]["short"], own["short"]) << "short texts are no split of the items";
    }
    EXPECT_EQ(picked, 1);
    EXPECT_EQ(reported, 2) << "as many as --finalists says";
    for (const auto& a : points) {
        for (const auto& b : points) EXPECT_FALSE(search::dominates(a, b));
    }
    EXPECT_EQ(result["history"].back()["front_size"], result["front"].size());

    store::StoreReader& reader = store->reader();
    for (const store::CandidateRow& row : take(reader.candidates(outcome.runId))) EXPECT_EQ(row.objectives.size(), 3u);
    for (const store::GenerationRow& row : take(reader.generations(outcome.runId))) EXPECT_TRUE(row.hypervolume);
}

TEST(FrontVerdict, OfTheRunsProfileIsThatOfThePickedMember) {
    json heldout{{"p_value", 0.02}, {"better", true}, {"verdict", "Better"}};
    const json other{{"p_holm", 0.01}, {"better", true}, {"verdict", "Better by Holm"}};
    const json own{{"p_holm", 0.06}, {"better", false}, {"verdict", "No significant difference"}};
    const json front{{{"picked", false}, {"heldout", other}},
                     {{"picked", true}, {"heldout", own}},
                     {{"picked", false}, {"heldout", nullptr}}};
    studies::takePickedVerdict(heldout, front);
    EXPECT_EQ(heldout,
              (json{{"p_value", 0.02}, {"p_holm", 0.06}, {"better", false}, {"verdict", "No significant difference"}}));
    const json before = heldout;
    studies::takePickedVerdict(heldout, json::array());
    EXPECT_EQ(heldout, before);
}

TEST_F(FrontStudy, EveryMembersProfileCanBeTaken) {
    auto store = openStore(folder / "lpes.db");
    const auto outcome = take(studies::runSearch(settings, *store, observer, {}));
    store::StoreReader& reader = store->reader();
    const auto run = take(reader.run(outcome.runId));
    const json& front = outcome.result["front"];
    for (const json& member : front) {
        const auto profile = take(studies::profileOfFront(reader, run, member["number"].get<int>()));
        EXPECT_EQ(profile.scales, member["scales"].get<std::vector<double>>());
        EXPECT_EQ(profile.provenance["front"]["of"], front.size());
        EXPECT_EQ(profile.provenance["item_hashes"], outcome.result["profile"]["provenance"]["item_hashes"]);
        // What is written can be read: the curve decodes to the scales.
        const auto loaded = exporters::profileFromJson(exporters::toJson(profile), "picked");
        ASSERT_TRUE(loaded) << loaded.error().text();
        EXPECT_THAT(loaded->warnings, testing::IsEmpty());
        if (member["heldout"].is_object()) {
            EXPECT_EQ(profile.provenance["heldout"]["p_value"], member["heldout"]["p_value"]);
            EXPECT_TRUE(profile.provenance["heldout"]["baseline"].is_object());
        } else {
            const auto reason = exporters::unprovenReason(profile);
            ASSERT_TRUE(reason);
            EXPECT_THAT(*reason, HasSubstr("never asked the held-out items"));
        }
        if (member["picked"] == true) {
            EXPECT_EQ(profile.scales, outcome.result["profile"]["scales"].get<std::vector<double>>());
        }
    }
    for (const int wrong : {0, -1, static_cast<int>(front.size()) + 1}) {
        const auto none = studies::profileOfFront(reader, run, wrong);
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().code, ErrorCode::Usage);
        EXPECT_THAT(none.error().message, HasSubstr("is no member of the front"));
    }
    settings.search.objectives.clear();
    const auto plain = take(studies::runSearch(settings, *store, observer, {}));
    EXPECT_FALSE(plain.result.contains("front"));
    const auto none = studies::profileOfFront(reader, take(reader.run(plain.runId)), 1);
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("has no front"));
}

TEST_F(FrontStudy, StoppedAnywhereAndResumedEndsInTheSameHistory) {
    auto whole = openStore(folder / "whole.db");
    const auto full = take(studies::runSearch(settings, *whole, observer, {}));
    const std::string expected = historyOf(whole->reader(), full.runId).dump();
    // In the baseline's texts, in the first generation, later, in the selection or the report.
    for (const int prompts : {3, 40, 120, 260}) {
        auto store = openStore(folder / (std::to_string(prompts) + ".db"));
        StopAfter stop(prompts);
        const auto first = take(studies::runSearch(settings, *store, stop, stop.token()));
        if (!first.stoppedEarly) continue;
        const auto second = studies::resumeSearch(first.runId, prompts % 3 + 1, *store, observer, {});
        ASSERT_TRUE(second) << second.error().text();
        EXPECT_EQ(historyOf(store->reader(), first.runId).dump(), expected) << prompts;
    }
}

TEST_F(FrontStudy, IsDrawnAndReported) {
    auto store = openStore(folder / "lpes.db");
    const auto outcome = take(studies::runSearch(settings, *store, observer, {}));
    store::StoreReader& reader = store->reader();
    const auto run = take(reader.run(outcome.runId));
    const auto data = studies::plotData(reader, run, "pareto");
    ASSERT_TRUE(data) << data.error().text();
    const auto& plot = std::get<analysis::ParetoPlot>(*data);
    EXPECT_THAT(plot.yLabel, HasSubstr("in the middle"));
    EXPECT_THAT(plot.xLabel, HasSubstr("at the ends"));
    EXPECT_THAT(plot.colorLabel, HasSubstr("short texts"));
    EXPECT_EQ(plot.generations.size(), outcome.result["history"].size());
    std::size_t front = 0;
    int picked = 0;
    for (const auto& member : plot.members) {
        picked += member.picked ? 1 : 0;
        if (member.number == 0) continue;
        ++front;
        const json& own = outcome.result["front"][static_cast<std::size_t>(member.number - 1)];
        EXPECT_EQ(member.y, own["objectives"]["middle"].get<double>());
        EXPECT_EQ(member.x, own["objectives"]["ends"].get<double>());
        EXPECT_EQ(member.color, own["objectives"]["short"].get<double>());
        EXPECT_EQ(member.picked, own["picked"].get<bool>());
    }
    EXPECT_EQ(front, outcome.result["front"].size());
    EXPECT_EQ(picked, 1);
    EXPECT_THAT(take(studies::reportHtml(reader, run, {})), HasSubstr("<h2>Pareto front</h2>"));

    settings.search.objectives.clear();
    const auto plain = take(studies::runSearch(settings, *store, observer, {}));
    const auto other = take(reader.run(plain.runId));
    EXPECT_FALSE(studies::plotData(reader, other, "pareto"));
    EXPECT_THAT(take(studies::reportHtml(reader, other, {})), Not(HasSubstr("Pareto front")));
}

TEST_F(FrontStudy, AFrontThatIsUnderWayIsDrawnToo) {
    auto store = openStore(folder / "lpes.db");
    StopAfter stop(120);
    const auto outcome = take(studies::runSearch(settings, *store, stop, stop.token()));
    ASSERT_TRUE(outcome.stoppedEarly);
    const auto run = take(store->reader().run(outcome.runId));
    const auto data = studies::plotData(store->reader(), run, "pareto");
    ASSERT_TRUE(data) << data.error().text();
    for (const auto& member : std::get<analysis::ParetoPlot>(*data).members) EXPECT_FALSE(member.picked);
    const auto none = studies::profileOfFront(store->reader(), run, 1);
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("a finished search"));
}

TEST_F(FrontStudy, RefusesWhatHasNoSuchObjective) {
    studies::SearchRunSettings wrong = settings;
    wrong.task.positions = "begin,end";
    refused(wrong, "--objectives middle has no position");
    wrong = settings;
    wrong.weights = {1.0, 0.0, 1.0};
    refused(wrong, "--objectives middle has no position");
    wrong.weights = {0.0, 1.0, 0.0};
    refused(wrong, "--objectives ends has no position");
    wrong = settings;
    wrong.guardrail.items = 0;
    refused(wrong, "--objectives short");
    wrong = settings;
    wrong.search.racing = 0.1;
    refused(wrong, "--racing");
    const auto read = take(studies::searchSettingsFromJson(studies::toJson(settings)));
    EXPECT_EQ(read.search.objectives, settings.search.objectives);
}

TEST_F(FrontStudy, CountsTheReportOfEveryFinalist) {
    const auto plan = take(studies::planSearch(settings));
    settings.finalists = 1;
    const auto fewer = take(studies::planSearch(settings));
    // One finalist fewer: three select items and six report items at three positions.
    EXPECT_EQ(plan["prompts"].get<std::int64_t>(), fewer["prompts"].get<std::int64_t>() + 3 * 3 + 6 * 3);
}

}  // namespace
}  // namespace lpes::test
