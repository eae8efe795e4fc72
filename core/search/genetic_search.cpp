#include "core/search/genetic_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <new>

#include "core/base/clock.h"
#include "core/search/evaluation_round.h"
#include "core/search/front_measure.h"
#include "core/search/guarded.h"
#include "core/search/in_parallel.h"
#include "core/search/optimizer.h"
#include "core/search/population.h"
#include "core/search/racing.h"

namespace lpes::search {
namespace {

/// Tells a fitness what it is going to be asked for in a generation, and in the end that this is over.
class Expectation {
  public:
    Expectation(Fitness& fitness, const Archive& archive) : m_fitness(fitness), m_archive(archive) {}
    ~Expectation() { m_fitness.expect({}); }
    Expectation(const Expectation&) = delete;
    Expectation& operator=(const Expectation&) = delete;

    void tell(const std::vector<std::size_t>& jobs) {
        std::vector<Candidate> candidates;
        for (const std::size_t place : jobs) candidates.push_back(m_archive[place].record.candidate);
        m_fitness.expect(candidates);
    }

  private:
    Fitness& m_fitness;
    const Archive& m_archive;
};

/// One run of the search. thread-compatible.
class Search {
  public:
    Search(const SearchSettings& settings, int numLayers, int workers, Fitness& fitness, SearchObserver& observer,
           double elapsedBefore, std::stop_token stop)
        : m_settings(settings),
          m_numLayers(numLayers),
          m_workers(workers),
          m_fitness(fitness),
          m_observer(observer),
          m_stop(std::move(stop)),
          m_population(static_cast<std::size_t>(settings.population), !settings.objectives.empty()),
          m_optimizer(makeOptimizer(settings, numLayers, m_archive, m_population.members())) {
        if (settings.timeLimitSeconds) m_deadline = steadySeconds() + *settings.timeLimitSeconds - elapsedBefore;
    }

    [[nodiscard]] Result<SearchOutcome> run() {
        for (int generation = 0;; ++generation) {
            const Result<std::optional<EndReason>> end = runGeneration(generation);
            if (!end) return fail(end.error());
            if (*end) return outcome(**end);
        }
    }

  private:
    using Ending = Result<std::optional<EndReason>>;

    Ending runGeneration(int generation) {
        if (m_stop.stop_requested()) return EndReason::Stopped;
        const std::size_t first = m_archive.size();
        const int count = m_optimizer->candidates(generation);
        if (count == 0) return EndReason::Exhausted;
        if (const Ending ended = descend(generation); !ended || *ended) return ended;
        if (Result<void> bred = breed(generation, count); !bred) return fail(bred.error());
        std::vector<std::size_t> jobs;
        for (std::size_t place = first; place < m_archive.size(); ++place) {
            if (m_archive.isOriginal(place)) jobs.push_back(place);
        }
        const bool overBudget = withinBudget(jobs);
        if (nothingInTime(jobs)) return EndReason::TimeLimit;
        if (Result<void> told = announce(generation, first, jobs.size()); !told) return fail(told.error());
        m_announced = m_archive.size();

        Expectation expectation(m_fitness, m_archive);
        expectation.tell(jobs);
        if (const auto ended = race(jobs, expectation); !ended || *ended) return ended;
        EvaluationRound round(m_archive, jobs, {m_deadline, m_settings.maxConsecutiveFailures, m_failuresInARow},
                              m_fitness, m_observer);
        const Result<EvaluationRound::End> end = round.run(m_workers, m_stop);
        if (!end) return fail(end.error());
        m_evaluations += round.evaluated();
        m_failed += round.failed();
        m_infeasible += round.infeasible();
        m_failuresInARow = round.failuresInARow();
        switch (*end) {
            case EvaluationRound::End::Failures:
                return EndReason::Failures;
            case EvaluationRound::End::Stopped:
                return EndReason::Stopped;
            case EvaluationRound::End::TimeLimit:
                return EndReason::TimeLimit;
            case EvaluationRound::End::Complete:
                break;
        }
        if (overBudget) return EndReason::Evaluations;
        if (!m_settings.memo) {
            if (const Ending ended = evaluateDuplicates(first); !ended || *ended) return ended;
        }

        m_population.renew(m_archive, first);
        m_optimizer->learn(m_archive, first);
        m_history.push_back(summary(generation, m_population, m_archive, m_evaluations));
        if (!m_settings.objectives.empty()) m_front.measure(m_archive, m_history.back());
        if (Result<void> told = m_observer.generationFinished(m_history.back()); !told) return fail(told.error());
        return endAfter(generation);
    }

    /// Measures the slopes that the optimizer wants before it proposes a generation.
    Ending descend(int generation) {
        std::vector<SlopeRequest> requests = m_optimizer->wantedSlopes(generation);
        if (requests.empty()) return std::nullopt;
        if (Result<void> told = m_observer.descentStarted(generation); !told) return fail(told.error());
        for (; !requests.empty(); requests = m_optimizer->wantedSlopes(generation)) {
            const auto stored = [&](const SlopeRequest& request) { return m_fitness.isSlopeStored(request); };
            if (isLate() && !std::ranges::all_of(requests, stored)) return EndReason::TimeLimit;
            const auto round = measureSlopes(requests, m_fitness, m_workers, m_stop);
            if (!round) return fail(round.error());
            if (round->stopped) return EndReason::Stopped;
            for (const std::optional<Slope>& slope : round->slopes) {
                m_failuresInARow = slope ? 0 : m_failuresInARow + 1;
                if (m_failuresInARow == m_settings.maxConsecutiveFailures) {
                    m_lastFailure = *round->failure;
                    return EndReason::Failures;
                }
            }
            m_optimizer->take(round->slopes);
        }
        return std::nullopt;
    }

    /// Takes the candidates out of `jobs` that looks at some of the items leave behind, and reports them. What a look
    /// finds wrong with a candidate is left to its full evaluation.
    Ending race(std::vector<std::size_t>& jobs, Expectation& expectation) {
        const std::vector<int> counts = raceLooks();
        for (const int count : counts) {
            const std::vector<std::optional<Result<Evaluation>>> looked = lookAt(jobs, count);
            if (!std::ranges::all_of(looked, [](const auto& one) { return one.has_value(); })) {
                if (m_stop.stop_requested()) return EndReason::Stopped;
                return std::nullopt;  // cut short by the time limit; the round takes over what is stored
            }
            std::vector<std::vector<double>> runners;
            std::vector<std::size_t> running;  // places in jobs
            for (std::size_t job = 0; job < jobs.size(); ++job) {
                const Result<Evaluation>& seen = *looked[job];
                if (seen && seen->infeasible()) continue;  // the full evaluation says so too, at no cost
                if (seen) {
                    runners.push_back(seen->byItem);
                    running.push_back(job);
                    continue;
                }
                if (m_stop.stop_requested() || m_fitness.isStop(seen.error())) return EndReason::Stopped;
                if (seen.error().code == ErrorCode::Database) return fail(seen.error());
            }
            const auto verdicts = fallenBehind(runners, keptScores(count), m_population.keptCount(),
                                               *m_settings.racing / static_cast<double>(counts.size()));
            std::vector<std::size_t> left = jobs;
            for (std::size_t i = 0; i < running.size(); ++i) {
                if (!verdicts[i]) continue;
                Evaluation evaluation = **looked[running[i]];
                evaluation.givenUp = true;
                evaluation.reason = fmt::format(
                    "given up after {} of {} items: {:.4g} behind the last that is kept "
                    "(p = {:.2g})",
                    count, m_fitness.items(), verdicts[i]->behind, verdicts[i]->pValue);
                const std::size_t place = jobs[running[i]];
                if (Result<void> told = giveUp(place, std::move(evaluation)); !told) return fail(told.error());
                std::erase(left, place);
            }
            jobs = std::move(left);
            expectation.tell(jobs);
        }
        return std::nullopt;
    }

    /// Spends again on the duplicates of a generation what the first with their scales cost. A failure says nothing:
    /// the first evaluation counts.
    Ending evaluateDuplicates(std::size_t first) {
        std::vector<std::size_t> again;
        for (std::size_t place = first; place < m_archive.size(); ++place) {
            if (!m_archive.isOriginal(place) && m_archive[place].record.evaluation.complete()) again.push_back(place);
        }
        std::vector<Result<void>> done(again.size());
        inParallel(again.size(), m_workers, m_stop, [&](std::size_t job, int worker) {
            if (isLate()) return;
            done[job] = guarded("the evaluation", [&] {
                return m_fitness.evaluateAgain(m_archive[again[job]].record.candidate, worker, m_stop);
            });
        });
        if (m_stop.stop_requested()) return EndReason::Stopped;
        for (const Result<void>& one : done) {
            if (!one && m_fitness.isStop(one.error())) return EndReason::Stopped;
            if (!one && one.error().code == ErrorCode::Database) return fail(one.error());
        }
        return std::nullopt;
    }

    /// Numbers of items at which this search's races look; none without races.
    [[nodiscard]] std::vector<int> raceLooks() const { return looks(m_settings.racing ? m_fitness.items() : 0); }

    [[nodiscard]] bool isLate() const { return m_deadline && steadySeconds() >= *m_deadline; }

    /// The jobs on their first `count` items; nothing for those that a stop or the time limit left out.
    [[nodiscard]] std::vector<std::optional<Result<Evaluation>>> lookAt(const std::vector<std::size_t>& jobs,
                                                                        int count) {
        std::vector<std::optional<Result<Evaluation>>> looked(jobs.size());
        inParallel(jobs.size(), m_workers, m_stop, [&](std::size_t job, int worker) {
            const Candidate& candidate = m_archive[jobs[job]].record.candidate;
            if (isLate() && !m_fitness.isStoredFirst(candidate, count)) return;
            looked[job] =
                guarded("the evaluation", [&] { return m_fitness.evaluateFirst(candidate, count, worker, m_stop); });
        });
        return looked;
    }

    Result<void> giveUp(std::size_t place, Evaluation evaluation) {
        m_archive.setEvaluation(place, std::move(evaluation));
        ++m_evaluations;
        ++m_givenUp;
        if (Result<void> told = m_observer.candidateFinished(m_archive[place].record); !told) return told;
        for (const std::size_t duplicate : m_archive[place].duplicates) {
            if (Result<void> told = m_observer.candidateFinished(m_archive[duplicate].record); !told) return told;
        }
        return {};
    }

    /// Scores on the first items of those that stay from the generation before.
    [[nodiscard]] std::vector<std::vector<double>> keptScores(int count) const {
        std::vector<std::vector<double>> scores;
        for (const std::size_t place : m_population.members()) {
            const Evaluation& evaluation = m_archive[place].record.evaluation;
            if (scores.size() == m_population.keptCount() || !evaluation.complete()) break;
            scores.emplace_back(evaluation.byItem.begin(), evaluation.byItem.begin() + count);
        }
        return scores;
    }

    /// Breeds on this thread, before anything of the generation is evaluated. Every candidate draws from a stream of
    /// its own, until its scales are new or the retries are used up.
    Result<void> breed(int generation, int count) {
        for (int index = 0; index < count; ++index) {
            RandomStream random = m_optimizer->stream(generation, index);
            for (int retry = 0;; ++retry) {
                Optimizer::Proposal proposal = m_optimizer->propose(generation, index, random);
                const Result<std::vector<double>> scales = decode(m_settings, m_numLayers, proposal.genome);
                if (!scales) return fail(scales.error());
                if (proposal.fixed || retry == m_settings.duplicateRetries || !m_archive.knows(*scales)) {
                    m_archive.add({generation, index, std::move(proposal.genome), *scales});
                    break;
                }
            }
        }
        return {};
    }

    /// Cuts the jobs to what --max-evals leaves; true when it cut something.
    bool withinBudget(std::vector<std::size_t>& jobs) const {
        if (!m_settings.maxEvals) return false;
        const auto left = static_cast<std::uint64_t>(*m_settings.maxEvals - m_evaluations);
        if (jobs.size() <= left) return false;
        jobs.resize(static_cast<std::size_t>(left));
        return true;
    }

    /// The time is over and no stored evaluation waits to be taken over either.
    bool nothingInTime(const std::vector<std::size_t>& jobs) const {
        if (!isLate()) return false;
        const std::vector<int> counts = raceLooks();
        return std::ranges::none_of(jobs, [&](std::size_t place) {
            const Candidate& candidate = m_archive[place].record.candidate;
            return m_fitness.isStored(candidate) ||
                   (!counts.empty() && m_fitness.isStoredFirst(candidate, counts.front()));
        });
    }

    Result<void> announce(int generation, std::size_t first, std::size_t jobs) {
        std::vector<CandidateRecord> bred;
        for (std::size_t place = first; place < m_archive.size(); ++place) bred.push_back(m_archive[place].record);
        if (Result<void> told = m_observer.generationStarted(generation, bred, static_cast<int>(jobs)); !told)
            return told;
        for (std::size_t place = first; place < m_archive.size(); ++place) {
            if (!m_archive[place].evaluated) continue;  // a duplicate of an earlier generation has its evaluation now
            if (Result<void> told = m_observer.candidateFinished(m_archive[place].record); !told) return told;
        }
        return {};
    }

    /// Why the search ends after this complete generation, if it does.
    std::optional<EndReason> endAfter(int generation) {
        // NaN, which exceeds nothing, when every member failed
        const double best =
            m_settings.objectives.empty() ? m_history.back().best : m_history.back().hypervolume.value_or(NAN);
        const std::size_t place = m_population.members().front();
        if (!m_reference || best > *m_reference + std::max(m_settings.minDelta, noise(place))) {
            if (best == best) {
                m_reference = best;
                m_referencePlace = place;
            }
            m_withoutGain = 0;
        } else {
            ++m_withoutGain;
        }
        if (m_settings.target && m_history.back().best >= *m_settings.target) return EndReason::Target;
        // An exhaustive search has as many generations as its curves fill.
        const bool counted = m_settings.optimizer != OptimizerKind::Exhaustive;
        if (counted && generation == m_settings.maxGenerations) return EndReason::Generations;
        if (m_settings.patience && m_withoutGain >= *m_settings.patience) return EndReason::Patience;
        if (m_settings.maxEvals && m_evaluations >= *m_settings.maxEvals) return EndReason::Evaluations;
        return std::nullopt;
    }

    /// What a gain over the reference has to exceed beside the smallest that counts.
    [[nodiscard]] double noise(std::size_t best) const {
        if (!m_settings.aboveNoise) return 0.0;
        const std::vector<double>& now = m_archive[best].record.evaluation.byItem;
        const std::vector<double>& before = m_archive[m_referencePlace].record.evaluation.byItem;
        return now.size() == before.size() ? standardErrorOfDifference(now, before) : 0.0;
    }

    SearchOutcome outcome(EndReason end) {
        SearchOutcome result;
        result.end = end;
        result.history = std::move(m_history);
        result.evaluations = m_evaluations;
        result.failed = m_failed;
        result.givenUp = m_givenUp;
        result.infeasible = m_infeasible;
        result.failedSlope = m_lastFailure;
        for (std::size_t place = 0; place < m_announced; ++place) {
            if (!m_archive[place].evaluated) continue;
            result.candidates.push_back(m_archive[place].record);
            if (!m_archive.isOriginal(place)) ++result.cacheHits;
        }
        return result;
    }

    const SearchSettings& m_settings;
    const int m_numLayers;
    const int m_workers;
    Fitness& m_fitness;
    SearchObserver& m_observer;
    const std::stop_token m_stop;
    std::optional<double> m_deadline;

    Archive m_archive;
    std::size_t m_announced = 0;  ///< candidates that the observer was told of
    Population m_population;
    const std::unique_ptr<Optimizer> m_optimizer;  ///< refers to the two above
    FrontMeasure m_front;
    std::vector<GenerationRecord> m_history;
    std::int64_t m_evaluations = 0;
    std::int64_t m_failed = 0;
    std::int64_t m_givenUp = 0;
    std::int64_t m_infeasible = 0;
    int m_failuresInARow = 0;
    std::optional<Error> m_lastFailure;
    std::optional<double> m_reference;  ///< best fitness when patience was last reset
    std::size_t m_referencePlace = 0;   ///< whose fitness that is
    int m_withoutGain = 0;
};

}  // namespace

Result<SearchOutcome> runGeneticSearch(const SearchSettings& settings, int numLayers, int workers, Fitness& fitness,
                                       SearchObserver& observer, double elapsedBefore, std::stop_token stop) {
    if (Result<void> checked = checkSettings(settings, numLayers); !checked) return fail(checked.error());
    if (workers < 1 || workers > kMostWorkers) {
        return fail(ErrorCode::Usage, fmt::format("--workers is {}; it must be from 1 to {}", workers, kMostWorkers));
    }
    if (!(elapsedBefore >= 0.0)) {
        return fail(
            ErrorCode::Usage,
            fmt::format("the time that earlier parts of the run took is {}; it must be 0 or more", elapsedBefore));
    }
    try {
        return Search(settings, numLayers, workers, fitness, observer, elapsedBefore, std::move(stop)).run();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "the search ran out of memory; use a smaller --population");
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "the search ended with an exception", error.what());
    }
}

}  // namespace lpes::search
