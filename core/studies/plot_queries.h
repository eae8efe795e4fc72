#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace lpes::studies {

/// Kinds of plot a run has data for, of curve, accuracy, convergence, attention, deviation.
[[nodiscard]] Result<std::vector<std::string>> availablePlots(store::StoreReader& store, const store::RunRow& run);

/// What a plot of a run shows, read from the data base alone. Usage for an unknown kind, Failed with the reason when
/// the run has no data of that kind.
[[nodiscard]] Result<analysis::PlotData> plotData(store::StoreReader& store, const store::RunRow& run,
                                                  const std::string& kind);

/// A run of the data base as the user names it: a number, or "last". Usage otherwise.
[[nodiscard]] Result<store::RunRow> findRun(store::StoreReader& store, const std::string& name);

/// `db show`: the run, its settings, result, and the number of rows of each kind.
[[nodiscard]] Result<nlohmann::json> describeRun(store::StoreReader& store, const store::RunRow& run);

}  // namespace lpes::studies
