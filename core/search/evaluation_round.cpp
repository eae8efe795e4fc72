#include "core/search/evaluation_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>

#include "core/base/clock.h"
#include "core/search/guarded.h"

namespace lpes::search {

EvaluationRound::EvaluationRound(Archive& archive, std::vector<std::size_t> jobs, const Limits& limits,
                                 Fitness& fitness, SearchObserver& observer)
    : m_archive(archive),
      m_jobs(std::move(jobs)),
      m_limits(limits),
      m_fitness(fitness),
      m_observer(observer),
      m_done(m_jobs.size(), false),
      m_failuresInARow(limits.failuresInARow) {}

Result<EvaluationRound::End> EvaluationRound::run(int workers, std::stop_token stop) {
    const std::stop_callback forward(stop, [this] { m_halt.request_stop(); });
    std::vector<std::jthread> threads;
    try {
        const int needed = static_cast<int>(std::min(static_cast<std::size_t>(workers), m_jobs.size()));
        threads.reserve(static_cast<std::size_t>(needed));
        for (int worker = 0; worker < needed; ++worker) threads.emplace_back([this, worker] { work(worker); });
    } catch (const std::exception& error) {
        // Halts the threads that did start: a generation that cannot count must not be worked through.
        const std::lock_guard lock(m_mutex);
        abandon({ErrorCode::Failed,
                 fmt::format("cannot start {} worker threads; use fewer --workers", workers),
                 error.what(),
                 {}});
    }
    threads.clear();
    if (m_fatal) return fail(*m_fatal);
    return conclude();
}

void EvaluationRound::work(int worker) {
    try {
        while (const std::optional<std::size_t> job = take()) {
            finish(*job, evaluate(m_archive[m_jobs[*job]].record.candidate, worker));
        }
    } catch (const std::exception& error) {
        const std::lock_guard lock(m_mutex);
        abandon({ErrorCode::Failed, "the search failed while recording an evaluation", error.what(), {}});
    } catch (...) {
        const std::lock_guard lock(m_mutex);
        abandon({ErrorCode::Failed, "the search failed while recording an evaluation", {}, {}});
    }
}

std::optional<std::size_t> EvaluationRound::take() {
    const std::lock_guard lock(m_mutex);
    for (; m_next < m_jobs.size() && !m_halt.stop_requested(); ++m_next) {
        // An earlier part of the run paid for stored evaluations: the time limit must not lose them on resuming.
        const bool late = m_limits.deadline && steadySeconds() >= *m_limits.deadline;
        if (!late || m_fitness.isStored(m_archive[m_jobs[m_next]].record.candidate)) return m_next++;
    }
    return std::nullopt;
}

Result<Evaluation> EvaluationRound::evaluate(const Candidate& candidate, int worker) {
    return guarded("the evaluation", [&] { return m_fitness.evaluate(candidate, worker, m_halt.get_token()); });
}

void EvaluationRound::finish(std::size_t job, Result<Evaluation> result) {
    const std::lock_guard lock(m_mutex);
    if (m_fatal || m_tooManyFailures) return;
    Evaluation evaluation;
    if (result) {
        evaluation = std::move(*result);
        if (evaluation.complete() && !std::isfinite(evaluation.fitness)) {
            evaluation.failed = true;
            evaluation.reason = fmt::format("the fitness is {}, which is not a finite number", evaluation.fitness);
        }
        const auto wrong = std::ranges::find_if_not(evaluation.objectives, [](double v) { return std::isfinite(v); });
        if (evaluation.complete() && wrong != evaluation.objectives.end()) {
            evaluation.failed = true;
            evaluation.reason = fmt::format("an objective is {}, which is not a finite number", *wrong);
        }
    } else if (m_fitness.isStop(result.error())) {
        m_stopped = true;
        m_halt.request_stop();
        return;
    } else if (result.error().code == ErrorCode::Database) {
        abandon(std::move(result.error()));
        return;
    } else {
        evaluation.failed = true;
        evaluation.reason = result.error().text();
        evaluation.cause = result.error().code;
    }
    // A failed candidate's figures mean nothing, and a NaN among them would make equal histories differ.
    if (evaluation.failed || evaluation.infeasible()) {
        evaluation.fitness = 0.0;
        evaluation.byPosition.clear();
        evaluation.objectives.clear();
    }

    const std::size_t place = m_jobs[job];
    m_archive.setEvaluation(place, std::move(evaluation));
    m_done[job] = true;
    advancePrefix();
    report(place);
    for (const std::size_t duplicate : m_archive[place].duplicates) report(duplicate);
}

void EvaluationRound::report(std::size_t place) {
    if (m_fatal) return;
    if (Result<void> told = m_observer.candidateFinished(m_archive[place].record); !told) abandon(told.error());
}

void EvaluationRound::advancePrefix() {
    while (m_prefix < m_jobs.size() && m_done[m_prefix] && !m_tooManyFailures) {
        const bool failed = m_archive[m_jobs[m_prefix]].record.evaluation.failed;
        m_failuresInARow = failed ? m_failuresInARow + 1 : 0;
        ++m_prefix;
        if (m_failuresInARow >= m_limits.maxConsecutiveFailures) {
            m_tooManyFailures = true;
            m_halt.request_stop();
        }
    }
}

void EvaluationRound::abandon(Error error) {
    if (!m_fatal) m_fatal = std::move(error);
    m_halt.request_stop();
}

EvaluationRound::End EvaluationRound::conclude() {
    for (std::size_t job = 0; job < m_jobs.size(); ++job) {
        if (!m_done[job]) continue;
        if (m_tooManyFailures && job >= m_prefix) {
            m_archive.dropEvaluation(m_jobs[job]);
            continue;
        }
        ++m_evaluated;
        const Evaluation& evaluation = m_archive[m_jobs[job]].record.evaluation;
        if (evaluation.failed) ++m_failed;
        if (evaluation.infeasible()) ++m_infeasible;
    }
    if (m_tooManyFailures) return End::Failures;
    if (m_prefix == m_jobs.size()) return End::Complete;
    return m_stopped || m_halt.stop_requested() ? End::Stopped : End::TimeLimit;
}

}  // namespace lpes::search
