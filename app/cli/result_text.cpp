#include "app/cli/result_text.h"

#include <fmt/format.h>

#include <functional>
#include <sstream>
#include <vector>

#include "app/cli/output.h"
#include "core/analysis/verdict.h"
#include "core/curve/scale_groups.h"
#include "core/studies/evaluation_summary.h"
#include "core/studies/plot_queries.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

std::string intervalCell(const json& row, const char* low, const char* high) {
    const json from = row.value(low, json()), to = row.value(high, json());
    if (!from.is_number() || !to.is_number()) return "–";
    return fmt::format("{} – {}", formatNumber(from, 3), formatNumber(to, 3));
}

std::string percentInterval(const json& position) {
    return intervalCell(position, "ci_low", "ci_high");
}

std::string positionsTable(const json& positions) {
    Table table({"position", "gold index", "token", "n", "accuracy", "95 % interval", "answer NLL", "95 % interval"});
    for (const json& position : positions) {
        table.add({position.at("position").get<std::string>(), formatNumber(position.at("gold_index"), 0),
                   formatNumber(position.at("mean_token_index"), 1), formatNumber(position.at("n"), 0),
                   formatNumber(position.at("accuracy"), 3), percentInterval(position),
                   formatNumber(position.at("answer_nll"), 3),
                   intervalCell(position, "answer_nll_ci_low", "answer_nll_ci_high")});
    }
    return table.text();
}

std::string list(const json& values, int decimals) {
    std::string out;
    for (const json& value : values) out += (out.empty() ? "" : " ") + formatNumber(value, decimals);
    return out;
}

std::string skippedNote(const json& result) {
    const json skipped = result.value("skipped_too_long", json(0));
    if (skipped == 0) return {};
    return fmt::format("{} items are longer than the model's context and were left out, none was cut.\n",
                       skipped.dump());
}

/// What a search would maximise: the total and, where evidence moves, each position's share.
std::string fitnessText(const json& result) {
    const json fitness = result.value("fitness", json());
    if (!fitness.is_number()) return {};
    std::string byPosition;
    for (const json& position : result.at("positions")) {
        byPosition += fmt::format("{}{} {}", byPosition.empty() ? "" : ", ", position.value("position", ""),
                                  formatNumber(position.value("fitness", json()), 4));
    }
    if (result.at("positions").size() < 2) byPosition.clear();
    return fmt::format("Fitness by {} {}{}: what a search with this score maximises (equal weights, no gap penalty)\n",
                       result.value("score", ""), formatNumber(fitness, 4),
                       byPosition.empty() ? "" : " (" + byPosition + ")");
}

/// Mean score of groups of items, or of prompts by length.
std::string rowsTable(const json& rows, const std::string& what, const std::function<std::string(const json&)>& name) {
    if (rows.size() < 2) return {};
    Table table({what, "n", "accuracy", "95 % interval"});
    for (const json& row : rows)
        table.add({name(row), row.at("n").dump(), formatNumber(row.at("accuracy"), 3), percentInterval(row)});
    return "\n" + table.text();
}

std::string agreementText(const json& agreement) {
    if (!agreement.is_object()) return {};
    return fmt::format(
        "Both kinds of scoring on {} prompts: teacher-forced {}, generated {}; they agree on {}, Cohen's kappa {}; {} "
        "answers were empty\n",
        agreement.at("n").dump(), formatNumber(agreement.at("teacher_forced"), 3),
        formatNumber(agreement.at("generated"), 3),
        formatEstimate(agreement.at("equal"), agreement.value("equal_interval", json()), 3),
        formatEstimate(agreement.at("kappa"), agreement.value("kappa_interval", json()), 3),
        agreement.value("empty_answers", json(0)).dump());
}

std::string noiseText(const json& noise) {
    if (!noise.is_object()) return {};
    return fmt::format(
        "Rounding in {} batch compositions: {} outcomes flip, accuracy moves by {} (standard deviation by position), "
        "answer NLL of an item by {} at most\n",
        noise.at("repeats").dump(), noise.at("flips").dump(), list(noise.at("accuracy_sd"), 4),
        formatNumber(noise.at("largest_nll_difference"), 5));
}

std::string historyTable(const json& history) {
    const bool fronts = !history.empty() && history.back().contains("hypervolume");
    std::vector<std::string> header{"generation", "best", "mean", "diversity"};
    if (fronts) header.insert(header.end(), {"front", "hypervolume"});
    Table table(header);
    for (const json& row : history) {
        std::vector<std::string> cells{row.at("generation").dump(), formatNumber(row.at("best"), 4),
                                       formatNumber(row.at("mean"), 4), formatNumber(row.at("diversity"), 4)};
        if (fronts) {
            const bool has = row.contains("hypervolume");
            cells.push_back(has ? row.at("front_size").dump() : "–");
            cells.push_back(has ? formatNumber(row.at("hypervolume"), 5) : "–");
        }
        table.add(std::move(cells));
    }
    return table.text();
}

std::string controlPoints(const json& points) {
    std::string out = "  control points";
    for (const json& point : points) {
        out += fmt::format(" {}:{}", formatNumber(point.at(0), 4), formatNumber(point.at(1), 4));
    }
    return out + "\n";
}

/// Scales and control points of each head or band.
std::string groupedProfile(const json& best, const json& settings) {
    const auto rows = best.at("scales").get<std::vector<std::vector<double>>>();
    auto groups = curve::parseGroups(settings.at("per").at("value").get<std::string>()).value_or(curve::ScaleGroups{});
    if (groups.kind == curve::ScaleGroups::Kind::KvHead) groups.heads = static_cast<int>(rows.front().size());
    std::string out;
    for (int group = 0; group < groups.count(); ++group) {
        json own = json::array();
        for (const std::vector<double>& row : rows) own.push_back(row[static_cast<std::size_t>(group)]);
        out += fmt::format("  {}\n  scales {}\n", curve::groupName(groups, group), list(own, 4));
        out += controlPoints(best.at("control_points")[static_cast<std::size_t>(group)]);
    }
    return out;
}

/// Best profile less baseline on the score, and McNemar's tests, for information beside the verdict.
std::string scoreTestText(const json& heldout) {
    const json score = heldout.value("score_difference", json());
    if (!score.is_object()) return {};  // of an earlier version, on another machine
    std::string text = "Mean score, best profile less baseline: " +
                       formatEstimate(score.at("mean"), score.at("low"), score.at("high"), 3);
    if (!score.at("p_value").is_number()) return text + "\n";
    std::string byPosition;
    for (const json& p : heldout.at("mcnemar_p_by_position")) byPosition += " " + formatP(p);
    return text + fmt::format(" (95 %), p = {}; McNemar's exact test by position, for information: p ={}\n",
                              formatP(score.at("p_value")), byPosition);
}

/// "Mean accuracy 0.300 [0.208–0.392] (95 %), gap 0.475 [0.325–0.625], answer NLL 1.817 [1.655–1.985]"; without the
/// intervals that there are not.
std::string meansText(const json& side) {
    const json interval = side.value("mean_accuracy_interval", json::object());
    std::string text = fmt::format("Mean accuracy {}{}, gap {}", formatEstimate(side.at("mean_accuracy"), interval, 3),
                                   interval.value("low", json()).is_number() ? " (95 %)" : "",
                                   formatEstimate(side.at("gap"), side.value("gap_interval", json()), 3));
    if (side.contains("mean_answer_nll"))  // not of an earlier version, on another machine
        text += ", answer NLL " +
                formatEstimate(side.at("mean_answer_nll"), side.value("mean_answer_nll_interval", json()), 3);
    return text;
}

std::string heldoutText(const json& heldout) {
    std::string out;
    for (const auto& [side, name] : {std::pair{"baseline", "baseline"}, std::pair{"best", "best profile"}}) {
        const json& said = heldout.at(side);
        out +=
            fmt::format("\nHeld-out items, {}:\n{}{}\n", name, positionsTable(said.at("positions")), meansText(said));
    }
    for (const auto& [side, name] : {std::pair{"baseline", "Baseline: "}, std::pair{"best", "Best profile: "}}) {
        if (const std::string bias = biasText(heldout.at(side).value("bias", json())); !bias.empty())
            out += name + bias;
    }
    for (const auto& [side, name] : {std::pair{"baseline", "Baseline: "}, std::pair{"best", "Best profile: "}}) {
        if (const std::string unknown = unknownTokensText(heldout.at(side)); !unknown.empty()) out += name + unknown;
    }
    out += skippedNote(heldout.at("best")) + scoreTestText(heldout);
    out += searchedOnText(heldout.at("best").value("searched_on", json()));
    return out + "\nVerdict: " + heldout.value("verdict", "") + "\n";
}

}  // namespace

std::string itemsText(const json& result) {
    if (!result.contains("items")) return "no";
    const json &items = result.at("items"), planned = result.value("items_planned", items);
    return planned == items ? items.dump() : fmt::format("{} of {}", items.dump(), planned.dump());
}

std::string groupName(const json& row) {
    return row.value("group", "");
}

std::string lengthName(const json& row) {
    return fmt::format("{} – {}", row.at("from").dump(), row.at("to").get<int>() - 1);
}

std::string biasText(const json& bias) {
    if (!bias.is_object()) return {};
    return fmt::format("Position sensitivity index {}, U-shape index {}: {}\n",
                       formatEstimate(bias.at("psi"), bias.value("psi_interval", json()), 3),
                       formatEstimate(bias.at("u_shape"), bias.value("u_shape_interval", json()), 3),
                       bias.value("verdict", ""));
}

std::string guardrailText(const json& guardrail) {
    if (!guardrail.is_object()) return {};
    std::string out = fmt::format("Guardrail {}: {}.\n", guardrail.value("light", ""), guardrail.value("reason", ""));
    std::istringstream lines(studies::guardrailLines(guardrail));
    for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
    return out;
}

std::string basesText(const json& search) {
    if (!search.is_object()) return {};
    return fmt::format("Bases: {}\n", search.value("words", ""));
}

std::string fewItemsNote() {
    return fmt::format(
        "–: no p value below {} items and no interval of a difference, because so few show significance where there is "
        "none\n",
        analysis::kFewestItems);
}

std::string notesText(const json& result) {
    std::string out;
    for (const json& note : result.value("notes", json::array()))
        out += fmt::format("{} items: {}\n", note.at("items").dump(), note.value("note", ""));
    return out;
}

std::string provenanceText(const json& side) {
    const std::string text = studies::provenanceText(side);
    return text.empty() ? text : text + "\n";
}

std::string unknownTokensText(const json& side) {
    const std::string text = studies::unknownTokensText(side);
    return text.empty() ? text : text + "\n";
}

std::string searchedOnText(const json& searched) {
    const std::string text = studies::overlapText(searched);
    return text.empty() ? text : warningText(text + "\n");
}

std::string evalText(const json& result) {
    std::string out =
        fmt::format("Run {}: {} of {}, {} items, {}\n\n", result.at("run_id").dump(), result.value("method", ""),
                    result.value("model", ""), itemsText(result), result.value("state", "finished"));
    if (!result.contains("positions")) return out;
    out += positionsTable(result.at("positions"));
    out += fmt::format("\n{}, {} s, {} prompts/s\n", meansText(result), formatNumber(result.at("seconds"), 1),
                       formatNumber(result.at("prompts_per_second"), 2));
    out += fitnessText(result);
    if (result.contains("applied")) out += "RoPE scales: applied, " + result.at("applied").get<std::string>() + "\n";
    out += basesText(result.value("bases_search", json()));
    out += biasText(result.value("bias", json()));
    out += agreementText(result.value("agreement", json()));
    out += noiseText(result.value("noise", json()));
    out += skippedNote(result) + unknownTokensText(result);
    out += notesText(result) + searchedOnText(result.value("searched_on", json())) + provenanceText(result);
    out += rowsTable(result.value("groups", json::array()), "group", groupName);
    out += rowsTable(result.value("lengths", json::array()), "prompt tokens", lengthName);
    return out;
}

namespace {

/// What candidates with the scales of earlier ones were spared.
std::string memoText(const json& memo) {
    if (!memo.is_object() || memo.at("evaluations_spared") == 0) return {};
    return fmt::format("Memo of scales: {} evaluations spared, {} prompts\n", memo.at("evaluations_spared").dump(),
                       memo.at("prompts_spared").dump());
}

/// What a sitting did not compute, because another candidate had.
std::string reusedText(const json& reused) {
    if (!reused.is_object() || reused.at("layer_passes") == 0) return {};
    return fmt::format("Layers reused {} %: of {} passes of a prompt through a layer, {} were not computed{}\n",
                       formatNumber(100.0 * reused.at("share").get<double>(), 1), reused.at("layer_passes").dump(),
                       reused.at("not_computed").dump(),
                       reused.value("memory_was_short", false) ? "; memory was short, so it ended early" : "");
}

/// What prompts of one pass that begin alike were spared.
std::string prefixesText(const json& shared) {
    if (!shared.is_object() || shared.at("tokens") == 0) return {};
    const double computed = shared.at("computed").get<double>() / shared.at("tokens").get<double>();
    return fmt::format("Prefixes shared {} %: of {} tokens of prompts to search items, {} were computed\n",
                       formatNumber(100.0 * (1.0 - computed), 1), shared.at("tokens").dump(),
                       shared.at("computed").dump());
}

}  // namespace

std::string searchText(const json& result) {
    std::string out = fmt::format("Run {}: {}", result.at("run_id").dump(), result.value("state", ""));
    if (result.contains("end_reason")) out += fmt::format(" ({})", result.value("end_reason", ""));
    out += "\n";
    if (!result.contains("history")) return out;
    out += "\n" + historyTable(result.at("history")) + "\n" + memoText(result.value("memo", json())) +
           reusedText(result.value("layers_reused", json())) + prefixesText(result.value("prefixes_shared", json()));
    const auto givenUp = result.value("given_up", std::int64_t{0});
    const auto infeasible = result.value("infeasible", std::int64_t{0});
    out += fmt::format("{} evaluations, {} cache hits, {} failed, {}{} prompts, {} s\n",
                       result.at("evaluations").dump(), result.at("cache_hits").dump(), result.at("failed").dump(),
                       (givenUp > 0 ? fmt::format("{} given up, ", givenUp) : "") +
                           (infeasible > 0 ? fmt::format("{} beyond the guardrail's limit, ", infeasible) : ""),
                       result.at("prompts").dump(), formatNumber(result.at("seconds"), 1));
    const json best = result.value("best", json(nullptr));
    if (best.is_object()) {
        out += fmt::format("\nBest profile: fitness {} on the search items\n", formatNumber(best.at("fitness"), 4));
        const json& scales = best.at("scales");
        out += !scales.empty() && scales.front().is_array()
                   ? groupedProfile(best, result.at("settings"))
                   : "  scales " + list(scales, 4) + "\n" + controlPoints(best.at("control_points"));
    }
    out += frontText(result);
    if (result.contains("applied")) out += "RoPE scales: applied, " + result.at("applied").get<std::string>() + "\n";
    const json heldout = result.value("heldout", json(nullptr));
    if (heldout.is_object()) out += heldoutText(heldout);
    return out + guardrailText(result.value("guardrail", json()));
}

std::string attentionText(const json& result) {
    std::string out = fmt::format(
        "Run {}: {} of {}\nAttention of {}\n", result.at("run_id").dump(), result.value("method", ""),
        result.value("model", ""),
        result.value("queries", "last") == "all"
            ? "all prompt tokens: what a record's tokens receive on average from themselves and every later one"
            : "the last prompt token");
    for (const json& position : result.value("positions", json::array())) {
        out += fmt::format("\nEvidence at {}\n", position.at("position").get<std::string>());
        Table table({"record", "share", "mean per token"});
        for (const json& span : position.at("spans")) {
            table.add({span.at("index").dump(), formatNumber(span.at("share"), 5),
                       formatNumber(span.at("mean_per_token"), 7)});
        }
        out += table.text();
    }
    if (result.contains("sink")) {
        out +=
            fmt::format("\nToken 0 (sink) {}, instruction {}, question {}\n", formatNumber(result.at("sink"), 4),
                        formatNumber(result.at("instruction_share"), 4), formatNumber(result.at("question_share"), 4));
    }
    return out;
}

std::string deviationText(const json& result) {
    std::string out = fmt::format("Run {}: {}\n", result.at("run_id").dump(), result.value("model", ""));
    for (const json& variant : result.value("variants", json::array())) {
        out += fmt::format("\n{}: mean deviation {}\n", variant.at("variant").get<std::string>(),
                           formatNumber(variant.at("mean_deviation"), 6));
        Table table({"layer", "deviation", "RSA", "cosine"});
        for (const json& layer : variant.at("layers")) {
            table.add({layer.at("layer").dump(), formatNumber(layer.at("deviation"), 6),
                       formatNumber(layer.at("rsa"), 4), formatNumber(layer.at("cosine"), 4)});
        }
        out += table.text();
    }
    return out;
}

}  // namespace lpes::cli
