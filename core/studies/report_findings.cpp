// What a result says beside accuracy and cost: bias of position, guardrail, groups, lengths, both kinds of scoring.

#include <fmt/format.h>

#include <algorithm>

#include "core/studies/evaluation_summary.h"
#include "core/studies/guardrail_rules.h"
#include "core/studies/report_html.h"
#include "core/studies/report_sections.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// "0.600 – 0.850"; "–" where there is no interval.
std::string intervalCell(const json& row, const char* low, const char* high) {
    if (!memberOf(row, low).is_number()) return "–";
    return fmt::format("{} – {}", numberIn(row, low, "{:.3f}"), numberIn(row, high, "{:.3f}"));
}

/// "0.600 (0.450 – 0.700)" of a figure with "…_interval" beside it; without one the figure alone.
std::string estimateCell(const json& row, const std::string& figure) {
    const json interval = memberOf(row, (figure + "_interval").c_str());
    std::string cell = numberIn(row, figure.c_str(), "{:.3f}");
    if (memberOf(interval, "low").is_number()) cell += fmt::format(" ({})", intervalCell(interval, "low", "high"));
    return cell;
}

/// "0.750 (0.600 – 0.850), n = 20".
std::string accuracyCell(const json& row) {
    return fmt::format("{} ({} – {})", numberIn(row, "accuracy", "{:.3f}"), numberIn(row, "ci_low", "{:.3f}"),
                       numberIn(row, "ci_high", "{:.3f}"));
}

/// Rows that every side has under the same names, a column for each side.
std::string sideBySide(const std::vector<ReportSide>& sides, const char* key, const std::string& title,
                       const std::string& heading, std::string (*nameOf)(const json&)) {
    std::vector<std::string> header{heading, "n"};
    std::vector<std::pair<std::string, std::string>> names;
    for (const ReportSide& side : sides) {
        const json rows = listIn(side.said, key);
        if (rows.empty()) continue;
        header.push_back(fmt::format("{}: accuracy (95 %)", escapeHtml(side.name)));
        for (const json& row : rows) {
            const std::string name = nameOf(row);
            if (std::ranges::none_of(names, [&](const auto& known) { return known.first == name; }))
                names.emplace_back(name, numberIn(row, "n", "{:.0f}"));
        }
    }
    if (names.size() < 2) return {};
    HtmlTable table(header);
    for (const auto& [name, n] : names) {
        std::vector<std::string> cells{escapeHtml(name), n};
        for (const ReportSide& side : sides) {
            const json rows = listIn(side.said, key);
            if (rows.empty()) continue;
            const auto row =
                std::ranges::find_if(rows, [&, &name = name](const json& one) { return nameOf(one) == name; });
            cells.push_back(row == rows.end() ? "–" : accuracyCell(*row));
        }
        table.add(std::move(cells));
    }
    return table.html(title);
}

/// "0.010 (−0.020 – 0.040)": a change and its interval.
std::string changeCell(const json& row, const char* change, const char* low, const char* high, const char* format) {
    return fmt::format("{} ({} – {})", numberIn(row, change, format), numberIn(row, low, format),
                       numberIn(row, high, format));
}

void addGuardrail(HtmlTable& table, const std::string& name, const json& guardrail) {
    const std::string light = textIn(guardrail, "light");
    const json perplexity = memberOf(guardrail, "perplexity");
    std::string exams, likelihoods;
    for (const json& exam : listIn(guardrail, "exams")) {
        const std::string begin = (exams.empty() ? "" : "<br>") + escapeHtml(textIn(exam, "name")) + ": ";
        exams += begin + fmt::format("{} → {}, change {}, n = {}, p = {}", numberIn(exam, "baseline", "{:.3f}"),
                                     numberIn(exam, "method", "{:.3f}"),
                                     changeCell(exam, "difference", "ci_low", "ci_high", "{:.3f}"),
                                     numberIn(exam, "n", "{:.0f}"), numberIn(exam, "p_value", "{:.3g}"));
        likelihoods +=
            begin + changeCell(exam, "choice_nll_difference", "choice_nll_ci_low", "choice_nll_ci_high", "{:.3f}");
    }
    table.add({escapeHtml(name), fmt::format("<span class=\"light {0}\">{0}</span>", escapeHtml(light)),
               escapeHtml(textIn(guardrail, "reason")),
               fmt::format("{} → {}, × {}", numberIn(perplexity, "baseline", "{:.3f}"),
                           numberIn(perplexity, "method", "{:.3f}"),
                           changeCell(perplexity, "ratio", "ci_low", "ci_high", "{:.3f}")),
               exams, likelihoods});
}

}  // namespace

std::vector<ReportSide> reportSides(const json& result) {
    const json heldout = memberOf(result, "heldout"), methods = memberOf(result, "methods");
    std::vector<ReportSide> sides;
    if (heldout.is_object()) {
        sides.push_back({"baseline", memberOf(heldout, "baseline")});
        sides.push_back({"best profile", memberOf(heldout, "best")});
    } else if (methods.is_array()) {
        for (const json& method : methods) {
            if (method.is_object() && method.contains("positions")) sides.push_back({textIn(method, "method"), method});
        }
    } else if (const json positions = listIn(result, "positions");
               !positions.empty() && positions[0].is_object() && positions[0].contains("accuracy")) {
        sides.push_back({textIn(result, "method"), result});
    }
    return sides;
}

/// The mean over several positions, where no table of methods has it.
void addMean(HtmlTable& table, const ReportSide& side) {
    if (listIn(side.said, "positions").size() < 2) return;
    const json interval = memberOf(side.said, "mean_accuracy_interval");
    table.add({escapeHtml(side.name), "mean", "–", numberIn(side.said, "items", "{:.0f}"),
               numberIn(side.said, "mean_accuracy", "{:.3f}"), intervalCell(interval, "low", "high"),
               numberIn(side.said, "mean_answer_nll", "{:.3f}"),
               intervalCell(memberOf(side.said, "mean_answer_nll_interval"), "low", "high")});
    table.add({escapeHtml(side.name), "gap: highest − lowest", "–", numberIn(side.said, "items", "{:.0f}"),
               numberIn(side.said, "gap", "{:.3f}"), intervalCell(memberOf(side.said, "gap_interval"), "low", "high"),
               "–", "–"});
}

std::string positionSection(const json& result) {
    HtmlTable table(
        {"method", "position", "gold index", "n", "accuracy", "95 % interval", "answer NLL (nats)", "95 % interval"});
    for (const ReportSide& side : reportSides(result)) {
        for (const json& position : listIn(side.said, "positions")) {
            table.add({escapeHtml(side.name), escapeHtml(textIn(position, "position")),
                       numberIn(position, "gold_index", "{:.0f}"), numberIn(position, "n", "{:.0f}"),
                       numberIn(position, "accuracy", "{:.3f}"), intervalCell(position, "ci_low", "ci_high"),
                       numberIn(position, "answer_nll", "{:.3f}"),
                       intervalCell(position, "answer_nll_ci_low", "answer_nll_ci_high")});
        }
        if (!memberOf(result, "methods").is_array()) addMean(table, side);
    }
    if (table.empty()) return {};
    std::string html = table.html("Accuracy by position");
    const json heldout = memberOf(result, "heldout");
    const json skipped = memberOf(heldout.is_object() ? memberOf(heldout, "best") : result, "skipped_too_long");
    if (skipped.is_number() && skipped != 0) {
        html += fmt::format("<p>{} items are longer than the context and were left out; none was cut.</p>\n",
                            skipped.dump());
    }
    for (const ReportSide& side : reportSides(result)) {
        if (const std::string unknown = unknownTokensText(side.said); !unknown.empty())
            html += fmt::format("<p>{}: {}</p>\n", escapeHtml(side.name), escapeHtml(unknown));
    }
    return html +
           "<p class=\"soft\">Intervals: Wilson's where every score is 0 or 1, else a bootstrap over items, and where "
           "all scores are the same the exact bound of the rule of three, than which no bootstrap of fewer than ten is "
           "narrower; accuracy is then the mean score. Of the answer NLL and the gap a bootstrap over items, none "
           "below "
           "ten; that of the gap reaches down to 0 unless the test over positions finds a bias.</p>\n";
}

std::string biasSection(const std::vector<ReportSide>& sides) {
    HtmlTable table({"method", "PSI (95 %)", "U-shape (95 %)", "curvature (95 %)", "p", "verdict"}, {5});
    for (const ReportSide& side : sides) {
        const json bias = memberOf(side.said, "bias");
        if (!bias.is_object()) continue;
        table.add({escapeHtml(side.name), estimateCell(bias, "psi"), estimateCell(bias, "u_shape"),
                   estimateCell(bias, "curvature"), numberIn(bias, "p_value", "{:.3g}"),
                   escapeHtml(textIn(bias, "verdict"))});
    }
    if (table.empty()) return {};
    return table.html("Position bias") +
           "<p class=\"soft\">PSI = 1 − lowest / highest accuracy: 0 for no sensitivity; read it with the accuracy, "
           "because low scores everywhere give a low index too. U-shape = mean of the first and the last position "
           "minus "
           "the mean of those between: above 0 where the middle is lost. p: Cochran's Q test over positions, "
           "of graded scores Friedman's; none below 10 items. Intervals: bootstraps over items, all positions of an "
           "item "
           "together, none below 10; that of PSI reaches down to 0 unless the test finds a bias, because noise alone "
           "drives the lowest and the highest accuracy apart, and a resample where nothing is right may have any "
           "index.</p>\n";
}

std::string guardrailSection(const json& result) {
    HtmlTable table({"method", "light", "reason", "perplexity of short texts (95 %)", "accuracy of short exams (95 %)",
                     "change of the right choices' NLL in nats (95 %)"},
                    {1, 2, 4, 5});
    if (const json own = memberOf(result, "guardrail"); own.is_object()) addGuardrail(table, "best profile", own);
    for (const json& method : listIn(result, "methods")) {
        if (const json guardrail = memberOf(method, "guardrail"); guardrail.is_object())
            addGuardrail(table, textIn(method, "method"), guardrail);
    }
    if (table.empty()) return {};
    return table.html("Guardrail: short contexts") +
           fmt::format("<p class=\"soft\">What the method costs where nothing is far away. {}</p>\n",
                       escapeHtml(guardrailRules()));
}

std::string groupSection(const std::vector<ReportSide>& sides) {
    return sideBySide(sides, "groups", "Groups of items", "group",
                      [](const json& row) { return textIn(row, "group"); });
}

std::string lengthSection(const std::vector<ReportSide>& sides) {
    return sideBySide(sides, "lengths", "Length of the prompt", "tokens", [](const json& row) {
        return fmt::format("{} to below {}", numberIn(row, "from", "{:.0f}"), numberIn(row, "to", "{:.0f}"));
    });
}

std::string scoringSection(const json& result) {
    HtmlTable table({"method", "prompts", "teacher-forced", "generated", "agree (95 %)", "Cohen's kappa (95 %)"});
    for (const ReportSide& side : reportSides(result)) {
        const json agreement = memberOf(side.said, "agreement");
        if (!agreement.is_object()) continue;
        table.add({escapeHtml(side.name), numberIn(agreement, "n", "{:.0f}"),
                   numberIn(agreement, "teacher_forced", "{:.3f}"), numberIn(agreement, "generated", "{:.3f}"),
                   estimateCell(agreement, "equal"), estimateCell(agreement, "kappa")});
    }
    std::string html = table.html("Teacher forcing beside generated answers");
    if (!html.empty())
        html +=
            "<p class=\"soft\">Intervals are over items, all positions of an item together; of kappa a bootstrap, none "
            "below 10 items or where both always agree, of which the share that agrees has its own.</p>\n";
    const json noise = memberOf(result, "noise");
    if (!noise.is_object()) return html;
    std::string deviations;
    for (const json& value : listIn(noise, "accuracy_sd"))
        deviations +=
            fmt::format("{}{:.4f}", deviations.empty() ? "" : ", ", value.is_number() ? value.get<double>() : 0);
    return html + fmt::format(
                      "<h2>Noise of rounding</h2>\n<p>{} evaluations in other batch compositions: {} outcomes "
                      "flip; standard deviation of the accuracy by position {}; answer NLL of an item moves by "
                      "{} nats at most.</p>\n",
                      numberIn(noise, "repeats", "{:.0f}"), numberIn(noise, "flips", "{:.0f}"), deviations,
                      numberIn(noise, "largest_nll_difference", "{:.5f}"));
}

std::string noteSection(const json& result) {
    HtmlTable table({"what the benchmark's own rule left out", "items"});
    for (const json& note : listIn(result, "notes"))
        table.add({escapeHtml(textIn(note, "note")), numberIn(note, "items", "{:.0f}")});
    return table.html("Notes");
}

std::string overlapWarnings(const std::vector<ReportSide>& sides) {
    std::string html;
    for (const ReportSide& side : sides) {
        const std::string text = overlapText(memberOf(side.said, "searched_on"));
        if (!text.empty()) html += fmt::format("<p class=\"warning\">{}</p>\n", escapeHtml(text));
        const std::string unknown = provenanceText(side.said);
        if (!unknown.empty()) html += fmt::format("<p class=\"soft\">{}</p>\n", escapeHtml(unknown));
    }
    return html;
}

std::string findings(const json& result) {
    const std::vector<ReportSide> sides = reportSides(result);
    return positionSection(result) + biasSection(sides) + guardrailSection(result) + groupSection(sides) +
           lengthSection(sides) + scoringSection(result) + noteSection(result);
}

}  // namespace lpes::studies
