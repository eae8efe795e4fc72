#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/base/result.h"

namespace lpes::widgets {

/// How a plot is written to a file.
struct RenderOptions {
    double widthMm = 170.0;          ///< 20 … 1000; two columns of a paper: 170, one: 85
    std::optional<double> heightMm;  ///< 20 … 1000; without it what suits the plot at that width
    double dpi = 200.0;              ///< 50 … 1200; PNG only
    bool dark = false;
};

/// BadInput (Usage for sizes) with the offending value when the options cannot be met.
[[nodiscard]] Result<void> checkRenderOptions(const RenderOptions& options);

/// Unsupported, by name, unless the extension is .pdf, .svg, .png or .csv (any case).
[[nodiscard]] Result<void> checkRenderPath(const std::filesystem::path& path);

/// Writes the plot as PDF, SVG, PNG or CSV, by the path's extension. The picture has exactly the size asked for; the
/// same data and options give the same bytes on every call. The file appears whole or not at all (writeFileAtomically).
/// Needs a QApplication (any platform; offscreen will do) except for CSV. GUI thread only.
/// Usage: a size out of range. Unsupported: another extension. Failed: no font installed, or the file cannot be
/// written.
[[nodiscard]] Result<void> renderPlot(const analysis::PlotData& data, const RenderOptions& options,
                                      const std::filesystem::path& path);

}  // namespace lpes::widgets
