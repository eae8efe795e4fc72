#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/analysis/verdict.h"
#include "core/rope/method_spec.h"
#include "core/studies/json_rows.h"
#include "core/studies/plot_queries.h"
#include "core/studies/run_view.h"
#include "core/studies/task_setup.h"
#include "core/tasks/position.h"

namespace lpes::studies {

namespace {

using analysis::MethodsPlot;
using analysis::SeriesRole;
using nlohmann::json;

/// A stored result may be damaged or another version's: what is not there is unknown.
double numberAt(const json& object, const char* key) {
    const auto it = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && it != object.end() && it->is_number() ? it->get<double>() : MethodsPlot::kUnknown;
}

json memberAt(const json& object, const char* key) {
    return object.is_object() ? object.value(key, json()) : json();
}

std::int64_t countAt(const json& object, const char* key) {
    const json value = memberAt(object, key);
    return value.is_number_integer() ? value.get<std::int64_t>() : 1;
}

std::string textAt(const json& object, const char* key) {
    const json value = memberAt(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

/// A figure with its "…_interval".
analysis::Estimate estimateAt(const json& object, const std::string& key) {
    const json interval = memberAt(object, (key + "_interval").c_str());
    return {numberAt(object, key.c_str()), numberAt(interval, "low"), numberAt(interval, "high")};
}

MethodsPlot::Method methodOf(const json& stored) {
    MethodsPlot::Method method;
    method.name = textAt(stored, "method");
    method.role = methodRole(method.name);
    const json difference = memberAt(stored, "nll_difference"), ratio = memberAt(stored, "latency_vs_first");
    method.accuracy = estimateAt(stored, "mean_accuracy");
    method.gap = estimateAt(stored, "gap");
    method.answerNll = estimateAt(stored, "mean_answer_nll");
    method.nllDifference = {numberAt(difference, "mean"), numberAt(difference, "low"), numberAt(difference, "high")};
    const json score = memberAt(stored, "score_difference");
    method.scoreDifference = {numberAt(score, "mean"), numberAt(score, "low"), numberAt(score, "high")};
    // Versions before tested fewer items as well, and did not adjust: what they stored is no figure to show.
    method.pHolm = numberAt(stored, "p_holm");
    if (std::isfinite(method.pHolm)) {
        method.pValue = numberAt(stored, "p_value_vs_first");
        method.scoreHolm = numberAt(score, "p_holm");
        for (const json& p : memberAt(stored, "mcnemar_holm")) {
            if (p.is_number()) method.mcnemarHolm.push_back(p.get<double>());
        }
    }
    method.timeRatio = {numberAt(ratio, "ratio"), numberAt(ratio, "low"), numberAt(ratio, "high")};
    method.tokensPerSecond = numberAt(stored, "tokens_per_second");
    method.peakBytes = numberAt(stored, "peak_bytes");
    method.passes = countAt(stored, "passes");
    method.attentionsPerLayer = countAt(stored, "attentions_per_layer");
    method.verdict = textAt(stored, "verdict");
    method.bias = textAt(memberAt(stored, "bias"), "verdict");
    const json guardrail = memberAt(stored, "guardrail"), searched = memberAt(stored, "searched_on");
    method.guardrail = textAt(guardrail, "light");
    method.guardrailReason = textAt(guardrail, "reason");
    method.guardrailDetail = guardrailLines(guardrail);
    method.perplexityRatio = numberAt(memberAt(guardrail, "perplexity"), "ratio");
    if (searched.is_object()) {
        method.searchedItems = countAt(searched, "searched_items");
        method.allItems = countAt(searched, "items");
    }
    return method;
}

/// ", 95 % −0.010 to 0.020"; nothing where an end is unknown.
std::string intervalWords(const json& object, const char* low, const char* high) {
    const double from = numberAt(object, low), to = numberAt(object, high);
    if (!std::isfinite(from) || !std::isfinite(to)) return {};
    return fmt::format(", 95 % {} to {}", analysis::signedNumber(from, 3), analysis::signedNumber(to, 3));
}

/// Without intervals and times: those are for the end.
Result<MethodsPlot> soFar(store::StoreReader& store, const RunView& view, std::int64_t& items) {
    auto shared = sharedOutcomes(store, view);
    if (!shared) return fail(shared.error());
    MethodsPlot plot;
    const std::vector<std::string> labels = positionLabels(view);
    for (const MethodOutcomes& one : *shared) {
        const auto accuracy = analysis::accuracyByPosition(one.outcomes, labels);
        if (accuracy.items == 0) continue;
        MethodsPlot::Method method;
        method.name = one.name;
        method.role = methodRole(one.name);
        method.accuracy.value = accuracy.meanAccuracy;
        method.gap.value = accuracy.gap;
        double& nll = method.answerNll.value = 0.0;
        for (const auto& position : accuracy.positions)
            nll += position.answerNll / static_cast<double>(accuracy.positions.size());
        if (!plot.methods.empty()) method.nllDifference.value = nll - plot.methods.front().answerNll.value;
        items = accuracy.items;
        plot.methods.push_back(std::move(method));
    }
    return plot;
}

}  // namespace

std::string guardrailLines(const json& guardrail) {
    if (!guardrail.is_object()) return {};
    const json perplexity = memberAt(guardrail, "perplexity");
    std::string lines =
        fmt::format("Perplexity of {} short texts: {:.3f} → {:.3f} (× {:.3f}{})", countAt(perplexity, "texts"),
                    numberAt(perplexity, "baseline"), numberAt(perplexity, "method"), numberAt(perplexity, "ratio"),
                    intervalWords(perplexity, "ci_low", "ci_high"));
    for (const json& exam : memberAt(guardrail, "exams")) {
        const double p = numberAt(exam, "p_value");
        lines += fmt::format(
            "\n{}, {} questions: accuracy {:.3f} → {:.3f} (change {}{}, {}), NLL of the right choice changes by {} "
            "nats{}",
            textAt(exam, "name"), countAt(exam, "n"), numberAt(exam, "baseline"), numberAt(exam, "method"),
            analysis::signedNumber(numberAt(exam, "difference"), 3), intervalWords(exam, "ci_low", "ci_high"),
            std::isfinite(p) ? fmt::format("p = {:.3g}", p) : "too few for a test",
            analysis::signedNumber(numberAt(exam, "choice_nll_difference"), 3),
            intervalWords(exam, "choice_nll_ci_low", "choice_nll_ci_high"));
    }
    return lines;
}

SeriesRole methodRole(const std::string& spelling) {
    const auto spec = rope::parseMethod(spelling);
    if (!spec) return SeriesRole::Other;
    if (spec->isBaseline()) return SeriesRole::Baseline;
    if (spec->parts.size() != 1 || spec->parts.front().kind != rope::MethodPart::Kind::Lpes) return SeriesRole::Other;
    const std::string file = std::filesystem::path(spec->parts.front().file).filename().string();
    return file.starts_with(kDrawnCurvePrefix) ? SeriesRole::Current : SeriesRole::Best;
}

std::vector<std::string> positionLabels(const RunView& view) {
    std::vector<std::string> labels;
    // Runs store the positions where evidence can be moved, and none where it cannot.
    const json stored = memberAt(memberAt(view.settings, "positions"), "value");
    std::string positions = settingOr<std::string>(view.settings, "positions", "");
    if (stored.is_null() && view.settings.contains("positions")) {
        // Earlier versions left the default to the reader; they knew key-value pairs alone.
        if (settingOr<std::string>(view.settings, "task", "") != "kv") return {kUnmovedLabel};
        positions = "begin,middle,end";
    }
    const auto specs = tasks::parsePositions(positions);
    if (!specs) return labels;
    for (const tasks::PositionSpec& spec : *specs) labels.push_back(spec.label);
    return labels;
}

bool isUnderWay(const RunView& view) {
    const bool ended = view.run.state == store::RunState::Finished || view.run.state == store::RunState::Stopped;
    return view.run.kind == "compare" && !(ended && view.result.contains("methods"));
}

Result<std::vector<MethodOutcomes>> sharedOutcomes(store::StoreReader& store, const RunView& view) {
    std::vector<MethodOutcomes> methods;
    for (const store::VariantRow& variant : view.variants) {
        auto rows = store.outcomes(variant.id, "eval");
        if (!rows) return fail(rows.error());
        MethodOutcomes one{view.name(variant), variant.id, {}};
        for (const store::OutcomeRow& row : *rows) one.outcomes.push_back(fromRow(row));
        methods.push_back(std::move(one));
    }
    std::vector<std::vector<analysis::ItemOutcome>*> sides;
    for (MethodOutcomes& one : methods) sides.push_back(&one.outcomes);
    analysis::keepSharedItems(sides, static_cast<int>(positionLabels(view).size()));
    return methods;
}

Result<analysis::PlotData> methodsPlot(store::StoreReader& store, const RunView& view) {
    if (view.run.kind != "compare") return noData(view, "methods", "it is not a comparison");
    MethodsPlot plot;
    std::int64_t items = 0;
    const bool underWay = isUnderWay(view);
    if (underWay) {
        auto read = soFar(store, view, items);
        if (!read) return fail(read.error());
        plot = std::move(*read);
    } else {
        const json methods = memberAt(view.result, "methods");
        for (const json& method : methods) {
            // One that was stopped before its first item has no figure to draw.
            if (countAt(method, "items") > 0) plot.methods.push_back(methodOf(method));
        }
        const json counted = memberAt(view.result, "items");
        items = counted.is_number_integer() ? counted.get<std::int64_t>() : 0;
    }
    if (plot.methods.empty()) return noData(view, "methods", "no item has been asked of every method yet");
    plot.title = "Methods compared";
    plot.subtitle = view.subtitle(items) + (underWay ? " so far; intervals and times come at the end" : "");
    const json planned = memberAt(view.result, "items_planned");
    if (!underWay && planned.is_number_integer() && planned != items)
        plot.subtitle += fmt::format(" of {}; the run was stopped", planned.dump());
    return plot;
}

}  // namespace lpes::studies
