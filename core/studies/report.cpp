#include "core/studies/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/analysis/statistics.h"
#include "core/base/clock.h"
#include "core/studies/plot_queries.h"
#include "core/studies/run_view.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1d2330;--soft:#5b6472;--line:#d7dbe2;--paper:#ffffff;--card:#f6f7f9;--good:#00664b;--bad:#a33c00}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a2abb9;--line:#3a414d;--paper:#16191f;--card:#1f242c;--good:#4fd0a8;--bad:#ff9d66}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,"DejaVu Sans",sans-serif}
main{max-width:980px;margin:0 auto;padding:32px 20px 64px}h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 8px}
p{margin:6px 0}.soft{color:var(--soft)}.verdict{border-left:4px solid var(--soft);background:var(--card);padding:10px 14px;margin:18px 0}
.verdict.good{border-color:var(--good)}.verdict.bad{border-color:var(--bad)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:5px 10px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
th{font-weight:600;color:var(--soft)}th:first-child,td:first-child{text-align:left}td.text,th.text{text-align:left;overflow-wrap:anywhere}
figure{margin:14px 0;background:#fff;border:1px solid var(--line);border-radius:6px;padding:8px}figure svg{display:block;width:100%;height:auto}
code{font-family:"DejaVu Sans Mono",monospace;font-size:13px;overflow-wrap:anywhere}.wide{overflow-x:auto}
)";

std::string escape(const std::string& text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string number(const json& object, const char* key, const char* format) {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_number()) return "–";
    return fmt::format(fmt::runtime(format), it->get<double>());
}

std::string text(const json& object, const char* key) {
    const auto it = object.find(key);
    if (it == object.end() || it->is_null()) return "–";
    return it->is_string() ? it->get<std::string>() : it->dump();
}

std::string row(const std::string& label, const std::string& value) {
    return fmt::format("<tr><td>{}</td><td class=\"text\">{}</td></tr>\n", escape(label), escape(value));
}

/// An SVG document without its XML declaration and document type, which HTML does not allow in its body.
std::string inlineSvg(const std::string& svg) {
    const std::size_t begin = svg.find("<svg");
    return begin == std::string::npos ? std::string() : svg.substr(begin);
}

void addPositionRows(std::string& html, const json& positions, const std::string& who) {
    for (const json& position : positions) {
        html +=
            fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} – {}</td><td>{}</td></tr>\n",
                        escape(who), escape(text(position, "position")), number(position, "gold_index", "{:.0f}"),
                        number(position, "n", "{:.0f}"), number(position, "accuracy", "{:.3f}"),
                        number(position, "ci_low", "{:.3f}"), number(position, "ci_high", "{:.3f}"),
                        number(position, "answer_nll", "{:.3f}"));
    }
}

std::string positionTable(const json& result) {
    std::string html =
        "<div class=\"wide\"><table><thead><tr><th>method</th><th>position</th><th>gold "
        "index</th><th>n</th><th>accuracy</th>"
        "<th>95 % interval (Wilson)</th><th>answer NLL (nats)</th></tr></thead><tbody>\n";
    if (const auto heldout = result.find("heldout"); heldout != result.end() && heldout->is_object()) {
        addPositionRows(html, (*heldout)["baseline"]["positions"], "baseline");
        addPositionRows(html, (*heldout)["best"]["positions"], "best profile");
    } else if (result.contains("positions") && result["positions"].is_array() && !result["positions"].empty() &&
               result["positions"][0].contains("accuracy")) {
        addPositionRows(html, result["positions"], text(result, "method"));
    } else if (const auto methods = result.find("methods"); methods != result.end() && methods->is_array()) {
        for (const json& method : *methods) {
            if (method.is_object() && method.contains("positions"))
                addPositionRows(html, method["positions"], text(method, "method"));
        }
    } else {
        return {};
    }
    return html + "</tbody></table></div>\n";
}

std::string known(double value, const char* format) {
    return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "–";
}

std::string estimate(const analysis::MethodsPlot::Estimate& value, const char* format) {
    std::string words = known(value.value, format);
    if (std::isfinite(value.low) && std::isfinite(value.high))
        words += fmt::format(" ({} to {})", known(value.low, format), known(value.high, format));
    return words;
}

/// The methods of a comparison with all that was measured, and what that says in words.
std::string methodTable(store::StoreReader& store, const store::RunRow& run) {
    const auto data = plotData(store, run, "methods");
    if (!data) return {};
    constexpr double kMiB = 1024.0 * 1024.0;
    std::string html =
        "<h2>Methods</h2>\n<div class=\"wide\"><table><thead><tr><th>method</th><th>mean accuracy (95 %)</th>"
        "<th>gap</th><th>answer NLL (nats)</th><th>difference to the first (nats, 95 %)</th><th>p</th>"
        "<th>time / first (95 %)</th><th>tokens/s</th><th>peak memory (MiB)</th><th>passes</th>"
        "<th>attentions per layer</th></tr></thead><tbody>\n";
    std::string verdicts;
    for (const auto& one : std::get<analysis::MethodsPlot>(*data).methods) {
        html += fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
            "<td>{}</td><td>{}</td></tr>\n",
            escape(one.name), estimate(one.accuracy, "{:.3f}"), known(one.gap, "{:.3f}"),
            known(one.answerNll, "{:.3f}"), estimate(one.nllDifference, "{:.3f}"), known(one.pValue, "{:.3g}"),
            estimate(one.timeRatio, "{:.2f}"), known(one.tokensPerSecond, "{:.0f}"),
            known(one.peakBytes / kMiB, "{:.1f}"), one.passes, one.attentionsPerLayer);
        if (!one.verdict.empty())
            verdicts += fmt::format("<p><b>{}</b>: {}.</p>\n", escape(one.name), escape(one.verdict));
    }
    return html + "</tbody></table></div>\n" + verdicts +
           "<p class=\"soft\">Every method was asked the same items; differences and ratios are to the first one. "
           "Intervals: bootstrap over items. Memory is beside the loaded weights, for the largest pass.</p>\n";
}

std::string verdict(const store::RunRow& run, const json& result) {
    if (const auto heldout = result.find("heldout"); heldout != result.end() && heldout->is_object()) {
        const bool better = heldout->value("better", false);
        return fmt::format("<p class=\"verdict {}\">{}</p>\n", better ? "good" : "bad",
                           escape(text(*heldout, "verdict")));
    }
    if (run.state != store::RunState::Finished) {
        const std::string why =
            run.error.empty() ? std::string("the figures below are what there is so far") : run.error;
        return fmt::format("<p class=\"verdict bad\">This run is {}: {}.</p>\n", store::runStateName(run.state),
                           escape(why));
    }
    return {};
}

std::string generationTable(const json& result) {
    if (!result.contains("history") || !result["history"].is_array() || result["history"].empty()) return {};
    std::string html =
        "<h2>Generations</h2>\n<table><thead><tr><th>generation</th><th>best fitness</th><th>mean fitness</th>"
        "<th>diversity (mean |Δs|)</th></tr></thead><tbody>\n";
    for (const json& generation : result["history"]) {
        html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", text(generation, "generation"),
                            number(generation, "best", "{:.4f}"), number(generation, "mean", "{:.4f}"),
                            number(generation, "diversity", "{:.3f}"));
    }
    return html + "</tbody></table>\n";
}

/// A row for each layer, a column for each head or band.
std::string groupedProfileTable(const json& result, const json& rows) {
    const curve::ScaleGroups groups = groupsOf(result.value("settings", json::object()),
                                               scalesOf(result["best"]).size(), static_cast<std::int64_t>(rows.size()));
    const bool heads = groups.kind == curve::ScaleGroups::Kind::KvHead;
    std::string html = fmt::format("<h2>Best profile</h2>\n<p>Layer h divides {} by s; 1 = unchanged.</p>\n",
                                   heads ? "the positions of each key/value head" : "each band of frequencies");
    html += "<div class=\"wide\"><table><thead><tr><th>layer</th>";
    for (int group = 0; group < groups.count(); ++group)
        html += fmt::format("<th>{}</th>", escape(curve::groupName(groups, group)));
    html += "</tr></thead><tbody>\n";
    for (std::size_t layer = 0; layer < rows.size(); ++layer) {
        html += fmt::format("<tr><td>{}</td>", layer);
        for (const json& scale : rows[layer]) html += fmt::format("<td>{}</td>", scale.dump());
        html += "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

std::string profileTable(const json& result) {
    const auto best = result.find("best");
    if (best == result.end() || !best->is_object() || !best->contains("scales")) return {};
    const json& scales = (*best)["scales"];
    if (!scales.empty() && scales.front().is_array()) return groupedProfileTable(result, scales);
    std::string html = "<h2>Best profile</h2>\n<p>Layer h divides its positions by s<sub>h</sub>; 1 = unchanged.</p>\n";
    html += "<div class=\"wide\"><table><thead><tr><th>layer</th>";
    std::string values = "<tr><td>s</td>";
    int layer = 0;
    for (const json& scale : (*best)["scales"]) {
        // Thirty columns fit on a page; deeper models go on in further rows.
        if (layer > 0 && layer % 15 == 0) {
            html += "</tr></thead><tbody>" + values + "</tr></tbody><thead><tr><th>layer</th>";
            values = "<tr><td>s</td>";
        }
        html += fmt::format("<th>{}</th>", layer++);
        values += fmt::format("<td>{}</td>", scale.dump());
    }
    return html + "</tr></thead><tbody>" + values + "</tr></tbody></table></div>\n";
}

/// Attention on the record that holds the answer, and the mean deviation of each variant: the plots' figures in
/// numbers.
std::string measuredTables(store::StoreReader& store, const store::RunRow& run) {
    std::string html;
    if (const auto data = plotData(store, run, "attention")) {
        const auto& plot = std::get<analysis::AttentionPlot>(*data);
        html += "<h2>Attention on the record that holds the answer</h2>\n<p>" + escape(plot.title) +
                "</p>\n<table><thead><tr><th>method</th><th>position</th><th>record</th><th>share</th><th>mean per "
                "token</th></tr></thead><tbody>\n";
        for (const auto& series : plot.series) {
            for (const auto& position : series.positions) {
                const auto gold = static_cast<std::size_t>(position.goldIndex);
                if (gold >= position.share.size()) continue;
                html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.3f} %</td><td>{:.4f} %</td></tr>\n",
                                    escape(series.name), escape(position.label), position.goldIndex,
                                    100 * position.share[gold], 100 * position.meanPerToken[gold]);
            }
        }
        html += "</tbody></table>\n";
    }
    if (const auto data = plotData(store, run, "deviation")) {
        html +=
            "<h2>Representation structure deviation</h2>\n<table><thead><tr><th>variant</th><th>mean over layers (1 − "
            "CKA)"
            "</th><th>largest</th><th>at layer</th></tr></thead><tbody>\n";
        for (const auto& series : std::get<analysis::DeviationPlot>(*data).series) {
            const auto largest = std::ranges::max_element(series.deviation);
            html += fmt::format("<tr><td>{}</td><td>{:.5f}</td><td>{:.5f}</td><td>{}</td></tr>\n", escape(series.name),
                                analysis::mean(series.deviation), *largest, largest - series.deviation.begin());
        }
        html += "</tbody></table>\n";
    }
    return html;
}

/// Candidates that failed, with the reason.
Result<std::string> failureTable(store::StoreReader& store, const store::RunRow& run) {
    auto candidates = store.candidates(run.id);
    if (!candidates) return fail(candidates.error());
    std::string html;
    for (const store::CandidateRow& candidate : *candidates) {
        if (candidate.state != store::CandidateRow::State::Failed) continue;
        html += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n", candidate.generation,
                            candidate.index, escape(candidate.reason));
    }
    if (html.empty()) return html;
    return "<h2>Failed candidates</h2>\n<table><thead><tr><th>generation</th><th>index</th><th "
           "class=\"text\">reason</th>"
           "</tr></thead><tbody>\n" +
           html + "</tbody></table>\n";
}

std::string settingsTable(const json& settings) {
    std::string html =
        "<h2>Settings</h2>\n<table><thead><tr><th>setting</th><th class=\"text\">value</th><th "
        "class=\"text\">origin</th></tr></thead><tbody>\n";
    for (const auto& [key, value] : settings.items()) {
        html += fmt::format("<tr><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n", escape(key),
                            escape(text(value, "value")), escape(text(value, "origin")));
    }
    return html + "</tbody></table>\n";
}

std::string runTable(const store::RunRow& run, const store::ModelRow& model, const store::DatasetRow& dataset,
                     const json& result) {
    std::string html = "<h2>Run</h2>\n<table><tbody>\n";
    html += row("model", fmt::format("{} ({}, {} layers)", model.name, model.architecture, model.layers));
    html += row("model fingerprint", model.fingerprint);
    html += row("data set", fmt::format("{} ({} items)", dataset.name, dataset.items));
    html += row("data set hash", dataset.hash);
    html += row("started", formatUtc(run.createdMs));
    html += row("working time", fmt::format("{:.1f} s", run.elapsedSeconds));
    html += row("end", run.endReason.empty() ? "–" : run.endReason);
    if (result.contains("evaluations")) {
        html += row("candidates evaluated",
                    fmt::format("{}, {} shared an earlier evaluation, {} failed", text(result, "evaluations"),
                                text(result, "cache_hits"), text(result, "failed")));
    }
    html += row("seed", std::to_string(run.seed));
    html +=
        row("device", fmt::format("{} · {} · {} worker(s) × {} thread(s) · {} prompts per pass", run.deviceDescription,
                                  run.computeType, run.workers, run.threadsPerWorker, run.batchSize));
    html += row("versions", fmt::format("LPES Studio {} · LibTorch {}", run.toolVersion, run.libTorchVersion));
    return html + "</tbody></table>\n";
}

}  // namespace

Result<std::string> reportHtml(store::StoreReader& store, const store::RunRow& run,
                               const std::map<std::string, std::string>& svgByKind) {
    auto model = store.model(run.modelId);
    if (!model) return fail(model.error());
    auto dataset = store.dataset(run.datasetId);
    if (!dataset) return fail(dataset.error());
    auto kinds = availablePlots(store, run);
    if (!kinds) return fail(kinds.error());
    json result = json::parse(run.resultJson, nullptr, false);
    if (!result.is_object()) result = json::object();
    json settings = json::parse(run.settingsJson, nullptr, false);
    if (!settings.is_object()) settings = json::object();

    std::string html = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">"
        "<title>Run {}: {}</title><style>{}</style></head><body><main>\n",
        run.id, escape(run.label), kStyle);
    html += fmt::format("<h1>Run {}: {}</h1>\n<p class=\"soft\">{} · {} · {}</p>\n", run.id, escape(run.label),
                        escape(model->name), escape(dataset->name), formatUtc(run.createdMs));
    html += verdict(run, result) + methodTable(store, run);
    if (const std::string table = positionTable(result); !table.empty())
        html += "<h2>Accuracy by position</h2>\n" + table;
    if (const auto heldout = result.find("heldout"); heldout != result.end() && heldout->is_object()) {
        html +=
            "<p class=\"soft\">Held-out items: no candidate saw them. The verdict is a paired bootstrap on the answer "
            "NLL of "
            "each item. Exact McNemar test of accuracy by position, for information: p = ";
        std::string values;
        for (const json& p : (*heldout)["mcnemar_p_by_position"])
            values += fmt::format("{}{:.3f}", values.empty() ? "" : ", ", p.get<double>());
        html += values + ".</p>\n";
    }
    html += "<h2>Plots</h2>\n";
    for (const std::string& kind : *kinds) {
        const auto svg = svgByKind.find(kind);
        const std::string picture = svg == svgByKind.end() ? std::string() : inlineSvg(svg->second);
        html += picture.empty() ? fmt::format("<p class=\"soft\">The plot '{}' could not be drawn here.</p>\n", kind)
                                : fmt::format("<figure aria-label=\"{}\">{}</figure>\n", kind, picture);
    }
    auto failures = failureTable(store, run);
    if (!failures) return fail(failures.error());
    html += profileTable(result) + generationTable(result) + *failures + measuredTables(store, run);
    html += runTable(run, *model, *dataset, result) + settingsTable(settings);
    html += "</main></body></html>\n";
    return html;
}

}  // namespace lpes::studies
