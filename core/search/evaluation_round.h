#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/search/archive.h"

namespace lpes::search {

/// Evaluates the new candidates of one generation with several workers.
///
/// Workers take candidates in order of their index. What ends the round early acts on the order of the candidates, not
/// of their completion: after `maxConsecutiveFailures` failures in a row in that order nothing more is handed out, and
/// what others may have finished beyond the last of them is dropped, so that the archive is the same for any number of
/// workers. A stop, and the deadline, depend on time by nature: what is finished then stays.
/// thread-compatible; `run` once.
class EvaluationRound {
  public:
    struct Limits {
        std::optional<double> deadline;  ///< in steadySeconds(); afterwards only stored candidates are handed out
        int maxConsecutiveFailures = 5;
        int failuresInARow = 0;  ///< at the end of the generation before
    };
    enum class End { Complete, Failures, Stopped, TimeLimit };

    /// `jobs`: places of originals without an evaluation, ascending. Everything referred to must outlive the round.
    EvaluationRound(Archive& archive, std::vector<std::size_t> jobs, const Limits& limits, Fitness& fitness,
                    SearchObserver& observer);

    /// Returns when every worker has ended. The error is a Database error of the fitness, or the observer's.
    [[nodiscard]] Result<End> run(int workers, std::stop_token stop);

    /// After run: evaluations that count, failures among them, and the failures in a row at the end.
    [[nodiscard]] int evaluated() const { return m_evaluated; }
    [[nodiscard]] int failed() const { return m_failed; }
    [[nodiscard]] int infeasible() const { return m_infeasible; }
    [[nodiscard]] int failuresInARow() const { return m_failuresInARow; }

  private:
    void work(int worker);
    [[nodiscard]] std::optional<std::size_t> take();
    [[nodiscard]] Result<Evaluation> evaluate(const Candidate& candidate, int worker);
    void finish(std::size_t job, Result<Evaluation> result);
    void report(std::size_t place);
    void advancePrefix();
    void abandon(Error error);
    [[nodiscard]] End conclude();

    Archive& m_archive;
    const std::vector<std::size_t> m_jobs;
    const Limits m_limits;
    Fitness& m_fitness;
    SearchObserver& m_observer;
    std::stop_source m_halt;  ///< the caller's stop, or our own reason to end evaluations that run

    std::mutex m_mutex;  ///< guards everything below, and the observer
    std::vector<bool> m_done;
    std::size_t m_next = 0;    ///< next job to hand out
    std::size_t m_prefix = 0;  ///< jobs before it are all done
    int m_failuresInARow;
    bool m_tooManyFailures = false;  ///< m_prefix is then just behind the last failure that counts
    bool m_stopped = false;
    std::optional<Error> m_fatal;
    int m_evaluated = 0;
    int m_failed = 0;
    int m_infeasible = 0;
};

}  // namespace lpes::search
