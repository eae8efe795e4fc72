#include <gtest/gtest.h>

#include <mutex>

#include "core/base/random.h"
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

/// Scores item by item, for races; serves what an earlier part of the run asked, and stops at the `stopAt`-th look.
class ResumableRace : public Fitness {
  public:
    static constexpr int kItems = 16;
    using Asked = std::map<std::vector<double>, int>;  ///< scales → their first so many items

    ResumableRace(Asked before, Store stored, int stopAt = -1)
        : m_before(std::move(before)), m_stored(std::move(stored)), m_stopAt(stopAt) {}

    Result<Evaluation> evaluate(const Candidate& c, int worker, std::stop_token token) override {
        return evaluateFirst(c, kItems, worker, token);
    }
    Result<Evaluation> evaluateFirst(const Candidate& c, int count, int, std::stop_token token) override {
        if (!isStoredFirst(c, count)) {
            if (++computed == m_stopAt) stop.request_stop();
            if (token.stop_requested()) return FunctionFitness::stopped();
        }
        const std::lock_guard lock(m_mutex);
        int& most = asked.try_emplace(c.scales, m_before.contains(c.scales) ? m_before.at(c.scales) : 0).first->second;
        most = std::max(most, count);
        return scored(c, count);
    }
    bool isStop(const Error& error) const override { return error.message == "stopped by the user"; }
    /// As the data base has it: whoever was given up has no evaluation.
    bool isStored(const Candidate& c) const override {
        const auto it = m_stored.find({c.generation, c.index});
        return it != m_stored.end() && it->second.complete();
    }
    bool isStoredFirst(const Candidate& c, int count) const override {
        const auto it = m_before.find(c.scales);
        return it != m_before.end() && it->second >= count;
    }
    int items() const override { return kItems; }

    std::atomic<int> computed{0};
    std::stop_source stop;
    Asked asked;

  private:
    static Evaluation scored(const Candidate& c, int count) {
        Evaluation evaluation;
        for (int item = 0; item < count; ++item) {
            RandomStream own(2, kStreamTests, static_cast<std::uint32_t>(item),
                             static_cast<std::uint32_t>(c.scales[0] * 1e6));
            evaluation.byItem.push_back(distanceFitness(c.scales) + 0.05 * own.normal());
            evaluation.fitness += evaluation.byItem.back() / count;
        }
        evaluation.byPosition = {evaluation.fitness};
        return evaluation;
    }

    const Asked m_before;
    const Store m_stored;
    const int m_stopAt;
    std::mutex m_mutex;
};

SearchSettings racingSettings() {
    SearchSettings settings = smallSettings(11);
    settings.racing = 0.05;
    settings.timeLimitSeconds = 1e6;
    return settings;
}

TEST(SearchResume, TimeLimitNeverLosesARace) {
    ResumableRace whole({}, {});
    RecordingObserver observer;
    const auto reference = runGeneticSearch(racingSettings(), 5, 1, whole, observer, 0.0, {});
    ASSERT_TRUE(reference);
    ASSERT_GT(reference->givenUp, 0);
    ResumableRace late(whole.asked, storeOf(observer));
    EXPECT_EQ(runOk(racingSettings(), 5, late, 2, 2e6), *reference) << "all of it was stored before the limit";
    EXPECT_EQ(late.computed, 0);
}

TEST(SearchResume, TimeLimitNeverLosesAnUnfinishedGenerationsRace) {
    ResumableRace whole({}, {});
    runOk(racingSettings(), 5, whole);
    for (int stopAt = 2; stopAt <= whole.computed; stopAt += 3) {
        ResumableRace first({}, {}, stopAt);
        RecordingObserver observer;
        const auto part = runGeneticSearch(racingSettings(), 5, 1, first, observer, 0.0, first.stop.get_token());
        ASSERT_TRUE(part);
        ResumableRace late(first.asked, storeOf(observer));
        const SearchOutcome outcome = runOk(racingSettings(), 5, late, 2, 2e6);
        EXPECT_EQ(outcome.end, EndReason::TimeLimit) << stopAt;
        EXPECT_EQ(late.computed, 0) << stopAt;
        EXPECT_EQ(outcome.evaluations, part->evaluations) << stopAt;
        EXPECT_EQ(outcome.history, part->history) << stopAt;
        EXPECT_EQ(outcome.givenUp, part->givenUp) << stopAt;
    }
}

}  // namespace
}  // namespace lpes::search
