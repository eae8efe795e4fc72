#include "core/studies/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"
#include "core/studies/run_view.h"
#include "core/studies/suite_study.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

std::string row(const std::string& label, const std::string& value) {
    return fmt::format("<tr><td>{}</td><td class=\"text\">{}</td></tr>\n", escapeHtml(label), escapeHtml(value));
}

/// An SVG document without its XML declaration and document type, which HTML does not allow in its body.
std::string inlineSvg(const std::string& svg) {
    const std::size_t begin = svg.find("<svg");
    return begin == std::string::npos ? std::string() : svg.substr(begin);
}

std::string verdict(const store::RunRow& run, const json& result) {
    if (const auto heldout = result.find("heldout"); heldout != result.end() && heldout->is_object()) {
        const bool better = heldout->value("better", false);
        const bool tested = memberOf(*heldout, "p_value").is_number();
        return fmt::format("<p class=\"verdict{}\">{}</p>\n",
                           better   ? " good"
                           : tested ? " bad"
                                    : "",
                           escapeHtml(textIn(*heldout, "verdict")));
    }
    if (const std::string words = stateText(result);
        run.state == store::RunState::Stopped && words.starts_with("unfinished")) {
        return fmt::format("<p class=\"verdict bad\">This run is {}.</p>\n", escapeHtml(words));
    }
    if (run.state != store::RunState::Finished) {
        const std::string why =
            run.error.empty() ? std::string("the figures below are what there is so far") : run.error;
        return fmt::format("<p class=\"verdict bad\">This run is {}: {}.</p>\n", store::runStateName(run.state),
                           escapeHtml(why));
    }
    return {};
}

std::string settingsTable(const json& settings) {
    HtmlTable table({"setting", "value", "origin"}, {1, 2});
    for (const auto& [key, value] : settings.items())
        table.add({escapeHtml(key), escapeHtml(textIn(value, "value")), escapeHtml(textIn(value, "origin"))});
    return table.html("Settings");
}

std::string runTable(const store::RunRow& run, const store::ModelRow& model, const store::DatasetRow& dataset,
                     const json& result) {
    std::string html = "<h2>Run</h2>\n<table><tbody>\n";
    html += row("model", fmt::format("{} ({}, {} layers)", model.name, model.architecture, model.layers));
    html += row("model fingerprint", model.fingerprint);
    const bool suite = run.kind == "suite", training = run.kind == "train";
    html += row(suite      ? "suite"
                : training ? "text"
                           : "data set",
                fmt::format("{} ({} {})", dataset.name, dataset.items,
                            suite      ? "benchmarks"
                            : training ? "documents"
                                       : "items"));
    html += row("data set hash", dataset.hash);
    html += row("started", formatUtc(run.createdMs));
    html += row("working time", fmt::format("{:.1f} s", run.elapsedSeconds));
    html += row("end", run.endReason.empty() ? "–" : run.endReason);
    if (result.contains("evaluations")) {
        html += row("candidates evaluated",
                    fmt::format("{}, {} shared an earlier evaluation, {} failed", textIn(result, "evaluations"),
                                textIn(result, "cache_hits"), textIn(result, "failed")));
    }
    html += row("seed", std::to_string(run.seed));
    html += row("device", fmt::format("{} · {} · {} worker(s) × {} thread(s){}", run.deviceDescription, run.computeType,
                                      run.workers, run.threadsPerWorker,
                                      run.batchSize > 0 ? fmt::format(" · {} prompts per pass", run.batchSize) : ""));
    html += row("versions", fmt::format("LPES Studio {} · LibTorch {}", run.toolVersion, run.libTorchVersion));
    return html + "</tbody></table>\n";
}

std::string plotFigures(const std::vector<std::string>& kinds, const std::map<std::string, std::string>& svgByKind) {
    if (kinds.empty()) return {};
    std::string html = "<h2>Plots</h2>\n";
    for (const std::string& kind : kinds) {
        const auto svg = svgByKind.find(kind);
        const std::string picture = svg == svgByKind.end() ? std::string() : inlineSvg(svg->second);
        html += picture.empty() ? fmt::format("<p class=\"soft\">The plot '{}' could not be drawn here.</p>\n", kind)
                                : fmt::format("<figure aria-label=\"{}\">{}</figure>\n", kind, picture);
    }
    return html;
}

std::string heldoutNote(const json& result) {
    const json heldout = memberOf(result, "heldout");
    if (!heldout.is_object()) return {};
    const bool unseen = !memberOf(memberOf(heldout, "best"), "searched_on").is_object();
    std::string words =
        fmt::format("<p class=\"soft\">{}The verdict is a paired bootstrap on the answer NLL of each item.",
                    unseen ? "Held-out items: no candidate saw them. " : "");
    if (const json score = memberOf(heldout, "score_difference"); score.is_object()) {
        words += " Mean score, best profile less baseline: " + numberIn(score, "mean", "{:+.3f}");
        words += memberOf(score, "low").is_number()
                     ? fmt::format(" ({} to {}, 95 %, p = {}).", numberIn(score, "low", "{:+.3f}"),
                                   numberIn(score, "high", "{:+.3f}"), numberIn(score, "p_value", "{:.3g}"))
                     : std::string(".");
    }
    std::string values;
    for (const json& p : listIn(heldout, "mcnemar_p_by_position")) {
        if (p.is_number()) values += fmt::format("{}{:.3f}", values.empty() ? "" : ", ", p.get<double>());
    }
    if (!values.empty()) words += " Exact McNemar test of accuracy by position, for information: p = " + values + ".";
    return words + "</p>\n";
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
    const json result = parseObject(run.resultJson);
    const bool study = run.kind == "study", suite = run.kind == "suite", training = run.kind == "train";
    auto parts = study      ? studySections(store, run)
                 : suite    ? suiteSections(store, run, result)
                 : training ? trainingSections(store, run, result)
                            : Result<std::string>(std::string());
    if (!parts) return fail(parts.error());
    auto failures = failureSection(store, run);
    if (!failures) return fail(failures.error());

    std::string html = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">"
        "<title>Run {0}: {1}</title><style>{2}</style></head><body><main>\n"
        "<h1>Run {0}: {1}</h1>\n<p class=\"soft\">{3} · {4} · {5}</p>\n",
        run.id, escapeHtml(run.label), kReportStyle, escapeHtml(model->name), escapeHtml(dataset->name),
        formatUtc(run.createdMs));
    html += verdict(run, result) + *parts;
    if (!study && !suite && !training) {
        html +=
            overlapWarnings(reportSides(result)) + methodSection(store, run) + findings(result) + heldoutNote(result);
    }
    html += plotFigures(*kinds, svgByKind) + profileSection(result) + frontSection(result) + generationSection(result) +
            *failures + measuredSections(store, run) + runTable(run, *model, *dataset, result) +
            settingsTable(parseObject(run.settingsJson));
    return html + "</main></body></html>\n";
}

}  // namespace lpes::studies
