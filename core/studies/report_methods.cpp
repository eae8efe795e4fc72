#include <fmt/format.h>

#include <cmath>

#include "core/studies/plot_queries.h"
#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"

namespace lpes::studies {

namespace {

std::string known(double value, const char* format) {
    return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "–";
}

std::string estimate(const analysis::MethodsPlot::Estimate& value, const char* format) {
    std::string words = known(value.value, format);
    if (std::isfinite(value.low) && std::isfinite(value.high))
        words += fmt::format(" ({} to {})", known(value.low, format), known(value.high, format));
    return words;
}

}  // namespace

std::string methodSection(store::StoreReader& store, const store::RunRow& run) {
    const auto data = plotData(store, run, "methods");
    if (!data) return {};
    constexpr double kMiB = 1024.0 * 1024.0;
    HtmlTable table({"method", "mean accuracy (95 %)", "gap", "answer NLL (nats)",
                     "difference to the first (nats, 95 %)", "p", "time / first (95 %)", "tokens/s",
                     "peak memory (MiB)", "passes", "attentions per layer"});
    std::string verdicts;
    for (const auto& one : std::get<analysis::MethodsPlot>(*data).methods) {
        table.add({escapeHtml(one.name), estimate(one.accuracy, "{:.3f}"), known(one.gap, "{:.3f}"),
                   known(one.answerNll, "{:.3f}"), estimate(one.nllDifference, "{:.3f}"), known(one.pValue, "{:.3g}"),
                   estimate(one.timeRatio, "{:.2f}"), known(one.tokensPerSecond, "{:.0f}"),
                   known(one.peakBytes / kMiB, "{:.1f}"), std::to_string(one.passes),
                   std::to_string(one.attentionsPerLayer)});
        if (!one.verdict.empty())
            verdicts += fmt::format("<p><b>{}</b>: {}.</p>\n", escapeHtml(one.name), escapeHtml(one.verdict));
    }
    return table.html("Methods") + verdicts +
           "<p class=\"soft\">Every method was asked the same items; differences and ratios are to the first one. "
           "Intervals: bootstrap over items. Memory is beside the loaded weights, for the largest pass.</p>\n";
}

}  // namespace lpes::studies
