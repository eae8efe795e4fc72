#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/studies/calibration.h"
#include "core/studies/search_setup.h"

// Private to core/studies: what a search will take, stage by stage.
namespace lpes::studies {

/// Distinct candidates that each generation evaluates at most, from generation 0 on; together mostCandidates().
[[nodiscard]] std::vector<std::int64_t> generationSizes(const search::SearchSettings& settings, int numLayers);

struct StageCost {
    std::string stage;            ///< "generation 0", "generations 1–6", "descents", "selection", "report", "probes",
                                  ///< "guardrail"
    std::int64_t candidates = 0;  ///< variants that it evaluates
    std::optional<std::int64_t> prompts;  ///< none: not known
    std::int64_t tokens = 0;              ///< in them, answers included
    std::optional<double> seconds;        ///< none without a calibration
    std::string derivation;               ///< how the seconds were found
};

/// The stages of a search at most; `measured` may be null.
[[nodiscard]] std::vector<StageCost> stagesOf(const PreparedSearch& prepared, const Calibration* measured);

/// What the process had in memory before and after model and items were there, in bytes.
struct LoadedMemory {
    std::int64_t before = 0, after = 0;
};
/// Memory in bytes: {"program_bytes", "loaded_bytes", "weight_bytes", "activation_bytes", "cache_bytes",
/// "total_bytes"}. total = program + loaded + activations + caches; `loaded` is what loading added to the process
/// (weights, their packed copies, pages of their file, items), on another device than the CPU the weights alone. The
/// activations and caches are estimates, of every worker in its heaviest pass.
[[nodiscard]] nlohmann::json memoryOf(const PreparedSearch& prepared, const LoadedMemory& process);

}  // namespace lpes::studies
