#include <gtest/gtest.h>

#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using Store = std::map<std::pair<int, int>, Evaluation>;

/// Serves what an earlier part of the run stored, computes the rest, and stops at the `stopAt`-th computation.
class ResumableFitness : public Fitness {
  public:
    ResumableFitness(Store stored, int stopAt) : m_stored(std::move(stored)), m_stopAt(stopAt) {}

    Result<Evaluation> evaluate(const Candidate& c, int, std::stop_token token) override {
        if (const auto it = m_stored.find({c.generation, c.index}); it != m_stored.end()) return it->second;
        const int number = ++computed;
        if (number == m_stopAt) stop.request_stop();
        if (token.stop_requested()) return FunctionFitness::stopped();
        if ((c.generation * 7 + c.index) % 5 == 2) return fail(ErrorCode::Failed, "unlucky");
        return FunctionFitness::value(distanceFitness(c.scales));
    }
    bool isStop(const Error& error) const override { return error.message == "stopped by the user"; }
    bool isStored(const Candidate& c) const override { return m_stored.contains({c.generation, c.index}); }

    std::atomic<int> computed{0};
    std::stop_source stop;

  private:
    const Store m_stored;
    const int m_stopAt;
};

Store storeOf(const RecordingObserver& observer, Store store = {}) {
    for (const CandidateRecord& record : observer.finished) {
        if (!record.duplicateOf) store[{record.candidate.generation, record.candidate.index}] = record.evaluation;
    }
    return store;
}

SearchSettings someSettings() {
    SearchSettings settings = smallSettings(11);
    settings.constraints.gridStep = 0.25;  // some duplicates
    settings.patience = 3;
    settings.minDelta = 0.001;
    return settings;
}

TEST(SearchResume, StoppedAtAnyEvaluationAndResumedEqualsUninterrupted) {
    ResumableFitness whole({}, -1);
    const SearchOutcome reference = runOk(someSettings(), 5, whole);
    const int total = whole.computed;
    ASSERT_GT(total, 20);
    for (int stopAt = 1; stopAt <= total; ++stopAt) {
        const int workers = 1 + stopAt % 3;
        ResumableFitness first({}, stopAt);
        RecordingObserver observer;
        const auto part = runGeneticSearch(someSettings(), 5, workers, first, observer, 0.0, first.stop.get_token());
        ASSERT_TRUE(part);
        EXPECT_EQ(part->end, EndReason::Stopped);
        ResumableFitness second(storeOf(observer), -1);
        EXPECT_EQ(runOk(someSettings(), 5, second, 1 + (stopAt + 1) % 3), reference) << stopAt;
        EXPECT_EQ(part->evaluations + second.computed, total) << "something was computed twice";
    }
}

TEST(SearchResume, StoppedAgainAndAgainEqualsUninterrupted) {
    ResumableFitness whole({}, -1);
    const SearchOutcome reference = runOk(someSettings(), 5, whole);
    Store store;
    int parts = 0;
    for (;; ++parts) {
        ResumableFitness next(store, 4);
        RecordingObserver observer;
        const auto outcome = runGeneticSearch(someSettings(), 5, 1, next, observer, 0.0, next.stop.get_token());
        ASSERT_TRUE(outcome);
        if (outcome->end != EndReason::Stopped) {
            EXPECT_EQ(*outcome, reference);
            break;
        }
        store = storeOf(observer, std::move(store));
        ASSERT_LT(parts, 100);
    }
    EXPECT_GT(parts, 5);
}

TEST(SearchResume, TimeLimitNeverLosesStoredEvaluations) {
    SearchSettings settings = someSettings();
    settings.timeLimitSeconds = 10.0;
    ResumableFitness first({}, 14);
    RecordingObserver observer;
    const auto part = runGeneticSearch(settings, 5, 1, first, observer, 0.0, first.stop.get_token());
    ASSERT_TRUE(part);
    Store store = storeOf(observer);
    store.erase({1, 0});  // another worker had not finished it
    ResumableFitness late(store, -1);
    const SearchOutcome outcome = runOk(settings, 5, late, 2, 11.0);
    EXPECT_EQ(outcome.end, EndReason::TimeLimit);
    EXPECT_EQ(late.computed, 0);
    EXPECT_EQ(outcome.evaluations, static_cast<std::int64_t>(store.size()));
}

}  // namespace
}  // namespace lpes::search
