#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/search/search_settings.h"
#include "core/search/slope.h"

namespace lpes::search {

/// A curve for each group and what they decode to.
struct Candidate {
    int generation = 0;                       ///< generation in which it was bred
    int index = 0;                            ///< place among the candidates bred in that generation
    std::vector<curve::ControlPoint> points;  ///< the groups' control points, one group after another
    std::vector<double> scales;               ///< [L·G], layer by layer
};

/// How a candidate did on the search items.
struct Evaluation {
    bool failed = false;
    bool givenUp = false;  ///< a race left it behind: the figures are of the first items alone
    std::string reason;    ///< why it failed, was given up or is not allowed, for the data base and the user
    /// By how much it breaks what the fitness does not allow, in the fitness' own measure; 0: it is allowed.
    double violation = 0.0;
    double fitness = 0.0;                 ///< higher is better; the search sets 0 when failed
    std::vector<double> byPosition;       ///< score per evidence position, in the task's order; emptied when failed
    std::vector<double> objectives;       ///< one value for each of the search's, where it has several
    ErrorCode cause = ErrorCode::Failed;  ///< kind of the failure; means nothing otherwise
    std::vector<double> byItem;           ///< score of each item that was looked at, in order, where races need it

    /// It may not win: it loses to every candidate that is allowed, and to those that break the rule less.
    [[nodiscard]] bool infeasible() const { return !failed && violation > 0.0; }
    [[nodiscard]] bool complete() const { return !failed && !givenUp && !infeasible(); }
};

/// A candidate's place in the history.
struct CandidateRecord {
    Candidate candidate;
    Evaluation evaluation;
    /// (generation, index) of the earlier candidate with the same scales whose evaluation this one shares; unset when
    /// it was evaluated itself.
    std::optional<std::pair<int, int>> duplicateOf;
};

struct GenerationRecord {
    int generation = 0;
    double best = 0.0;  ///< best fitness in the population (failed, given up and infeasible candidates left out of all
                        ///< figures; without any other, best, mean, worst and stddev are NaN)
    double mean = 0.0;
    double worst = 0.0;
    double stddev = 0.0;                          ///< population standard deviation
    double diversity = 0.0;                       ///< mean over pairs of the mean |Δs| over layers and groups
    std::int64_t evaluations = 0;                 ///< distinct candidates evaluated so far
    std::vector<std::pair<int, int>> population;  ///< (generation, index) of its members, best first
    /// With several objectives: of all candidates so far the size of the Pareto front, and its hypervolume over the
    /// worst value of each objective in the first generation that has any.
    int frontSize = 0;
    std::optional<double> hypervolume;
};

/// The fitness. evaluate is called from `workers` threads at the same time, each with its own `worker` number 0 …
/// workers−1. A value must depend on the candidate's scales alone. Returning an Error fails the candidate (recorded,
/// worst fitness, the search goes on), except for Database errors and a stop, which end the search. So do an exception
/// and a fitness that is not finite: the candidate fails with the reason. `stop` is also requested when the search ends
/// for another reason and the evaluation's result is no longer wanted.
class Fitness {
  public:
    virtual ~Fitness() = default;
    [[nodiscard]] virtual Result<Evaluation> evaluate(const Candidate& candidate, int worker, std::stop_token stop) = 0;
    /// As `evaluate`, of a candidate whose scales have their evaluation, for a search without memo: what it comes to is
    /// known.
    [[nodiscard]] virtual Result<void> evaluateAgain(const Candidate& candidate, int worker, std::stop_token stop) {
        static_cast<void>(candidate), static_cast<void>(worker), static_cast<void>(stop);
        return {};
    }
    /// True for the error that `evaluate` returns when it was stopped.
    [[nodiscard]] virtual bool isStop(const Error& error) const = 0;
    /// True when `evaluate` will serve this candidate from an earlier part of the run, at no cost. Such candidates are
    /// taken over even after the time limit, so that resuming never loses what was paid for. Must be thread-safe.
    [[nodiscard]] virtual bool isStored(const Candidate& candidate) const {
        static_cast<void>(candidate);
        return false;
    }
    /// The candidates that it will be asked for, told while it is asked for nothing: a generation's before the first of
    /// them, those left after each look of a race, and none when it is over, however it ends.
    virtual void expect(const std::vector<Candidate>& candidates) { static_cast<void>(candidates); }
    /// Items that the fitness is a mean over; 0: not known, and candidates cannot race.
    [[nodiscard]] virtual int items() const { return 0; }
    /// As `evaluate`, on the first `count` items alone, with their scores in byItem. What is paid here must not be paid
    /// again by `evaluate`.
    [[nodiscard]] virtual Result<Evaluation> evaluateFirst(const Candidate& candidate, int count, int worker,
                                                           std::stop_token stop) {
        static_cast<void>(candidate), static_cast<void>(count), static_cast<void>(worker), static_cast<void>(stop);
        return fail(ErrorCode::Unsupported, "this fitness has no items to race over");
    }
    /// As isStored, of evaluateFirst: a race that an earlier part of the run decided is decided again after the time
    /// limit too.
    [[nodiscard]] virtual bool isStoredFirst(const Candidate& candidate, int count) const {
        static_cast<void>(count);
        return isStored(candidate);
    }
    /// The slope of the loss, as the request says; called like `evaluate`, and must depend on the request alone. Only
    /// searches that descend ask for it. An Error, or a number that is not finite, leaves the descent where it is for
    /// this step and counts as a failure.
    [[nodiscard]] virtual Result<Slope> slope(const SlopeRequest& request, int worker, std::stop_token stop) {
        static_cast<void>(request), static_cast<void>(worker), static_cast<void>(stop);
        return fail(ErrorCode::Unsupported, "this fitness has no slope; use another --optimizer");
    }
    /// As for candidates.
    [[nodiscard]] virtual bool isSlopeStored(const SlopeRequest& request) const {
        static_cast<void>(request);
        return false;
    }
};

/// Told what happens, in order of (generation, index), always from one thread at a time (a worker's or the caller's;
/// the other workers wait meanwhile, so be quick). An error ends the search.
class SearchObserver {
  public:
    virtual ~SearchObserver() = default;
    /// A generation was bred and will be evaluated; `toEvaluate` of its candidates are new and inside maxEvals.
    virtual Result<void> generationStarted(int generation, const std::vector<CandidateRecord>& bred,
                                           int toEvaluate) = 0;
    /// Before its candidates are bred, a generation descends; told before its first step.
    virtual Result<void> descentStarted(int generation) {
        static_cast<void>(generation);
        return {};
    }
    /// One candidate of the running generation has its evaluation (in order of completion). Called once for every
    /// candidate that gets one: a duplicate (`duplicateOf` is set) follows its original at once, or generationStarted
    /// where the original is of an earlier generation.
    virtual Result<void> candidateFinished(const CandidateRecord& record) = 0;
    virtual Result<void> generationFinished(const GenerationRecord& record) = 0;
};

enum class EndReason { Generations, Evaluations, TimeLimit, Target, Patience, Failures, Stopped, Exhausted };
[[nodiscard]] std::string endReasonName(EndReason reason);  ///< "generations", "max_evals", …

struct SearchOutcome {
    EndReason end = EndReason::Generations;
    std::vector<CandidateRecord> candidates;  ///< in order of (generation, index); those without an evaluation left out
    std::vector<GenerationRecord> history;    ///< complete generations
    std::int64_t evaluations = 0;             ///< distinct candidates evaluated
    std::int64_t cacheHits = 0;               ///< candidates that shared an earlier evaluation
    std::int64_t failed = 0;
    std::int64_t givenUp = 0;          ///< by races; they count as evaluations
    std::int64_t infeasible = 0;       ///< they count as evaluations
    std::optional<Error> failedSlope;  ///< end == Failures: why, where a slope was the last to fail
};

inline constexpr int kMostWorkers = 1024;

/// A search with the optimizer that the settings name; by default the curve-constrained genetic search of methods.md §2
/// with "our defaults".
///
/// Generation 0: all 1.0, all 1.5, the line 1.15 → 0.85 (each where the bounds allow it), then random curves. Then: the
/// better half, rounded up, is kept with its fitness; each child is a crossover of two distinct parents drawn from it
/// and a mutation; a child (or random curve) whose scales were seen is drawn again up to duplicateRetries times and
/// then kept without a new evaluation. Ties in fitness go to the earlier (generation, index); failed candidates rank
/// last, before them those that are infeasible, the smaller violation first (K. Deb, An efficient constraint handling
/// method for genetic algorithms, Comput. Methods Appl. Mech. Eng. 186, 2000). A Free curve has one gene per layer: its
/// x never change. With several groups the known curves are every group's alike; crossover, mutation and repair go
/// through the groups one after another, each as if it were alone.
///
/// The history does not depend on workers or timing:
/// - A candidate's random numbers come from RandomStream(seed, kStreamInitialPopulation or kStreamBreeding, generation,
///   index) alone. A whole generation is bred on the calling thread before any of it is evaluated.
/// - Workers take candidates in order of index. maxEvals and maxConsecutiveFailures act on the candidates in order of
///   (generation, index), whatever the order of completion: beyond the budget nothing is evaluated, and beyond the last
///   of so many failures in a row nothing counts (duplicates count neither way).
/// - The target is met when a complete generation's best fitness is no less.
/// - Patience counts generations whose best does not exceed the best at the last reset by more than minDelta;
///   generation 0 sets the first reference. After a complete generation the reasons to end are tried in the order
///   Target, Generations, Patience, Evaluations.
/// - Resuming is running again with the same settings and a fitness that serves the stored evaluations.
///
/// - With several objectives the better half is chosen by NSGA-II: fronts, then crowding; a candidate that shares its
///   scales with an earlier one stands behind all fronts, infeasible ones behind these. Parents are drawn by binary
///   tournaments over that order. So the population is what NSGA-II calls R, parents and children, and the half that
///   stays its P. Patience counts gains in hypervolume.
/// - Races are decided when all candidates of a generation were looked at, never while some are.
/// - Descents end before a generation is bred; every descent has its slope before any of them moves. Failed slopes and
///   failed candidates count towards maxConsecutiveFailures alike.
///
/// Only the time limit and a stop depend on time. After the time limit no further candidate is handed out (isStored
/// excepted), nor looked at (isStoredFirst excepted); what is finished of the incomplete generation counts for
/// bestDistinct. `elapsedBefore`: seconds that earlier parts of this run took. On stop the outcome holds what is
/// finished and end == Stopped; that is no error.
///
/// Errors: Usage for settings or `workers` (1 … kMostWorkers) out of range; the observer's own; Database errors of the
/// fitness. Blocks until every worker has ended; thread-safe (no shared state).
[[nodiscard]] Result<SearchOutcome> runGeneticSearch(const SearchSettings& settings, int numLayers, int workers,
                                                     Fitness& fitness, SearchObserver& observer, double elapsedBefore,
                                                     std::stop_token stop);

/// The best `count` candidates with different scales, best first; failed, given up and infeasible ones never.
[[nodiscard]] std::vector<CandidateRecord> bestDistinct(const SearchOutcome& outcome, int count);

/// The candidates that no other dominates (pareto.h), of equal objectives the earliest; by falling first objective,
/// then the second, and so on. Empty for a search with one fitness.
[[nodiscard]] std::vector<CandidateRecord> paretoFront(const SearchOutcome& outcome);
/// At most `count` of a front that cover it, the one with the best fitness among them; in the front's order.
[[nodiscard]] std::vector<CandidateRecord> spreadOf(const std::vector<CandidateRecord>& front, int count);

/// Fitness Σ w_p·score_p − β·(max_p − min_p); weights are normalised to sum 1 (methods.md §2). NaN, which fails the
/// candidate, when there is no score, not one weight per score, or the weights do not sum to a positive number.
[[nodiscard]] double weightedFitness(const std::vector<double>& scoreByPosition, const std::vector<double>& weights,
                                     double gapPenalty);

}  // namespace lpes::search
