#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"

namespace lpes::test {

/// One plot of each kind with the sizes of the demo study: 30 layers, 3 positions, 8 generations, 20 records.
[[nodiscard]] analysis::CurvePlot curvePlot();
[[nodiscard]] analysis::AccuracyPlot accuracyPlot();
[[nodiscard]] analysis::ConvergencePlot convergencePlot();
[[nodiscard]] analysis::ProgressPlot progressPlot();
[[nodiscard]] analysis::AttentionPlot attentionPlot();
[[nodiscard]] analysis::DeviationPlot deviationPlot();
[[nodiscard]] analysis::SensitivityPlot sensitivityPlot();
[[nodiscard]] analysis::ParetoPlot paretoPlot();
/// Seven steps of the released recipe.
[[nodiscard]] analysis::LossPlot lossPlot();
/// So many methods, 2 to 12, with long spellings among them and one that is far off.
[[nodiscard]] analysis::MethodsPlot methodsPlot(std::size_t count = 5);
/// The same methods' accuracy by position.
[[nodiscard]] analysis::AccuracyPlot methodsAccuracyPlot(std::size_t count);
[[nodiscard]] std::vector<analysis::PlotData> allPlots();
/// Every kind without a single value.
[[nodiscard]] std::vector<analysis::PlotData> emptyPlots();
/// Every kind with NaN and infinities among its values.
[[nodiscard]] std::vector<analysis::PlotData> brokenPlots();
[[nodiscard]] std::string kindOf(const analysis::PlotData& data);

/// A fresh folder that is removed with the test.
class TempFolder {
  public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return m_path / name; }
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

  private:
    std::filesystem::path m_path;
};

}  // namespace lpes::test
