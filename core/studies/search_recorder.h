#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "core/curve/scale_curve.h"
#include "core/search/genetic_search.h"
#include "core/store/store.h"
#include "core/studies/run_session.h"

namespace lpes::studies {

/// [[x,y],…]
[[nodiscard]] nlohmann::json pointsJson(std::span<const curve::ControlPoint> points);

/// What a variant was asked during a search.
struct AskedPrompts {
    std::int64_t prompts = 0, items = 0;  ///< on the search items, and of how many of these they are
    std::int64_t shortTexts = 0;          ///< of the guardrail's limit
    [[nodiscard]] std::int64_t together() const { return prompts + shortTexts; }
};
[[nodiscard]] Result<AskedPrompts> askedOf(store::StoreReader& store, std::int64_t variantId);

/// Writes a search's history as it grows, and keeps the estimate of how many prompts it will run.
class SearchRecorder final : public search::SearchObserver {
  public:
    /// Prompts that a search runs; a slope's count kSlopeCost times.
    struct Costs {
        std::int64_t candidate = 0;
        std::int64_t step = 0;  ///< of one descent
        std::int64_t rest = 0;  ///< before and after the search: the guardrail's baseline; selection, report, probes
    };
    SearchRecorder(store::StoreWriter& store, RunProgress& progress, std::int64_t runId,
                   const search::SearchSettings& settings, Costs costs);

    Result<void> generationStarted(int generation, const std::vector<search::CandidateRecord>& bred,
                                   int toEvaluate) override;
    Result<void> candidateFinished(const search::CandidateRecord& record) override;
    Result<void> descentStarted(int generation) override;
    Result<void> generationFinished(const search::GenerationRecord& record) override;

  private:
    Result<void> write(const search::CandidateRecord& record, std::int64_t variantId);
    void plan(int generation);

    store::StoreWriter& m_store;
    RunProgress& m_progress;
    const std::int64_t m_runId;
    const search::SearchSettings& m_settings;
    const Costs m_costs;
    std::int64_t m_planned = 0;  ///< candidates to evaluate of the generations that have started
};

}  // namespace lpes::studies
