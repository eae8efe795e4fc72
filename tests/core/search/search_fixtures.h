#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/search/genetic_search.h"

namespace lpes::search {

inline bool operator==(const Candidate& a, const Candidate& b) {
    return a.generation == b.generation && a.index == b.index && a.points == b.points && a.scales == b.scales;
}
inline bool operator==(const Evaluation& a, const Evaluation& b) {
    return a.failed == b.failed && a.givenUp == b.givenUp && a.reason == b.reason && a.fitness == b.fitness &&
           a.violation == b.violation && a.byPosition == b.byPosition && a.objectives == b.objectives;
}
inline bool operator==(const CandidateRecord& a, const CandidateRecord& b) {
    return a.candidate == b.candidate && a.evaluation == b.evaluation && a.duplicateOf == b.duplicateOf;
}
inline bool operator==(const GenerationRecord& a, const GenerationRecord& b) {
    return a.generation == b.generation && a.best == b.best && a.mean == b.mean && a.worst == b.worst &&
           a.stddev == b.stddev && a.diversity == b.diversity && a.evaluations == b.evaluations &&
           a.population == b.population && a.frontSize == b.frontSize && a.hypervolume == b.hypervolume;
}
inline bool operator==(const SearchOutcome& a, const SearchOutcome& b) {
    return a.end == b.end && a.candidates == b.candidates && a.history == b.history && a.evaluations == b.evaluations &&
           a.cacheHits == b.cacheHits && a.failed == b.failed && a.infeasible == b.infeasible;
}

/// −Σ (s_h − (1.4 − 0.6·depth))²: smooth, with its optimum 0 on a straight line. Operation by operation as in
/// tests/golden/make_search_golden.py.
inline double distanceFitness(const std::vector<double>& scales) {
    double total = 0.0;
    for (std::size_t h = 0; h < scales.size(); ++h) {
        const double difference =
            scales[h] - (1.4 - 0.6 * (static_cast<double>(h) / static_cast<double>(scales.size() - 1)));
        total -= difference * difference;
    }
    return total;
}

/// A fitness that a function computes. Counts how often it is asked, and with which workers.
class FunctionFitness : public Fitness {
  public:
    using Function = std::function<Result<Evaluation>(const Candidate&, std::stop_token)>;
    explicit FunctionFitness(Function function) : m_function(std::move(function)) {}
    FunctionFitness()
        : FunctionFitness([](const Candidate& c, std::stop_token) { return value(distanceFitness(c.scales)); }) {}

    static Result<Evaluation> value(double fitness) {
        Evaluation evaluation;
        evaluation.fitness = fitness;
        evaluation.byPosition = {fitness};
        return evaluation;
    }
    static Result<Evaluation> stopped() { return fail(ErrorCode::Failed, "stopped by the user"); }

    Result<Evaluation> evaluate(const Candidate& candidate, int worker, std::stop_token stop) override {
        {
            const std::lock_guard lock(mutex);
            calls.emplace_back(candidate.generation, candidate.index);
            ++callsByScales[candidate.scales];
            largestWorker = std::max(largestWorker, worker);
            EXPECT_TRUE(isExpected(candidate));
        }
        return m_function(candidate, stop);
    }
    bool isStop(const Error& error) const override { return error.message == "stopped by the user"; }
    void expect(const std::vector<Candidate>& candidates) override { expected.push_back(candidates); }
    /// Named when candidates were told last.
    [[nodiscard]] bool isExpected(const Candidate& candidate) const {
        return !expected.empty() && std::ranges::find(expected.back(), candidate) != expected.back().end();
    }

    std::vector<std::vector<Candidate>> expected;  ///< as they were told
    std::mutex mutex;
    std::vector<std::pair<int, int>> calls;
    std::map<std::vector<double>, int> callsByScales;
    int largestWorker = -1;

  private:
    Function m_function;
};

/// Writes everything down, and checks that it is told from one thread at a time and in a sensible order.
class RecordingObserver : public SearchObserver {
  public:
    Result<void> generationStarted(int generation, const std::vector<CandidateRecord>& bred, int toEvaluate) override {
        const Turn turn(*this);
        started.emplace_back(generation, bred);
        toEvaluateByGeneration.push_back(toEvaluate);
        return refuseAt == "started" ? fail(ErrorCode::Database, "disk full") : Result<void>{};
    }
    Result<void> candidateFinished(const CandidateRecord& record) override {
        const Turn turn(*this);
        EXPECT_EQ(record.candidate.generation, static_cast<int>(started.size()) - 1);
        finished.push_back(record);
        EXPECT_TRUE(!record.duplicateOf || byPlace.contains(*record.duplicateOf));
        const bool isNew =
            byPlace.emplace(std::pair(record.candidate.generation, record.candidate.index), record).second;
        EXPECT_TRUE(isNew) << "a candidate was reported twice";
        return refuseAt == "candidate" ? fail(ErrorCode::Database, "disk full") : Result<void>{};
    }
    Result<void> generationFinished(const GenerationRecord& record) override {
        const Turn turn(*this);
        history.push_back(record);
        return refuseAt == "generation" ? fail(ErrorCode::Database, "disk full") : Result<void>{};
    }

    std::string refuseAt;
    std::vector<std::pair<int, std::vector<CandidateRecord>>> started;
    std::vector<int> toEvaluateByGeneration;
    std::vector<CandidateRecord> finished;
    std::map<std::pair<int, int>, CandidateRecord> byPlace;
    std::vector<GenerationRecord> history;

  private:
    struct Turn {
        explicit Turn(RecordingObserver& observer) : inside(observer.m_inside) { EXPECT_EQ(inside.fetch_add(1), 0); }
        ~Turn() { inside.fetch_sub(1); }
        std::atomic<int>& inside;
    };
    std::atomic<int> m_inside{0};
};

inline SearchSettings smallSettings(std::uint64_t seed = 7) {
    SearchSettings settings;
    settings.seed = seed;
    settings.population = 10;
    settings.maxGenerations = 5;
    return settings;
}

inline SearchOutcome runOk(const SearchSettings& settings, int numLayers, Fitness& fitness, int workers = 1,
                           double elapsedBefore = 0.0, std::stop_token stop = {}) {
    RecordingObserver observer;
    auto outcome = runGeneticSearch(settings, numLayers, workers, fitness, observer, elapsedBefore, stop);
    EXPECT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(outcome->history, observer.history);
    for (const CandidateRecord& record : outcome->candidates) {
        EXPECT_EQ(record, observer.byPlace.at({record.candidate.generation, record.candidate.index}));
    }
    return std::move(*outcome);
}

}  // namespace lpes::search
