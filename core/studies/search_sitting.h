#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/analysis/position_accuracy.h"
#include "core/base/result.h"
#include "core/studies/pass_tokens.h"
#include "core/studies/search_fitness.h"
#include "core/studies/search_setup.h"
#include "core/studies/studies.h"

namespace lpes::studies {

/// One sitting of a search, from its first candidate or from wherever an earlier sitting left it, to the end: search,
/// selection, report, probes, profile. thread-compatible.
class SearchSitting {
  public:
    SearchSitting(const PreparedSearch& prepared, SearchSessions& sessions, store::StoreWriter& store,
                  RunProgress& progress, std::int64_t runId, StoredCandidates before);

    [[nodiscard]] Result<StudyOutcome> run(double elapsedBefore, std::stop_token stop);

  private:
    /// The winner with the figures that chose it.
    struct Winner {
        search::CandidateRecord record;
        double fitness = 0.0;  ///< mean of search and selection fitness
        double selectFitness = 0.0;
    };
    using SplitResult = SearchFitness::SplitResult;

    [[nodiscard]] std::int64_t promptsAfterSearch() const;
    /// Scores the finalists again on the selection split; the mean of both fitness values decides, ties
    /// go to the better on the search split (methods.md §2).
    [[nodiscard]] Result<Winner> selectWinner(const search::SearchOutcome& outcome, std::stop_token stop);
    [[nodiscard]] Result<StudyOutcome> report(const search::SearchOutcome& outcome, const Winner& winner,
                                              std::stop_token stop);
    /// The Pareto front of a search with several objectives, its finalists with what they do on the report's items;
    /// null where one fitness decides.
    [[nodiscard]] Result<nlohmann::json> frontOf(const search::SearchOutcome& outcome, const Winner& winner,
                                                 const SplitResult& baseline, const SplitResult& best,
                                                 std::stop_token stop);
    /// Attention and deviation on a few report items, so that the report can show what the profile does.
    [[nodiscard]] Result<void> probe(const SplitResult& baseline, const SplitResult& best,
                                     const std::vector<double>& scales, std::stop_token stop);
    /// What the winner does to short contexts; null where nothing is asked.
    [[nodiscard]] Result<nlohmann::json> guardrail(const std::vector<double>& scales, std::stop_token stop);
    /// The profile beside its noisy and shuffled twins, which only a scale per layer has: how much of the disturbance
    /// its smoothness saves.
    [[nodiscard]] Result<void> probeVariants(const PromptPlan& plan, const std::vector<double>& scales,
                                             std::stop_token stop);
    [[nodiscard]] Result<StudyOutcome> finish(const search::SearchOutcome& outcome, const Winner& winner,
                                              const SplitResult& baseline, const SplitResult& best,
                                              const analysis::Comparison& comparison, nlohmann::json guardrail);
    /// How the answers' likelihood hangs on every scale, for the model as it is and for the winner.
    [[nodiscard]] Result<void> probeSensitivity(const PromptPlan& plan, const std::vector<double>& scales,
                                                std::stop_token stop);
    /// What there is when the user stopped.
    [[nodiscard]] StudyOutcome partial(const search::SearchOutcome& outcome) const;
    [[nodiscard]] Result<StudyOutcome> stoppedOr(const Error& error, const search::SearchOutcome& outcome) const;
    /// What candidates with the scales of earlier ones would have cost; null where they were evaluated again.
    [[nodiscard]] nlohmann::json memoJson(const search::SearchOutcome& outcome) const;
    /// What its evaluations were spared because prompts that begin alike share; null where they do not share.
    [[nodiscard]] nlohmann::json prefixesJson(const search::SearchOutcome& outcome) const;
    [[nodiscard]] nlohmann::json common(const search::SearchOutcome& outcome) const;

    /// For what is not done in pieces, while nothing is: probes, checks, the guardrail.
    [[nodiscard]] model::ModelSession& session() { return *m_sessions.own.front(); }

    const PreparedSearch& m_prepared;
    SearchSessions& m_sessions;
    store::StoreWriter& m_store;
    RunProgress& m_progress;
    const std::int64_t m_runId;
    ShortContexts m_shortContexts;
    SearchFitness m_fitness;
    std::vector<PassTokens> m_passTokens;  ///< of the search plan, where prompts share
    nlohmann::json m_front;                ///< frontOf, once it is reported
    std::vector<std::string> m_warnings;   ///< what the user should know of a finished run
};

}  // namespace lpes::studies
