#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace lpes::studies {

/// Every kind of plot, in the order in which they are offered.
inline constexpr std::array<const char*, 9> kPlotKinds = {
    "curve", "accuracy", "convergence", "attention", "deviation", "sensitivity", "pareto", "loss", "methods"};

/// File names of profiles that were drawn by hand and kept for a comparison begin so: such a method is drawn as the
/// current curve, other profiles as what a search found.
inline constexpr const char* kDrawnCurvePrefix = "drawn-curve-";

/// All plots of a run out of one reading, in the order of kPlotKinds, each as plotData answers it. A data base that
/// cannot be read is an error of the whole.
[[nodiscard]] Result<std::vector<Result<analysis::PlotData>>> allPlots(store::StoreReader& store,
                                                                       const store::RunRow& run);

/// Kinds of plot that a run has data for.
[[nodiscard]] Result<std::vector<std::string>> availablePlots(store::StoreReader& store, const store::RunRow& run);

/// What a plot of a run shows, read from the data base alone. Usage for an unknown kind, Failed with the reason when
/// the run has no data of that kind.
[[nodiscard]] Result<analysis::PlotData> plotData(store::StoreReader& store, const store::RunRow& run,
                                                  const std::string& kind);

/// The candidates that a search has in hand: the last complete population and those of the generation under way.
struct RunPopulation {
    struct Member {
        int generation = 0, index = 0;
        std::vector<double> scales;  ///< [L·G], layer by layer
        double fitness = 0.0;
    };
    std::vector<Member> members;
    std::vector<std::string> groupNames;     ///< [G] "head 0", "band 0–7", …; one empty name for a scale per layer
    std::optional<Member> best;              ///< of all candidates so far; of a finished run the one that it chose
    std::optional<double> baselineFitness;   ///< of all scales 1.0, when it was a candidate
    std::int64_t evaluated = 0, failed = 0;  ///< candidates of the whole run
    std::string lastFailure;                 ///< reason of the newest failed one
};
/// Empty for a run that is no search.
[[nodiscard]] Result<RunPopulation> populationOf(store::StoreReader& store, const store::RunRow& run);

/// A guardrail's figures with their intervals in words, a line each: perplexity of short contexts, then the exams.
/// Empty for null.
[[nodiscard]] std::string guardrailLines(const nlohmann::json& guardrail);

/// A run of the data base as the user names it: a number, or "last". Usage otherwise.
[[nodiscard]] Result<store::RunRow> findRun(store::StoreReader& store, const std::string& name);

/// `db show`: the run, its settings, result, and the number of rows of each kind.
[[nodiscard]] Result<nlohmann::json> describeRun(store::StoreReader& store, const store::RunRow& run);

}  // namespace lpes::studies
