#include <algorithm>
#include <utility>

#include "core/studies/run_view.h"
#include "core/studies/slope_evaluator.h"

namespace lpes::studies {

Result<analysis::PlotData> sensitivityPlot(store::StoreReader& store, const RunView& view) {
    analysis::SensitivityPlot plot;
    plot.title = "Slope of the answer's negative log-likelihood by layer";
    plot.subtitle = view.subtitle(0);
    const std::vector<std::string> labels = positionLabels(view);
    for (const store::VariantRow& variant : view.variants) {
        auto rows = store.slopes(variant.id, "report");
        if (!rows) return fail(rows.error());
        // A scale for every head or band has no place in a map of layers.
        if (rows->empty() || std::ssize(rows->front().slope) != view.model.layers) continue;
        std::size_t positions = 0;
        for (const store::SlopeRow& row : *rows)
            positions = std::max(positions, static_cast<std::size_t>(row.position) + 1);
        MeanSlopes means = meanByPosition(*rows, positions);
        const bool level = changesNothing(variant);
        analysis::SensitivityPlot::Series series{level ? "baseline" : "best profile",
                                                 level ? analysis::SeriesRole::Baseline : analysis::SeriesRole::Best,
                                                 {},
                                                 std::ssize(*rows) / static_cast<std::int64_t>(positions)};
        for (std::size_t position = 0; position < positions; ++position) {
            series.rows.push_back({position < labels.size() ? labels[position] : std::to_string(position),
                                   std::move(means.slope[position])});
        }
        plot.series.push_back(std::move(series));
    }
    if (!plot.series.empty()) {
        std::ranges::stable_partition(plot.series,
                                      [](const auto& series) { return series.role == analysis::SeriesRole::Baseline; });
        return plot;
    }
    const bool search = view.run.kind == "search";
    return noData(view, "sensitivity",
                  !search ? "only searches measure it"
                  : view.run.state == store::RunState::Finished
                      ? "it was not measured: --analysis-items 0, scales by head or band, or too little memory"
                      : "it is measured at the end of the search");
}

}  // namespace lpes::studies
