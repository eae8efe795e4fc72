#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/studies/calibration.h"
#include "core/studies/search_setup.h"

// Private to core/studies: what a search will take, stage by stage.
namespace lpes::studies {

/// What the process had in memory before and after model and items were there, in bytes.
struct LoadedMemory {
    std::int64_t before = 0, after = 0;
};

/// A search that is ready to begin, and what its parts cost here.
struct MeasuredSearch {
    nlohmann::json plan;  ///< planSearch
    PreparedSearch prepared;
    Calibration measured;
    LoadedMemory process;
};
/// Errors as forecastSearch.
[[nodiscard]] Result<MeasuredSearch> measureSearch(const SearchRunSettings& settings, ProgressObserver& observer,
                                                   std::stop_token stop);

/// Distinct candidates that each generation evaluates at most, from generation 0 on; together mostCandidates().
[[nodiscard]] std::vector<std::int64_t> generationSizes(const search::SearchSettings& settings, int numLayers);

struct StageCost {
    std::string stage;            ///< "generation 0", "generations 1–6", "descents", "guardrail limit", "selection",
                                  ///< "report", "probes", "guardrail"
    std::int64_t candidates = 0;  ///< variants that it evaluates
    std::optional<std::int64_t> prompts;  ///< none: not known
    std::int64_t tokens = 0;              ///< in them, answers included
    double seconds = 0.0;
    std::string derivation;  ///< how the seconds were found
};
/// The stages of a search, each at most.
[[nodiscard]] std::vector<StageCost> stagesOf(const MeasuredSearch& search);

/// The sums of the stages; a time limit ends the search before its last stages.
struct ForecastTotals {
    std::int64_t candidates = 0, prompts = 0, tokens = 0;
    double seconds = 0.0;
};
[[nodiscard]] ForecastTotals forecastTotals(const MeasuredSearch& search);

/// Memory in bytes: {"program_bytes", "loaded_bytes", "weight_bytes", "activation_bytes", "cache_bytes",
/// "reuse_bytes", "total_bytes", "measured_bytes"}. total = program + loaded + activations + caches; `loaded` is what
/// loading added to the process (weights, their packed copies, pages of their file, items), on another device than the
/// CPU the weights alone. The activations and caches are estimates, of every worker in its heaviest pass. The reused
/// states are not in the total: they come beside it for a generation, as many as there is room for, at most so many.
[[nodiscard]] nlohmann::json memoryOf(const MeasuredSearch& search);

/// What forecastSearch answers.
[[nodiscard]] nlohmann::json forecastJson(const MeasuredSearch& search);

}  // namespace lpes::studies
