#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "core/base/clock.h"
#include "core/exporters/profile.h"
#include "core/model/causal_lm.h"
#include "core/model/torch/torch_runtime.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::StudyOutcome;
using testing::HasSubstr;

json uninterrupted(const StudyFolder& folder, const studies::SearchRunSettings& settings) {
    auto store = openStore(folder / "whole.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(settings, *store, observer, {});
    EXPECT_TRUE(outcome) << outcome.error().text();
    return historyOf(store->reader(), outcome->runId);
}

TEST(SearchStudy, LeavesACompleteRun) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(smallSearch(folder), *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_FALSE(outcome->stoppedEarly);
    const json& result = outcome->result;
    EXPECT_EQ(result["state"], "finished");
    EXPECT_EQ(result["end_reason"], "generations");
    EXPECT_EQ(result["generations"], 3);
    EXPECT_EQ(result["history"].size(), 4u);
    EXPECT_EQ(result["evaluations"].get<int>() + result["cache_hits"].get<int>(), 6 + 3 * 3);
    EXPECT_EQ(result["best"]["scales"].size(), 2u);
    EXPECT_EQ(result["best"]["control_points"].size(), 4u);
    EXPECT_EQ(result["heldout"]["baseline"]["positions"].size(), 3u);
    for (const char* side : {"baseline", "best"}) {
        const auto& said = result["heldout"][side];
        EXPECT_LE(said["mean_accuracy_interval"]["low"], said["mean_accuracy"]) << side;
        EXPECT_GE(said["mean_accuracy_interval"]["high"], said["mean_accuracy"]) << side;
        EXPECT_LT(said["mean_accuracy_interval"]["low"], said["mean_accuracy_interval"]["high"]) << side;
    }
    EXPECT_EQ(result["heldout"]["best"]["positions"][0]["n"], 6);
    EXPECT_EQ(result["heldout"]["p_value"], nullptr) << "six items are too few for a test";
    EXPECT_THAT(result["heldout"]["verdict"].get<std::string>(), testing::HasSubstr("too few items, 6 "));
    for (const char* side : {"nll_difference_low", "nll_difference_high"})
        EXPECT_EQ(result["heldout"][side], nullptr) << "and for an interval";
    EXPECT_TRUE(result["heldout"]["score_difference"]["mean"].is_number());
    EXPECT_EQ(result["heldout"]["score_difference"]["low"], nullptr);
    EXPECT_EQ(result["applied"], "verified");

    store::StoreReader& reader = store->reader();
    const auto run = reader.run(outcome->runId);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->state, store::RunState::Finished);
    EXPECT_EQ(run->threadsPerWorker, 1);
    EXPECT_EQ(run->batchSize, 3) << "one item at all its positions";
    EXPECT_EQ(reader.generations(run->id)->size(), 4u);
    EXPECT_EQ(reader.candidates(run->id)->size(), 6u + 3u * 3u);
    EXPECT_FALSE(reader.attention(run->id)->empty());
    EXPECT_FALSE(reader.deviations(run->id)->empty());

    const auto profiles = reader.profiles(run->id);
    ASSERT_TRUE(profiles);
    ASSERT_EQ(profiles->size(), 1u);
    const auto profile = exporters::profileFromJson(profiles->front().json, "stored profile");
    ASSERT_TRUE(profile) << profile.error().text();
    EXPECT_EQ(profile->profile.scales, result["best"]["scales"].get<std::vector<double>>());
    EXPECT_THAT(profile->warnings, testing::IsEmpty());
}

TEST(SearchStudy, SplitsAreDisjointAndReportedItemsWereNeverSearched) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(smallSearch(folder), *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    std::set<std::string> seen;
    for (const char* split : {"search", "select", "report"}) {
        for (const std::string& item : take(store->reader().split(outcome->runId, split))) {
            EXPECT_TRUE(seen.insert(item).second) << item << " is in two splits";
        }
    }
    EXPECT_EQ(seen.size(), 3u + 3u + 6u);
    const auto report = take(store->reader().split(outcome->runId, "report"));
    const std::set<std::string> held(report.begin(), report.end());
    for (const store::VariantRow& variant : take(store->reader().variants(outcome->runId))) {
        for (const char* split : {"search", "select"}) {
            for (const store::OutcomeRow& row : take(store->reader().outcomes(variant.id, split))) {
                EXPECT_FALSE(held.contains(row.itemId));
            }
        }
    }
}

TEST(SearchStudy, HistoryDoesNotDependOnTheNumberOfWorkers) {
    const StudyFolder folder;
    const json one = uninterrupted(folder, smallSearch(folder));
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.compute.workers = 3;
    auto store = openStore(folder / "three.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(settings, *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(historyOf(store->reader(), outcome->runId), one);
}

TEST(SearchStudy, StoppedAnywhereAndResumedEndsInTheSameHistory) {
    const StudyFolder folder;
    const json whole = uninterrupted(folder, smallSearch(folder));
    // In the first generation, in the middle of a candidate, later, in the selection, in the report.
    const std::int64_t searchPrompts = 9 * 9;
    int attempt = 0;
    for (const std::int64_t moment : {3, 24, 60, static_cast<int>(searchPrompts) + 9, 150}) {
        auto store = openStore(folder / ("stopped" + std::to_string(++attempt) + ".db"));
        StopAfter observer(moment);
        auto outcome = studies::runSearch(smallSearch(folder), *store, observer, observer.token());
        ASSERT_TRUE(outcome) << outcome.error().text();
        if (outcome->stoppedEarly) {
            EXPECT_EQ(store->reader().run(outcome->runId)->state, store::RunState::Stopped);
            NullObserver quiet;
            outcome = studies::resumeSearch(outcome->runId, attempt % 2 == 0 ? std::optional(2) : std::nullopt, *store,
                                            quiet, {});
            ASSERT_TRUE(outcome) << outcome.error().text();
        }
        EXPECT_EQ(historyOf(store->reader(), outcome->runId), whole) << "stopped after " << moment << " prompts";
    }
}

TEST(SearchStudy, AStopLosesNoFinishedItem) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    StopAfter observer(12);
    const auto outcome = studies::runSearch(smallSearch(folder), *store, observer, observer.token());
    ASSERT_TRUE(outcome) << outcome.error().text();
    ASSERT_TRUE(outcome->stoppedEarly);
    std::size_t rows = 0;
    for (const store::VariantRow& variant : take(store->reader().variants(outcome->runId))) {
        rows += store->reader().outcomes(variant.id, "search")->size();
    }
    EXPECT_GE(rows, 12u);
}

TEST(SearchStudy, WhatFailedAFailedRunIsTriedAgainAlsoWhenThatIsInterrupted) {
    const StudyFolder folder;
    const json whole = uninterrupted(folder, smallSearch(folder));
    auto store = openStore(folder / "failed.db");
    StopAfter observer(24);
    auto outcome = studies::runSearch(smallSearch(folder), *store, observer, observer.token());
    ASSERT_TRUE(outcome && outcome->stoppedEarly);
    // As failures in a row would have left the run: its last candidate failed, and so did the run.
    store::CandidateRow failed = take(store->reader().candidates(outcome->runId)).back();
    failed.state = store::CandidateRow::State::Failed;
    failed.reason = "not enough memory";
    ASSERT_TRUE(store->recordCandidate(outcome->runId, failed));
    ASSERT_TRUE(store->endRun(outcome->runId, store::RunState::Failed, 1.0, "error", "5 candidates failed", ""));
    StopAfter again(30);
    outcome = studies::resumeSearch(outcome->runId, std::nullopt, *store, again, again.token());
    ASSERT_TRUE(outcome) << outcome.error().text();
    ASSERT_TRUE(outcome->stoppedEarly);
    NullObserver quiet;
    outcome = studies::resumeSearch(outcome->runId, 2, *store, quiet, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(historyOf(store->reader(), outcome->runId), whole);
}

TEST(SearchStudy, ResumeRefusesAnotherModelAndAFinishedRun) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    StopAfter observer(9);
    const auto stopped = studies::runSearch(smallSearch(folder), *store, observer, observer.token());
    ASSERT_TRUE(stopped && stopped->stoppedEarly);
    TinyModelSpec other;
    other.numLayers = 3;
    std::filesystem::remove_all(folder.model());
    writeHuggingFaceFolder(makeTinyModel(other), folder.model());
    NullObserver quiet;
    const auto refused = studies::resumeSearch(stopped->runId, std::nullopt, *store, quiet, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
    EXPECT_THAT(refused.error().message, HasSubstr("the model"));
    TinyModelSpec tuned;
    tuned.seed = 2;
    std::filesystem::remove_all(folder.model());
    writeHuggingFaceFolder(makeTinyModel(tuned), folder.model());
    const auto sameShape = studies::resumeSearch(stopped->runId, std::nullopt, *store, quiet, {});
    ASSERT_FALSE(sameShape);
    EXPECT_THAT(sameShape.error().message, HasSubstr("weights"));
    std::filesystem::remove_all(folder.model());
    writeHuggingFaceFolder(makeTinyModel({}), folder.model());
    ASSERT_TRUE(studies::resumeSearch(stopped->runId, std::nullopt, *store, quiet, {}));
    const auto again = studies::resumeSearch(stopped->runId, std::nullopt, *store, quiet, {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::Usage);
    EXPECT_THAT(again.error().message, HasSubstr("finished"));
}

TEST(SearchStudy, AllOnesIsTheBaselineBitForBit) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    studies::EvalSettings settings;
    settings.compute = smallSearch(folder).compute;
    settings.task = smallSearch(folder).task;
    settings.task.limit = 4;
    NullObserver observer;
    const auto baseline = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_TRUE(baseline) << baseline.error().text();
    settings.method = "uniform:1";
    const auto ones = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_TRUE(ones) << ones.error().text();
    EXPECT_EQ(baseline->result["positions"], ones->result["positions"]);
    settings.method = "uniform:2";
    const auto twos = studies::runEvaluation(settings, *store, observer, {});
    ASSERT_TRUE(twos) << twos.error().text();
    EXPECT_NE(baseline->result["positions"], twos->result["positions"]);
}

TEST(SearchStudy, SettingsThatMakeNoSenseAreRefusedBeforeAnythingIsWritten) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto refuse = [&](const auto& change, const char* part) {
        studies::SearchRunSettings settings = smallSearch(folder);
        change(settings);
        const auto outcome = studies::runSearch(settings, *store, observer, {});
        ASSERT_FALSE(outcome) << part;
        EXPECT_EQ(outcome.error().code, ErrorCode::Usage) << outcome.error().text();
        EXPECT_THAT(outcome.error().message, HasSubstr(part));
        const auto plan = studies::planSearch(settings);
        ASSERT_FALSE(plan) << "a dry run refuses what the run refuses: " << part;
        EXPECT_EQ(plan.error().text(), outcome.error().text());
    };
    refuse([](auto& s) { s.search.population = 2; }, "population");
    refuse([](auto& s) { s.searchItems = 0; }, "--search-items");
    refuse([](auto& s) { s.weights = {1.0, 2.0}; }, "--weights");
    refuse([](auto& s) { s.weights = {0.0, 0.0, 0.0}; }, "--weights");
    refuse([](auto& s) { s.compute.workers = 0; }, "--workers");
    refuse(
        [](auto& s) {
            s.compute.workers = 2;
            s.compute.threadsPerWorker.reset();
        },
        "--threads-per-worker");
    refuse([](auto& s) { s.score = "rouge"; }, "rouge");
    refuse([](auto& s) { s.task.positions = "#4"; }, "#4");
    refuse([](auto& s) { s.search.constraints.scaleMin = 3.0; }, "scale");
    refuse([](auto& s) { s.search.points = 9; }, "points");
    refuse([](auto& s) { s.compute.batchSize = 0; }, "--batch-size");
    refuse([](auto& s) { s.compute.dtype = "float8"; }, "float8");
    EXPECT_TRUE(store->reader().runs()->empty());
}

/// Notes how long a search took from its first generation to its last, and what time is stored when selection begins.
class StageTimes final : public ProgressObserver {
  public:
    explicit StageTimes(store::StoreReader& reader) : m_reader(reader) {}
    void progressed(const Progress& progress) override {
        if (progress.stage == "generation 0 of 3" && m_first == 0.0) m_first = steadySeconds();
        if (progress.stage == "generation 3 of 3") searched = steadySeconds() - m_first;
        if (progress.stage == "selection" && stored < 0.0) stored = take(m_reader.lastRun()).elapsedSeconds;
    }
    void warned(const std::string&) override {}
    double searched = 0.0, stored = -1.0;

  private:
    store::StoreReader& m_reader;
    double m_first = 0.0;
};

TEST(SearchStudy, StoresItsTimeWhenSelectionBegins) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    StageTimes times(store->reader());
    const auto outcome = studies::runSearch(smallSearch(folder), *store, times, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_GT(times.searched, 0.0);
    EXPECT_GE(times.stored, times.searched) << "resumed, it would go on searching for the difference";
}

TEST(SearchStudy, WithoutItsMemoItAsksDuplicatesAgainAndComesToTheSame) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.search.constraints = {1.0, 1.5, 0.5};  // two layers, four profiles
    NullObserver observer;
    const auto ran = [&](bool memo, int stopAfter) {
        settings.search.memo = memo;
        auto store = openStore(folder / (std::to_string(memo) + std::to_string(stopAfter) + ".db"));
        StopAfter stop(stopAfter);
        auto outcome = take(studies::runSearch(settings, *store, stop, stop.token()));
        if (outcome.stoppedEarly) outcome = take(studies::resumeSearch(outcome.runId, 2, *store, observer, {}));
        return historyOf(store->reader(), outcome.runId);
    };
    const int never = 1'000'000;
    json with = ran(true, never), without = ran(false, never);
    const json spared = with["result"]["memo"];
    EXPECT_GT(spared["evaluations_spared"], 0);
    EXPECT_EQ(spared["evaluations_spared"], with["result"]["cache_hits"]);
    EXPECT_TRUE(without["result"]["memo"].is_null());
    EXPECT_EQ(without["result"]["prompts"].get<std::int64_t>(),
              with["result"]["prompts"].get<std::int64_t>() + spared["prompts_spared"].get<std::int64_t>());
    EXPECT_EQ(ran(false, 60), without) << "resumed";
    for (json* history : {&with, &without}) {
        for (const char* key : {"memo", "prompts"}) (*history)["result"].erase(key);
    }
    EXPECT_EQ(without, with);
}

TEST(SearchStudy, SaysThatTheTimeLimitCameBeforeTheFirstCandidate) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.search.timeLimitSeconds = 1e-9;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(settings, *store, observer, {});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().message,
              "the time limit of 1e-09 s had passed before a candidate was evaluated; give a larger --time-limit");
}

TEST(SearchStudy, DryRunCountsWhatTheSearchThenRuns) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.analysisItems = 0;
    const auto plan = studies::planSearch(settings);
    ASSERT_TRUE(plan) << plan.error().text();
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const auto outcome = studies::runSearch(settings, *store, observer, {});
    ASSERT_TRUE(outcome) << outcome.error().text();
    const auto duplicates = outcome->result["cache_hits"].get<std::int64_t>();
    EXPECT_EQ((*plan)["prompts"].get<std::int64_t>() - duplicates * 9, outcome->result["prompts"].get<std::int64_t>());
}

TEST(SearchStudy, DryRunReadsWhatTheSearchWouldReadBeforeTheWeights) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    class NoWeights final : public ProgressObserver {
      public:
        void progressed(const Progress& progress) override { EXPECT_FALSE(progress.stage.starts_with("loading")); }
        void warned(const std::string&) override {}
    } observer;
    const auto refuse = [&](const auto& change, ErrorCode code, const char* part) {
        studies::SearchRunSettings settings = smallSearch(folder);
        change(settings);
        const auto outcome = studies::runSearch(settings, *store, observer, {});
        const auto plan = studies::planSearch(settings);
        ASSERT_FALSE(outcome) << part;
        ASSERT_FALSE(plan) << part;
        EXPECT_EQ(outcome.error().code, code);
        EXPECT_THAT(outcome.error().text(), HasSubstr(part));
        EXPECT_EQ(plan.error().text(), outcome.error().text());
    };
    refuse([](auto& s) { s.guardrail.mmlu = "nowhere"; }, ErrorCode::BadInput, "nowhere");
    refuse([](auto& s) { s.task.chat = "llama-3"; }, ErrorCode::Unsupported, "<|start_header_id|>");
    refuse([](auto& s) { s.task.pairs = 200; }, ErrorCode::BadInput, "longer than the model's context");
    refuse([](auto& s) { s.compute.dtype = "float16"; }, ErrorCode::Unsupported, "float16");
    EXPECT_TRUE(store->reader().runs()->empty());
}

TEST(SearchStudy, PlanTakesTheDevicesOwnComputeType) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.compute.dtype = "auto";
    const auto typeOn = [&](const char* device) {
        settings.compute.device = device;
        const auto plan = studies::planSearch(settings);
        return plan ? (*plan)["dtype"].get<std::string>() : plan.error().text();
    };
    const auto ofDevice = [](const char* device) { return model::computeTypeName(*model::defaultComputeType(device)); };
    EXPECT_EQ(typeOn("cpu"), ofDevice("cpu"));
    EXPECT_EQ(typeOn("cuda:100"), "bfloat16");
    EXPECT_EQ(ofDevice("cuda:100"), "bfloat16") << "whatever this machine's processor does";
    EXPECT_THAT(typeOn("gpu"), testing::HasSubstr("'gpu'"));
    settings.compute.dtype = "float32";
    EXPECT_EQ(typeOn("cuda:100"), "float32");
}

}  // namespace
}  // namespace lpes::test
