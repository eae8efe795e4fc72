#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/analysis/verdict.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"

namespace lpes::studies {

namespace {

using Method = analysis::MethodsPlot::Method;

std::string known(double value, const char* format) {
    return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "–";
}

std::string estimate(const analysis::Estimate& value, const char* format) {
    std::string words = known(value.value, format);
    if (std::isfinite(value.low) && std::isfinite(value.high))
        words += fmt::format(" ({} to {})", known(value.low, format), known(value.high, format));
    return words;
}

std::string costTable(const std::vector<Method>& methods) {
    constexpr double kMiB = 1024.0 * 1024.0;
    HtmlTable table({"method", "mean accuracy (95 %)", "gap (95 %)", "answer NLL (nats, 95 %)", "time / first (95 %)",
                     "tokens/s", "peak memory (MiB)", "passes", "attentions per layer"});
    for (const Method& one : methods) {
        table.add({escapeHtml(one.name), estimate(one.accuracy, "{:.3f}"), estimate(one.gap, "{:.3f}"),
                   estimate(one.answerNll, "{:.3f}"), estimate(one.timeRatio, "{:.2f}"),
                   known(one.tokensPerSecond, "{:.0f}"), known(one.peakBytes / kMiB, "{:.1f}"),
                   std::to_string(one.passes), std::to_string(one.attentionsPerLayer)});
    }
    return table.html("Methods") +
           "<p class=\"soft\">Every method was asked the same items; ratios are to the first one. Intervals are over "
           "items, of times over pairs of passes, of which there must be six; gap and answer NLL have none below ten "
           "items, and "
           "that of the gap reaches down to 0 unless the test over positions finds a bias. Memory is beside the loaded "
           "weights, for "
           "the largest pass.</p>\n";
}

/// Paired tests of all but the first.
std::string testTable(const std::vector<Method>& methods) {
    HtmlTable table({"method", "answer NLL, difference (nats, 95 %)", "p, Holm", "score, difference (95 %)", "p, Holm",
                     "McNemar by position, p, Holm"});
    bool tested = false;
    for (std::size_t i = 1; i < methods.size(); ++i) {
        const Method& one = methods[i];
        std::string byPosition;
        for (const double p : one.mcnemarHolm) byPosition += (byPosition.empty() ? "" : ", ") + known(p, "{:.3g}");
        table.add({escapeHtml(one.name), estimate(one.nllDifference, "{:.3f}"), known(one.pHolm, "{:.3g}"),
                   estimate(one.scoreDifference, "{:.3f}"), known(one.scoreHolm, "{:.3g}"),
                   byPosition.empty() ? "–" : byPosition});
        tested = tested || std::isfinite(one.pHolm);
    }
    if (table.empty()) return {};
    return table.html("Differences to the first method") +
           (tested ? std::string("<p class=\"soft\">Paired bootstraps over items; McNemar's exact test of accuracy at "
                                 "each position, for information. p values are adjusted by Holm's method over the "
                                 "methods, McNemar's over methods and positions.</p>\n")
                   : fmt::format("<p class=\"soft\">–: no p values below {} items and no intervals of differences, "
                                 "because so few show significance where there is none.</p>\n",
                                 analysis::kFewestItems));
}

}  // namespace

std::string methodSection(store::StoreReader& store, const store::RunRow& run) {
    const auto data = plotData(store, run, "methods");
    if (!data) return {};
    const std::vector<Method>& methods = std::get<analysis::MethodsPlot>(*data).methods;
    std::string verdicts;
    for (const Method& one : methods) {
        if (!one.verdict.empty())
            verdicts += fmt::format("<p><b>{}</b>: {}.</p>\n", escapeHtml(one.name), escapeHtml(one.verdict));
    }
    return costTable(methods) + testTable(methods) + verdicts;
}

}  // namespace lpes::studies
