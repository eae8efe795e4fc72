// A suite's report: the paper's table, then what each benchmark says.

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"
#include "core/studies/run_parts.h"
#include "core/studies/run_view.h"
#include "core/studies/suite_parts.h"
#include "core/studies/suite_study.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// Percent with its interval; the largest of the column is marked, where there is something to be larger than, and what
/// is not held out stands in red.
std::string percentCell(const json& value, const json& interval, const json& heldOut, double best, bool several) {
    if (!value.is_number()) return "–";
    std::string text = fmt::format("{:.1f}", 100.0 * value.get<double>());
    if (several && value.get<double>() == best) text = "<b>" + text + "</b>";
    const json low = memberOf(interval, "low"), high = memberOf(interval, "high");
    if (low.is_number() && high.is_number())
        text += fmt::format(" [{:.1f}–{:.1f}]", 100.0 * low.get<double>(), 100.0 * high.get<double>());
    return heldOut == json(false) ? fmt::format("<span class=\"searched\">{}{}</span>", text, kNotHeldOutMark) : text;
}

/// Column by column: the largest, and whether the values differ at all.
std::pair<double, bool> columnBest(const json& rows, const std::function<json(const json&)>& valueOf) {
    std::vector<double> values;
    for (const json& row : rows) {
        if (const json value = valueOf(row); value.is_number()) values.push_back(value.get<double>());
    }
    if (values.empty()) return {0.0, false};
    const auto [low, high] = std::ranges::minmax(values);
    return {high, low < high};
}

std::string paperTable(const json& table) {
    const json rows = listIn(table, "rows");
    std::vector<std::string> header{"mean accuracy, %"};
    for (const json& label : listIn(table, "benchmarks")) header.push_back(escapeHtml(label.get<std::string>()));
    header.emplace_back("average");
    HtmlTable out(header);
    const auto cellOf = [&](std::size_t column) {
        return [column, last = header.size() - 2](const json& row) {
            return column == last ? memberOf(row, "average") : row["mean_accuracy"][column];
        };
    };
    const auto intervalOf = [&](const json& row, std::size_t column) {
        return column == header.size() - 2 ? memberOf(row, "average_interval") : row["intervals"][column];
    };
    const auto heldOutOf = [&](const json& row, std::size_t column) {
        return column == header.size() - 2 ? memberOf(row, "average_held_out") : row["held_out"][column];
    };
    std::vector<std::pair<double, bool>> best;
    for (std::size_t column = 0; column + 1 < header.size(); ++column) best.push_back(columnBest(rows, cellOf(column)));
    for (const json& row : rows) {
        std::vector<std::string> cells{escapeHtml(textIn(row, "method"))};
        for (std::size_t column = 0; column < best.size(); ++column)
            cells.push_back(percentCell(cellOf(column)(row), intervalOf(row, column), heldOutOf(row, column),
                                        best[column].first, best[column].second));
        out.add(std::move(cells));
    }
    const std::string note = averageNote(table), searched = heldOutNote(table);
    return out.html("Methods by benchmark") +
           (searched.empty() ? "" : "<p class=\"warning\">" + escapeHtml(searched) + "</p>\n") +
           "<p class=\"soft\">Mean over positions, of scores between 0 and 100, with its 95 % interval over items; the "
           "best of a column is bold. The average is over the benchmarks that have finished" +
           (note.empty() ? std::string(", its interval out of theirs.") : ". " + escapeHtml(note)) + "</p>\n";
}

/// What is known of a benchmark: its stored comparison, else why there is none.
json partOf(const std::map<std::string, store::RunRow>& stored, const json& result, const std::string& label) {
    if (const auto run = stored.find(label); run != stored.end()) {
        json part = parseObject(run->second.resultJson);
        part["label"] = label;
        part["state"] = std::string(store::runStateName(run->second.state));
        part["run_id"] = run->second.id;
        if (!run->second.error.empty()) part["error"] = run->second.error;
        return part;
    }
    for (const json& part : listIn(result, "benchmarks")) {
        if (memberOf(part, "label") == json(label)) return part;
    }
    return {{"label", label}, {"state", "not begun"}};
}

std::string aboutPart(const json& part) {
    std::string about;
    if (part.contains("data")) {
        const json items = memberOf(part, "items"), planned = memberOf(part, "items_planned");
        about = fmt::format("{} · score {} · {}{} items", textIn(part, "data"), textIn(part, "score"),
                            textIn(part, "items"),
                            planned.is_null() || planned == items ? "" : " of " + textIn(part, "items_planned"));
    }
    if (part.contains("run_id"))
        about += fmt::format("{}run {}, of which 'lpes report {}' has plots and settings", about.empty() ? "" : " · ",
                             textIn(part, "run_id"), textIn(part, "run_id"));
    std::string html = about.empty() ? std::string() : "<p class=\"soft\">" + escapeHtml(about) + "</p>\n";
    if (memberOf(part, "state") != json("finished")) {
        html += fmt::format("<p class=\"verdict bad\">This benchmark is {}{}.</p>\n", escapeHtml(textIn(part, "state")),
                            part.contains("error") ? ": " + escapeHtml(textIn(part, "error")) : "");
    }
    return html;
}

}  // namespace

Result<std::string> suiteSections(store::StoreReader& store, const store::RunRow& run, const json& result) {
    const auto stored = partsOf(store, run.id, "compare");
    if (!stored) return fail(stored.error());
    const json settings = parseObject(run.settingsJson);
    const auto methods = settingOr<std::vector<std::string>>(settings, "methods", {});
    using Labels = std::vector<std::pair<std::string, std::string>>;
    json parts = json::array();
    for (const json& benchmark : settingOr<std::vector<json>>(settings, "benchmarks", {}))
        parts.push_back(partOf(*stored, result, textIn(benchmark, "label")));
    std::string html = paperTable(suiteTableJson(methods, parts, settingOr<Labels>(settings, "shared_items", {})));
    for (const json& part : parts) {
        const std::string label = part["label"].get<std::string>();
        html += "<section><h2>" + escapeHtml(label) + "</h2>\n" + aboutPart(part);
        if (const auto own = stored->find(label); own != stored->end())
            html += overlapWarnings(reportSides(part)) + methodSection(store, own->second) + findings(part);
        html += "</section>\n";
    }
    return html;
}

}  // namespace lpes::studies
