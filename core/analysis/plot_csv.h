#pragma once

#include <string>

#include "core/analysis/plot_data.h"

namespace lpes::analysis {

/// The drawn data as CSV (RFC 4180, header line, point as decimal separator, digits that round-trip), long form: one
/// row per point with the series' name.
[[nodiscard]] std::string plotCsv(const PlotData& data);

}  // namespace lpes::analysis
