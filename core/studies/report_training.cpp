// The report of a training: its loss by step, its text, what it wrote.

#include <fmt/format.h>

#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// Rows of the table at most; the plot has every step.
constexpr std::size_t kShownSteps = 60;

std::string stepTable(const std::vector<store::TrainingStepRow>& steps) {
    if (steps.empty()) return "<p class=\"soft\">No step has been done yet.</p>\n";
    HtmlTable table({"step", "LM loss (nats per token)", "auxiliary loss", "loss", "gradient norm", "tokens"});
    const std::size_t every = (steps.size() + kShownSteps - 1) / kShownSteps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i % every != 0 && i + 1 != steps.size()) continue;
        const store::TrainingStepRow& step = steps[i];
        table.add({std::to_string(step.step), fmt::format("{:.5f}", step.lmLoss), fmt::format("{:.5f}", step.auxLoss),
                   fmt::format("{:.5f}", step.loss), fmt::format("{:.4g}", step.gradNorm),
                   std::to_string(step.tokens)});
    }
    std::string html = table.html("Loss");
    if (every > 1) html += fmt::format("<p class=\"soft\">Every {} steps and the last one are shown.</p>\n", every);
    return html;
}

}  // namespace

Result<std::string> trainingSections(store::StoreReader& store, const store::RunRow& run, const json& result) {
    const auto steps = store.trainingSteps(run.id);
    if (!steps) return fail(steps.error());
    std::string html = stepTable(*steps);
    if (const json text = memberOf(result, "text"); text.is_object()) {
        html += fmt::format("<p>Text: {}, {} documents, {} sequences, {} tokens; SHA-256 {}.</p>\n",
                            escapeHtml(textIn(text, "file")), textIn(text, "documents"), textIn(text, "sequences"),
                            textIn(text, "tokens"), escapeHtml(textIn(text, "hash")));
    }
    if (memberOf(result, "router").is_string()) {
        html += fmt::format("<p>Router: {}, method hash {}.</p>\n", escapeHtml(textIn(result, "router")),
                            escapeHtml(textIn(result, "method_hash")));
    } else if (memberOf(result, "checkpoint").is_string()) {
        html += fmt::format("<p>Checkpoint: {}.</p>\n", escapeHtml(textIn(result, "checkpoint")));
    }
    return html;
}

}  // namespace lpes::studies
