// What a search found and how, and what was measured inside the model.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/analysis/statistics.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"
#include "core/studies/run_view.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// A row for each layer, a column for each head or band.
std::string groupedProfile(const json& result, const json& rows) {
    const curve::ScaleGroups groups =
        groupsOf(memberOf(result, "settings"), scalesOf(result["best"]).size(), static_cast<std::int64_t>(rows.size()));
    const bool heads = groups.kind == curve::ScaleGroups::Kind::KvHead;
    std::vector<std::string> header{"layer"};
    for (int group = 0; group < groups.count(); ++group) header.push_back(escapeHtml(curve::groupName(groups, group)));
    HtmlTable table(header);
    for (std::size_t layer = 0; layer < rows.size(); ++layer) {
        std::vector<std::string> cells{std::to_string(layer)};
        for (const json& scale : rows[layer]) cells.push_back(scale.dump());
        table.add(std::move(cells));
    }
    return fmt::format("<h2>Best profile</h2>\n<p>Layer h divides {} by s; 1 = unchanged.</p>\n",
                       heads ? "the positions of each key/value head" : "each band of frequencies") +
           table.html();
}

}  // namespace

std::string profileSection(const json& result) {
    const json scales = listIn(memberOf(result, "best"), "scales");
    if (scales.empty()) return {};
    if (scales.front().is_array()) return groupedProfile(result, scales);
    std::string html = "<h2>Best profile</h2>\n<p>Layer h divides its positions by s<sub>h</sub>; 1 = unchanged.</p>\n";
    // Fifteen columns fit on a page; deeper models go on in further tables.
    constexpr std::size_t kColumns = 15;
    for (std::size_t first = 0; first < scales.size(); first += kColumns) {
        std::vector<std::string> header{"layer"}, cells{"s"};
        for (std::size_t layer = first; layer < std::min(first + kColumns, scales.size()); ++layer) {
            header.push_back(std::to_string(layer));
            cells.push_back(scales[layer].dump());
        }
        HtmlTable table(header);
        table.add(std::move(cells));
        html += table.html();
    }
    return html;
}

std::string generationSection(const json& result) {
    const json history = listIn(result, "history");
    const bool fronts = !history.empty() && memberOf(history.back(), "hypervolume").is_number();
    std::vector<std::string> header{"generation", "best fitness", "mean fitness", "diversity (mean |Δs|)"};
    if (fronts) header.insert(header.end(), {"front", "hypervolume"});
    HtmlTable table(header);
    for (const json& generation : history) {
        std::vector<std::string> cells{textIn(generation, "generation"), numberIn(generation, "best", "{:.4f}"),
                                       numberIn(generation, "mean", "{:.4f}"),
                                       numberIn(generation, "diversity", "{:.3f}")};
        if (fronts) {
            cells.push_back(textIn(generation, "front_size"));
            cells.push_back(numberIn(generation, "hypervolume", "{:.5f}"));
        }
        table.add(std::move(cells));
    }
    return table.html("Generations");
}

std::string frontSection(const json& result) {
    HtmlTable table({"number", "objectives on the search items", "short-context perplexity", "fitness",
                     "objectives on held-out items", "NLL against baseline (95 %)", "p, Holm", "picked"},
                    {1, 4});
    const auto objectives = [](const json& named) {
        std::string words;
        for (const auto& [name, value] : named.items()) {
            if (name != "short" && value.is_number())
                words += fmt::format("{}{} {:.4f}", words.empty() ? "" : ", ", name, value.get<double>());
        }
        return words;
    };
    const auto difference = [](const json& heldout) {
        std::string words = numberIn(heldout, "nll_difference", "{:+.3f}");
        if (memberOf(heldout, "nll_difference_low").is_number())
            words += fmt::format(" ({} to {})", numberIn(heldout, "nll_difference_low", "{:+.3f}"),
                                 numberIn(heldout, "nll_difference_high", "{:+.3f}"));
        return words;
    };
    for (const json& member : listIn(result, "front")) {
        const json heldout = memberOf(member, "heldout");
        table.add({textIn(member, "number"), objectives(memberOf(member, "objectives")),
                   numberIn(member, "perplexity", "{:.3f}"), numberIn(member, "fitness", "{:.4f}"),
                   objectives(memberOf(heldout, "objectives")), difference(heldout),
                   numberIn(heldout, "p_holm", "{:.4g}"), memberOf(member, "picked") == true ? "picked" : ""});
    }
    if (table.empty()) return {};
    return table.html("Pareto front") +
           "<p class=\"soft\">p: paired bootstrap on the answer NLL of the held-out items, adjusted by Holm's method "
           "over "
           "the members that were asked them; none below 10 items.</p>\n";
}

Result<std::string> failureSection(store::StoreReader& store, const store::RunRow& run) {
    const auto candidates = store.candidates(run.id);
    if (!candidates) return fail(candidates.error());
    HtmlTable failed({"generation", "index", "reason"}, {2}), infeasible({"generation", "index", "reason"}, {2});
    for (const store::CandidateRow& candidate : *candidates) {
        const bool broke = candidate.state == store::CandidateRow::State::Infeasible;
        if (!broke && candidate.state != store::CandidateRow::State::Failed) continue;
        (broke ? infeasible : failed)
            .add({std::to_string(candidate.generation), std::to_string(candidate.index), escapeHtml(candidate.reason)});
    }
    return failed.html("Failed candidates") + infeasible.html("Candidates beyond the guardrail's limit");
}

std::string measuredSections(store::StoreReader& store, const store::RunRow& run) {
    std::string html;
    if (const auto data = plotData(store, run, "attention")) {
        const auto& plot = std::get<analysis::AttentionPlot>(*data);
        HtmlTable table({"method", "position", "record", "share", "mean per token"});
        for (const auto& series : plot.series) {
            for (const auto& position : series.positions) {
                const auto gold = static_cast<std::size_t>(position.goldIndex);
                if (gold >= position.share.size()) continue;
                table.add({escapeHtml(series.name), escapeHtml(position.label), std::to_string(position.goldIndex),
                           fmt::format("{:.3f} %", 100 * position.share[gold]),
                           fmt::format("{:.4f} %", 100 * position.meanPerToken[gold])});
            }
        }
        if (!table.empty()) {
            html += "<h2>Attention on the record that holds the answer</h2>\n<p>" + escapeHtml(plot.title) + "</p>\n" +
                    table.html();
        }
    }
    if (const auto data = plotData(store, run, "deviation")) {
        HtmlTable table({"variant", "mean over layers (1 − CKA)", "largest", "at layer"});
        for (const auto& series : std::get<analysis::DeviationPlot>(*data).series) {
            const auto largest = std::ranges::max_element(series.deviation);
            table.add({escapeHtml(series.name), fmt::format("{:.5f}", analysis::mean(series.deviation)),
                       fmt::format("{:.5f}", *largest), std::to_string(largest - series.deviation.begin())});
        }
        html += table.html("Representation structure deviation");
    }
    if (const auto data = plotData(store, run, "sensitivity")) {
        HtmlTable table({"scales", "evidence", "all layers together", "strongest", "at layer"});
        for (const auto& series : std::get<analysis::SensitivityPlot>(*data).series) {
            for (const auto& row : series.rows) {
                const auto strongest =
                    std::ranges::max_element(row.slope, {}, [](double slope) { return std::abs(slope); });
                table.add({escapeHtml(series.name), escapeHtml(row.label),
                           fmt::format("{:+.4f}", std::accumulate(row.slope.begin(), row.slope.end(), 0.0)),
                           fmt::format("{:+.4f}", *strongest), std::to_string(strongest - row.slope.begin())});
            }
        }
        html +=
            table.html("Sensitivity: change of the answer's NLL by a larger scale (nats per token and unit of scale)");
    }
    return html;
}

}  // namespace lpes::studies
