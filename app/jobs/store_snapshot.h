#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/base/error.h"
#include "core/store/rows.h"
#include "core/studies/plot_queries.h"

namespace lpes::app {

using studies::kPlotKinds;
/// Places in kPlotKinds.
enum PlotKind {
    kCurvePlot,
    kAccuracyPlot,
    kConvergencePlot,
    kAttentionPlot,
    kDeviationPlot,
    kSensitivityPlot,
    kParetoPlot,
    kLossPlot,
    kMethodsPlot
};

/// One plot as the data base has it now.
struct StoredPlot {
    std::shared_ptr<const analysis::PlotData> data;  ///< null: there is none
    std::string why;                                 ///< then: the reason in words
    std::uint64_t version = 0;                       ///< changes when what is drawn changes
};

/// Everything that the window shows of one run.
struct RunDetail {
    store::RunRow run;
    std::string modelName;
    std::array<StoredPlot, kPlotKinds.size()> plots;
    studies::RunPopulation population;
    std::string profileJson;  ///< the newest; empty: none yet
};

/// A data base at one moment, as plain values.
struct StoreSnapshot {
    std::filesystem::path path;
    bool exists = false;
    std::optional<Error> error;
    std::vector<store::RunRow> runs;          ///< newest first
    std::vector<std::string> modelNames;      ///< of the runs, in their order
    std::vector<bool> hasProfile;             ///< of the runs
    std::vector<std::string> outcomes;        ///< of the runs, in a few words
    std::shared_ptr<const RunDetail> detail;  ///< of the selected run; null: none selected or not found
};

}  // namespace lpes::app
