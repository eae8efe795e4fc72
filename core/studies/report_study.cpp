// The report of a study of a search: its levels, their tests, what its profiles have in common.

#include <fmt/format.h>

#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"
#include "core/studies/study_summary.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

std::string withSd(const json& row, const char* mean, const char* sd, const char* format) {
    const std::string spread = numberIn(row, sd, format);
    return numberIn(row, mean, format) + (spread == "–" ? "" : " ± " + spread);
}

/// A figure with its interval over items, where it has one.
std::string estimate(const json& row, const char* value, const std::string& ends, const char* format) {
    const std::string low = ends + "_low", high = ends + "_high";
    if (!memberOf(row, low.c_str()).is_number()) return numberIn(row, value, format);
    return fmt::format("{} [{}–{}]", numberIn(row, value, format), numberIn(row, low.c_str(), format),
                       numberIn(row, high.c_str(), format));
}

std::string difference(const json& row) {
    const std::string mean = numberIn(row, "nll_difference", "{:+.4f}");
    if (!memberOf(row, "nll_low").is_number()) return mean;
    return fmt::format("{} ({} to {})", mean, numberIn(row, "nll_low", "{:+.4f}"),
                       numberIn(row, "nll_high", "{:+.4f}"));
}

std::string levelTable(const json& summary) {
    HtmlTable table({"level", "searches", "mean accuracy (95 %)", "±", "gap (95 %)", "answer NLL (nats, 95 %)", "±",
                     "difference to the baseline (nats, 95 %)", "p", "p, Holm"});
    const auto accuracy = [](const json& row) { return estimate(row, "mean_accuracy", "accuracy", "{:.3f}"); };
    const auto gap = [](const json& row) { return estimate(row, "gap", "gap", "{:.3f}"); };
    const auto nll = [](const json& row) { return estimate(row, "answer_nll", "answer_nll", "{:.4f}"); };
    if (const json baseline = memberOf(summary, "baseline"); baseline.is_object())
        table.add({"baseline", "–", accuracy(baseline), "–", gap(baseline), nll(baseline), "–", "–", "–", "–"});
    for (const json& level : listIn(summary, "levels")) {
        table.add({escapeHtml(textIn(level, "level")), textIn(level, "searches"), accuracy(level),
                   numberIn(level, "accuracy_sd", "{:.3f}"), gap(level), nll(level),
                   numberIn(level, "nll_sd", "{:.4f}"), difference(level), numberIn(level, "p_value", "{:.3g}"),
                   numberIn(level, "p_holm", "{:.3g}")});
    }
    if (table.empty()) return "<p class=\"soft\">No search of this study has finished yet.</p>\n";
    std::string html = table.html("Held-out items");
    if (const json spread = memberOf(summary, "spread"); spread.is_object() && textIn(spread, "searches") != "1") {
        html += fmt::format("<p>Over all {} searches: mean accuracy {}, answer NLL {}.</p>\n",
                            textIn(spread, "searches"), withSd(spread, "mean_accuracy", "accuracy_sd", "{:.3f}"),
                            withSd(spread, "answer_nll", "nll_sd", "{:.4f}"));
    }
    return html +
           "<p class=\"soft\">All searches report on the same held-out items. ± is the standard deviation over "
           "searches. "
           "Intervals are over the items, of several searches with each item's mean over them; that of the gap reaches "
           "down to 0 unless the test over positions finds a bias. Tests: paired bootstrap on each item's answer NLL, "
           "mean over positions and searches; Holm's adjustment is "
           "over the rows. Below 10 items there is none.</p>\n";
}

std::string pairTable(const json& summary) {
    HtmlTable table({"first", "second", "second − first (nats, 95 %)", "p", "p, Holm"}, {1});
    for (const json& pair : listIn(summary, "pairs")) {
        table.add({escapeHtml(textIn(pair, "a")), escapeHtml(textIn(pair, "b")), difference(pair),
                   numberIn(pair, "p_value", "{:.3g}"), numberIn(pair, "p_holm", "{:.3g}")});
    }
    return table.html("Against each other");
}

std::string profileTables(const json& summary) {
    std::string html;
    for (const json& profile : listIn(summary, "profiles")) {
        const json mean = listIn(profile, "mean"), sd = listIn(profile, "stddev");
        html += fmt::format(
            "<h2>Profiles: {}</h2>\n<p>{} profiles differ by {} per scale (mean |Δs| over pairs); their "
            "correlation over scales is {}.</p>\n",
            escapeHtml(textIn(profile, "level")), textIn(profile, "searches"),
            numberIn(profile, "mean_abs_difference", "{:.4f}"), numberIn(profile, "mean_correlation", "{:.3f}"));
        // Fifteen columns fit on a page.
        constexpr std::size_t kColumns = 15;
        for (std::size_t first = 0; first < mean.size(); first += kColumns) {
            std::vector<std::string> header{"scale"}, means{"mean"}, sds{"standard deviation"};
            for (std::size_t i = first; i < std::min(first + kColumns, mean.size()); ++i) {
                header.push_back(std::to_string(i));
                means.push_back(fmt::format("{:.3f}", mean[i].get<double>()));
                sds.push_back(fmt::format("{:.3f}", sd[i].get<double>()));
            }
            HtmlTable table(header);
            table.add(std::move(means));
            table.add(std::move(sds));
            html += table.html();
        }
    }
    if (const json shared = memberOf(summary, "shared_items"); shared.is_number())
        html += fmt::format("<p>Two searches share {:.0f} % of their search items on average.</p>\n",
                            100.0 * shared.get<double>());
    return html;
}

std::string searchTable(const json& summary) {
    HtmlTable table({"search", "state", "run", "seed", "evaluations", "prompts", "s", "fitness",
                     "held-out accuracy (95 %)", "held-out NLL (95 %)"},
                    {1});
    for (const json& search : listIn(summary, "searches")) {
        std::string state = textIn(search, "state");
        if (search.contains("error")) state += ": " + textIn(search, "error");
        table.add({escapeHtml(textIn(search, "label")), escapeHtml(state), textIn(search, "run_id"),
                   textIn(search, "seed"), textIn(search, "evaluations"), textIn(search, "prompts"),
                   numberIn(search, "seconds", "{:.1f}"), numberIn(search, "fitness", "{:.4f}"),
                   estimate(search, "mean_accuracy", "accuracy", "{:.3f}"),
                   estimate(search, "answer_nll", "answer_nll", "{:.4f}")});
    }
    return table.html("Searches") +
           "<p class=\"soft\">'lpes report RUN' has each search's own plots and settings.</p>\n";
}

}  // namespace

Result<std::string> studySections(store::StoreReader& store, const store::RunRow& run) {
    const auto study = viewOfStudy(store, run);
    if (!study) return fail(study.error());
    const json summary = studySummary(*study);
    return overlapWarnings({ReportSide{"study", summary}}) + levelTable(summary) + pairTable(summary) +
           profileTables(summary) + searchTable(summary);
}

}  // namespace lpes::studies
