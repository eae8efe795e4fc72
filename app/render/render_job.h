#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/base/result.h"
#include "widgets/plots/render.h"

/// What lpes-render is told to draw.
namespace lpes::render {

struct Picture {
    analysis::PlotData data;
    std::vector<std::filesystem::path> out;
    widgets::RenderOptions options;
};

/// {"plots": [{"data": PLOT, "out": ["a.pdf", …], "width_mm": 170, "height_mm": 90, "dpi": 200, "theme": "light"}]};
/// PLOT as in core/analysis/plot_json.h. The last four are optional; `defaults` stands in for them.
/// BadInput when the text is not JSON, lacks a key, has an unknown one or a wrong type (names the place); Unsupported
/// for a file name whose extension is not known; Usage for sizes out of range.
[[nodiscard]] Result<std::vector<Picture>> parseJob(std::string_view json, const widgets::RenderOptions& defaults);

/// The text is one PLOT, to be written to each path.
[[nodiscard]] Result<std::vector<Picture>> parsePlot(std::string_view json, std::vector<std::filesystem::path> out,
                                                     const widgets::RenderOptions& options);

/// Draws them in order; stops at the first that fails, whose file is named. GUI thread only.
[[nodiscard]] Result<void> draw(const std::vector<Picture>& pictures);

}  // namespace lpes::render
