#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/model/answer_session.h"
#include "core/studies/plot_queries.h"
#include "core/studies/search_setup.h"
#include "core/studies/slope_evaluator.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::SearchRunSettings;
using testing::HasSubstr;

json whole(const StudyFolder& folder, const SearchRunSettings& settings) {
    auto store = openStore(folder / "whole.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(settings, *store, observer, {});
    EXPECT_TRUE(outcome) << outcome.error().text();
    return historyWithSlopesOf(store->reader(), outcome->runId);
}

TEST(DescentStudy, MeasuresEveryStepOnFreshSearchItemsAlone) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(descendingSearch(folder), *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->result["state"], "finished");
    store::StoreReader& reader = store->reader();
    const auto searched = take(reader.split(outcome->runId, "search"));
    const std::set<std::string> allowed(searched.begin(), searched.end());
    std::size_t steps = 0;
    std::set<std::string> seen;
    for (const store::VariantRow& variant : take(reader.variants(outcome->runId))) {
        const auto rows = take(reader.slopes(variant.id, "search"));
        steps += rows.empty() ? 0 : 1;
        for (const store::SlopeRow& row : rows) {
            EXPECT_TRUE(allowed.contains(row.itemId));
            EXPECT_EQ(row.slope.size(), variant.scales.size());
            seen.insert(row.itemId);
        }
        if (!rows.empty()) {
            EXPECT_EQ(rows.size(), 2u * 3u) << "two items at three positions";
        }
    }
    EXPECT_EQ(steps, 2u * 3u * 2u) << "two starts, three generations, two steps";
    EXPECT_EQ(seen, allowed) << "every item has its turn";
}

TEST(DescentStudy, ResumesToTheSameHistoryAlsoWithOtherWorkers) {
    const StudyFolder folder;
    const SearchRunSettings settings = descendingSearch(folder);
    const json expected = whole(folder, settings);
    for (const int prompts : {20, 45, 70, 110}) {
        const auto path = folder / ("cut" + std::to_string(prompts) + ".db");
        auto store = openStore(path);
        StopAfter stop(prompts);
        const auto first = studies::runSearch(settings, *store, stop, stop.token());
        ASSERT_TRUE(first) << first.error().text();
        ASSERT_TRUE(first->stoppedEarly);
        NullObserver observer;
        const auto second = studies::resumeSearch(first->runId, prompts % 2 + 1, *store, observer, {});
        ASSERT_TRUE(second) << second.error().text();
        EXPECT_EQ(historyWithSlopesOf(store->reader(), first->runId), expected) << prompts;
    }
}

TEST(DescentStudy, RacesResumeToTheSameHistory) {
    const StudyFolder folder;
    SearchRunSettings settings = smallSearch(folder);
    settings.search.racing = 0.4;
    settings.searchItems = 8;
    const json expected = whole(folder, settings);
    EXPECT_THAT(expected.dump(), HasSubstr("given up after")) << "nobody fell behind, so the test says nothing";
    auto store = openStore(folder / "cut.db");
    StopAfter stop(60);
    const auto first = studies::runSearch(settings, *store, stop, stop.token());
    ASSERT_TRUE(first) << first.error().text();
    ASSERT_TRUE(first->stoppedEarly);
    NullObserver observer;
    const auto second = studies::resumeSearch(first->runId, 2, *store, observer, {});
    ASSERT_TRUE(second) << second.error().text();
    // As text: a fitness that is not there is no number, and equals nothing.
    EXPECT_EQ(historyWithSlopesOf(store->reader(), first->runId).dump(), expected.dump());
}

TEST(DescentStudy, RacesAreNotLostWhenARunGoesOnBehindItsTimeLimit) {
    const StudyFolder folder;
    SearchRunSettings settings = smallSearch(folder);
    settings.search.racing = 0.4;
    settings.search.population = 8;
    settings.search.maxGenerations = 4;
    settings.search.timeLimitSeconds = 1e6;
    settings.searchItems = 8;
    auto store = openStore(folder / "lpes.db");
    StopAtStage last("generation 4");
    const std::int64_t run = take(studies::runSearch(settings, *store, last, last.token())).runId;
    const auto before = take(store->reader().generations(run));
    ASSERT_EQ(before.size(), 4u);
    std::int64_t givenUp = 0;
    for (const store::CandidateRow& row : take(store->reader().candidates(run)))
        givenUp += row.state == store::CandidateRow::State::GivenUp && row.duplicateGeneration < 0;
    EXPECT_GT(givenUp, 0) << "nobody fell behind, so the test says nothing";
    ASSERT_TRUE(store->endRun(run, store::RunState::Stopped, 2e6, "stopped", "", ""));
    NullObserver observer;
    const json result = take(studies::resumeSearch(run, 2, *store, observer, {})).result;
    EXPECT_EQ(result["end_reason"], "time_limit");
    EXPECT_EQ(result["history"].size(), 4u);
    EXPECT_EQ(result["given_up"], givenUp);
    EXPECT_EQ(result["evaluations"], before.back().evaluations);
}

TEST(DescentStudy, ARaceCountsEveryPromptThatItAskedOnce) {
    const StudyFolder folder;
    SearchRunSettings settings = smallSearch(folder);
    settings.search.racing = 0.4;
    settings.searchItems = 8;
    settings.analysisItems = 0;
    auto store = openStore(folder / "raced.db");
    NullObserver observer;
    const auto raced = take(studies::runSearch(settings, *store, observer, {}));
    EXPECT_GT(raced.result["given_up"], 0) << "nobody fell behind, so the test says nothing";
    const std::int64_t candidates = raced.result["evaluations"].get<std::int64_t>();
    const json plan = take(studies::planSearch(settings));
    std::int64_t spared = (plan["candidates"].get<std::int64_t>() - candidates) * 8 * 3;
    for (const store::CandidateRow& row : take(store->reader().candidates(raced.runId))) {
        const bool givenUp = row.state == store::CandidateRow::State::GivenUp && row.duplicateGeneration < 0;
        if (givenUp) spared += 8 * 3 - std::ssize(take(store->reader().outcomes(row.variantId, "search")));
    }
    EXPECT_GT(spared, 0);
    EXPECT_EQ(raced.result["prompts"].get<std::int64_t>(), plan["prompts"].get<std::int64_t>() - spared);
}

TEST(DescentStudy, RefinesTheBestOfAGeneticSearchPerHeadAndBand) {
    const StudyFolder folder;
    for (const char* per : {"layer", "kv-head", "band:3,8"}) {
        SCOPED_TRACE(per);
        SearchRunSettings settings = smallSearch(folder);
        settings.search.groups = take(curve::parseGroups(per));
        settings.search.gradient = {2, 1, 1, 1, 0.1};
        settings.search.maxGenerations = 1;
        auto store = openStore(folder / (std::string(per).substr(0, 2) + ".db"));
        NullObserver observer;
        const auto outcome = studies::runSearch(settings, *store, observer, {});
        ASSERT_TRUE(outcome) << outcome.error().text();
        EXPECT_EQ(outcome->result["state"], "finished");
    }
}

TEST(DescentStudy, LeavesASensitivityMapOfTheBaselineAndTheBest) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(smallSearch(folder), *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    const auto run = take(store->reader().run(outcome->runId));
    const auto plot = studies::plotData(store->reader(), run, "sensitivity");
    ASSERT_TRUE(plot) << plot.error().text();
    const auto& map = std::get<analysis::SensitivityPlot>(*plot);
    ASSERT_GE(map.series.size(), 1u);
    EXPECT_EQ(map.series.front().name, "baseline");
    EXPECT_EQ(map.series.front().items, smallSearch(folder).analysisItems);
    ASSERT_EQ(map.series.front().rows.size(), 3u);
    EXPECT_EQ(map.series.front().rows[1].label, "middle");
    EXPECT_EQ(map.series.front().rows[0].slope.size(), 2u);
}

/// A model's session that notes how many prompts it is asked in one pass.
class NotingSession final : public model::AnswerSession {
  public:
    explicit NotingSession(model::ModelSession& session) : m_session(session) {}
    Result<std::vector<model::AnswerScore>> scoreAnswers(std::span<const model::ScoredPrompt> batch,
                                                         const model::PositionMethod& method, std::stop_token stop,
                                                         const model::ScoreOptions& options) override {
        return m_session.scoreAnswers(batch, method, std::move(stop), options);
    }
    Result<std::vector<model::GeneratedAnswer>> generateAnswers(std::span<const std::vector<model::TokenId>> prompts,
                                                                const model::PositionMethod& method,
                                                                const model::GenerateOptions& options,
                                                                std::stop_token stop) override {
        return m_session.generateAnswers(prompts, method, options, std::move(stop));
    }
    Result<std::vector<model::ScaleGradient>> scaleGradients(std::span<const model::ScoredPrompt> batch,
                                                             const model::PositionMethod& method, std::stop_token stop,
                                                             const model::GradientOptions& options) override {
        passes.push_back(batch.size());
        shared.push_back(options.sharePrefixes);
        return m_session.scaleGradients(batch, method, std::move(stop), options);
    }
    std::vector<std::size_t> passes;
    std::vector<bool> shared;

  private:
    model::LocalSession m_session;
};

/// Rounding depends on who shares a pass, and a resumed run may find an item's slopes stored that it asks with others.
TEST(ItemSlopes, AreMeasuredWithoutOtherItemsInThePass) {
    const StudyFolder folder;
    SearchRunSettings settings = smallSearch(folder);
    settings.analysisItems = 0;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const std::int64_t run = take(studies::runSearch(settings, *store, observer, {})).runId;
    class Unwatched final : public studies::ChunkObserver {
      public:
        Result<void> chunkDone(std::int64_t, std::int64_t) override { return {}; }
    } unwatched;
    for (const auto& [size, passes] :
         {std::pair(4, std::vector<std::size_t>{3, 3}), std::pair(2, std::vector<std::size_t>{2, 1, 2, 1})}) {
        SCOPED_TRACE(size);
        settings.compute.batchSize = size;
        settings.compute.sharePrefixes = size > 3;
        const auto prepared = take(studies::prepareSearch(settings, std::nullopt, observer, {}));
        const auto items = studies::entriesByItem(prepared.searchPlan);
        std::vector<std::size_t> entries = items[0];
        entries.insert(entries.end(), items[2].begin(), items[2].end());
        const std::vector<double> scales{1.1, 0.9 + size / 100.0};
        const auto variant = take(store->ensureVariant(run, "descent", scales));
        const auto session = prepared.bench.model.lm->newSession(1);
        NotingSession noting(*session);
        const studies::SlopeSubject subject{
            prepared.searchPlan, settings.search.groups, scales, *store, variant, "search"};
        const auto rows = take(studies::measureItemSlopes(subject, entries, noting, unwatched, {}));
        EXPECT_EQ(noting.passes, passes);
        EXPECT_EQ(noting.shared, std::vector<bool>(passes.size(), prepared.searchPlan.pass().sharePrefixes));
        EXPECT_EQ(rows.size(), entries.size());
        const auto again = take(studies::measureItemSlopes(subject, items[2], noting, unwatched, {}));
        EXPECT_EQ(noting.passes, passes) << "what is stored is not measured again";
        for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].slope, rows[items[0].size() + i].slope);
    }
}

TEST(WeightedSlope, IsThatOfTheFitnessTurnedRound) {
    const studies::MeanSlopes means{{1.0, 3.0, 2.0}, {{1.0, 0.0}, {0.0, 1.0}, {2.0, 2.0}}};
    const auto slope = studies::weightedSlope(means, {1.0, 2.0, 1.0}, 0.5);
    EXPECT_DOUBLE_EQ(slope.loss, -search::weightedFitness({-1.0, -3.0, -2.0}, {1.0, 2.0, 1.0}, 0.5));
    EXPECT_DOUBLE_EQ(slope.byScale[0], 0.25 * 1.0 + 0.25 * 2.0 - 0.5 * 1.0);
    EXPECT_DOUBLE_EQ(slope.byScale[1], 0.5 * 1.0 + 0.25 * 2.0 + 0.5 * 1.0);
}

TEST(WeightedSlope, HasNoGapWhereThereIsOnePosition) {
    const auto slope = studies::weightedSlope({{1.5}, {{0.25}}}, {1.0}, 2.0);
    EXPECT_DOUBLE_EQ(slope.loss, 1.5);
    EXPECT_DOUBLE_EQ(slope.byScale[0], 0.25);
}

}  // namespace
}  // namespace lpes::test
