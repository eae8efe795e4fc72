#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/channel.h"
#include "core/search/genetic_search.h"
#include "core/studies/item_evaluator.h"
#include "core/studies/layer_reuse.h"
#include "core/studies/objectives.h"
#include "core/studies/run_session.h"
#include "core/studies/session_pool.h"
#include "core/studies/short_contexts.h"
#include "core/tasks/score_kind.h"

namespace lpes::studies {

/// Candidates, by (generation, index), that earlier sittings of a run finished.
struct StoredCandidates {
    std::set<std::pair<int, int>> evaluated;
    /// With the reason. They stay failed, so that a resumed history equals the first one.
    std::map<std::pair<int, int>, std::string> failed;
    /// Of every set of scales that was asked anything, also by candidates that were not finished.
    std::map<std::vector<double>, std::int64_t> variants;
    int lastGeneration = -1;  ///< that is complete
};

/// The sessions that a search evaluates with.
struct SearchSessions {
    std::vector<std::unique_ptr<model::ModelSession>> own;  ///< on this machine; at least one
    std::vector<std::unique_ptr<model::LocalSession>> local;
    std::unique_ptr<SessionPool> pool;  ///< of these and of the other ranks' sessions

    /// `workers` sessions of this machine's own. Errors as SessionPool::start.
    [[nodiscard]] static Result<SearchSessions> make(const Workbench& bench, int workers,
                                                     std::vector<model::AnswerSession*> others);
};

/// Scores candidates on a split of the items; what the data base already has is not computed again, which is all that
/// resuming needs. As many candidates as there are sessions are to be evaluated at the same time. thread-safe.
class SearchFitness final : public search::Fitness {
  public:
    struct Context {
        const Workbench& bench;
        SessionPool& pool;
        store::StoreWriter& store;
        RunProgress& progress;
        std::int64_t runId = 0;
        tasks::ScoreKind score;
        std::vector<double> weights;  ///< per position
        double gapPenalty = 0.0;
        curve::ScaleGroups groups;  ///< what scales belong to besides their layer
        std::uint64_t seed = 1;     ///< of the order in which descents see the search items
        const ShortContexts& shortContexts;
        const ObjectiveRule& objectives;
        /// What the hidden states may take that candidates hand on to one another; unset: they hand on none.
        std::optional<std::int64_t> reuseBytes = {};
    };
    /// The baseline of the short contexts is measured before the first candidate is evaluated; a candidate that they do
    /// not allow is asked no item.
    SearchFitness(Context context, const PromptPlan& searchPlan, StoredCandidates before);

    Result<search::Evaluation> evaluate(const search::Candidate& candidate, int worker, std::stop_token stop) override;
    /// On the search items; of a generation that an earlier sitting completed it is counted and not done.
    Result<void> evaluateAgain(const search::Candidate& candidate, int worker, std::stop_token stop) override;
    /// A lost peer ends the search as a stop does: no candidate is to blame.
    bool isStop(const Error& error) const override { return model::wasStopped(error) || cluster::isLostPeer(error); }
    bool isStored(const search::Candidate& candidate) const override;
    bool isStoredFirst(const search::Candidate& candidate, int count) const override;
    void expect(const std::vector<search::Candidate>& candidates) override;
    int items() const override { return static_cast<int>(m_slopeItems.size()); }
    Result<search::Evaluation> evaluateFirst(const search::Candidate& candidate, int count, int worker,
                                             std::stop_token stop) override;
    /// On the next so many items of the search split, in an order of the run's own (seeded) and round again.
    Result<search::Slope> slope(const search::SlopeRequest& request, int worker, std::stop_token stop) override;
    bool isSlopeStored(const search::SlopeRequest& request) const override;

    /// LayerReuse::summary; null where nothing is handed on.
    [[nodiscard]] nlohmann::json layersReused() const { return m_reuse ? m_reuse->summary() : nlohmann::json(); }

    /// LPES with these scales [L·G], or the model as it is without any.
    [[nodiscard]] rope::PositionMethod method(const std::vector<double>& scales) const;

    /// What one set of scales does on a split.
    struct SplitResult {
        std::int64_t variantId = 0;
        std::vector<analysis::ItemOutcome> outcomes;
        analysis::AccuracyByPosition accuracy;
        std::vector<double> byPosition;  ///< score per position
        std::vector<double> byItem;      ///< weighted score of each item that was run, in order of the plan
        double fitness = 0.0;
    };
    [[nodiscard]] Result<SplitResult> evaluateSplit(const std::string& name, const std::vector<double>& scales,
                                                    const PromptPlan& plan, const std::string& split,
                                                    std::stop_token stop);

  private:
    class Teller;

    /// `firstItems`: only so many of the plan's items; unset: all.
    [[nodiscard]] Result<SplitResult> evaluatePart(const std::string& name, const std::vector<double>& scales,
                                                   const PromptPlan& plan, const std::string& split,
                                                   ChunkObserver& observer, std::stop_token stop,
                                                   std::optional<int> firstItems);
    [[nodiscard]] Result<search::Evaluation> evaluateAll(const search::Candidate& candidate, std::stop_token stop);
    /// Earlier sittings asked it the first `count` items.
    [[nodiscard]] bool wasAskedFirst(const search::Candidate& candidate, int count) const;
    /// It wants no states of others any more.
    void release(const search::Candidate& candidate);
    /// `outcomes`: in order of item, then position.
    [[nodiscard]] std::vector<double> scoresByItem(const std::vector<analysis::ItemOutcome>& outcomes) const;
    [[nodiscard]] std::vector<std::size_t> entriesOf(const search::SlopeRequest& request) const;
    [[nodiscard]] Result<ShortContexts::Reading> shortContexts(const search::Candidate& candidate,
                                                               ChunkObserver& observer, std::stop_token stop);

    Context m_context;
    const PromptPlan& m_searchPlan;
    std::vector<std::vector<std::size_t>> m_slopeItems;  ///< the search plan's entries by item, shuffled
    const StoredCandidates m_before;
    std::mutex m_telling;
    std::map<std::pair<int, int>, std::int64_t> m_told;  ///< prompts of each candidate that progress was told of
    std::unique_ptr<LayerReuse> m_reuse;                 ///< of the search plan's passes; null: nothing is handed on
};

}  // namespace lpes::studies
