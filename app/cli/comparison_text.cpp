#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>

#include "app/cli/output.h"
#include "app/cli/result_text.h"
#include "core/analysis/statistics.h"
#include "core/analysis/verdict.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

std::string bytesOf(const json& value) {
    return value.is_number() ? formatBytes(value.get<std::int64_t>()) : "–";
}

/// "1.45 (1.43 – 1.47)"; without an interval the ratio alone.
std::string ratioText(const json& ratio) {
    if (!ratio.is_object()) return "–";
    if (!ratio.at("low").is_number()) return formatNumber(ratio.at("ratio"), 3);
    return fmt::format("{} ({} – {})", formatNumber(ratio.at("ratio"), 3), formatNumber(ratio.at("low"), 3),
                       formatNumber(ratio.at("high"), 3));
}

/// Is there a ratio of few pairs, which therefore has no interval? The pairs of a method with itself need none.
bool fewPairs(const json& ratio) {
    return ratio.is_object() && !ratio.at("low").is_number() &&
           ratio.at("pairs").get<std::size_t>() < analysis::kFewestPairs;
}

/// One column per position.
std::string accuracyTable(const json& methods) {
    std::vector<std::string> header{"accuracy [95 %]"};
    for (const json& position : methods.front().at("positions")) header.push_back(position.at("position"));
    header.insert(header.end(), {"mean", "gap"});
    Table table(header);
    for (const json& method : methods) {
        std::vector<std::string> row{method.at("method")};
        for (const json& position : method.at("positions"))
            row.push_back(formatEstimate(position.at("accuracy"), position.at("ci_low"), position.at("ci_high"), 2));
        row.push_back(formatEstimate(method.at("mean_accuracy"), method.at("mean_accuracy_interval"), 2));
        row.push_back(formatEstimate(method.at("gap"), method.value("gap_interval", json()), 2));
        table.add(row);
    }
    return table.text(kTableColumns);
}

/// Rows that every method has under the same names (groups of items, prompts by length), a column for each method;
/// nothing where there is one row, which would say what the mean says.
std::string sideBySide(const json& methods, const char* key, const char* what,
                       const std::function<std::string(const json&)>& nameOf) {
    const json first = methods.front().value(key, json::array());
    if (first.size() < 2) return {};
    std::vector<std::string> header{fmt::format("accuracy [95 %] by {}", what), "n"};
    for (const json& method : methods) header.push_back(method.at("method"));
    Table table(header);
    for (std::size_t i = 0; i < first.size(); ++i) {
        std::vector<std::string> row{nameOf(first[i]), first[i].at("n").dump()};
        for (const json& method : methods) {
            const json& own = method.at(key).at(i);
            row.push_back(formatEstimate(own.at("accuracy"), own.at("ci_low"), own.at("ci_high"), 2));
        }
        table.add(std::move(row));
    }
    return table.text(kTableColumns) + "\n";
}

/// How often both kinds of scoring say the same, of methods whose prompts were scored both ways.
std::string agreementTable(const json& methods) {
    Table table({"both kinds of scoring", "prompts", "teacher-forced", "generated", "agree [95 %]",
                 "Cohen's kappa [95 %]", "empty answers"});
    bool any = false;
    for (const json& method : methods) {
        const json agreement = method.value("agreement", json());
        if (!agreement.is_object()) continue;
        any = true;
        table.add({method.at("method"), agreement.at("n").dump(), formatNumber(agreement.at("teacher_forced"), 3),
                   formatNumber(agreement.at("generated"), 3),
                   formatEstimate(agreement.at("equal"), agreement.value("equal_interval", json()), 3),
                   formatEstimate(agreement.at("kappa"), agreement.value("kappa_interval", json()), 3),
                   agreement.value("empty_answers", json(0)).dump()});
    }
    return any ? table.text(kTableColumns) + "\n" : std::string();
}

std::string byPosition(const json& pValues) {
    std::string out;
    for (const json& p : pValues) {
        if (p.is_number()) out += (out.empty() ? "" : " ") + fmt::format("{:.2g}", p.get<double>());
    }
    return out.empty() ? "–" : out;
}

std::string testFootnote(const json& methods) {
    if (methods.back().at("items") < analysis::kFewestItems) return fewItemsNote();
    const std::size_t tests = methods.size() - 1;
    return "p: paired bootstraps over items; McNemar's exact test by position, for information.\n" +
           (tests == 1
                ? std::string("   McNemar's p values are adjusted by Holm's method over positions.\n")
                : fmt::format("   Adjusted by Holm's method over {} methods, McNemar's over methods and positions; "
                              "--json has the raw ones too.\n",
                              tests));
}

/// Paired tests against the first method.
std::string testTable(const json& methods) {
    Table table({"against the first", "answer NLL [95 %]", "NLL difference [95 %]", "p", "score difference [95 %]", "p",
                 "McNemar p"});
    for (const json& method : methods) {
        std::vector<std::string> row{
            method.at("method"),
            formatEstimate(method.at("mean_answer_nll"), method.value("mean_answer_nll_interval", json()), 3)};
        if (method.contains("nll_difference")) {
            const json &nll = method.at("nll_difference"), &score = method.at("score_difference");
            row.push_back(formatEstimate(nll.at("mean"), nll.at("low"), nll.at("high"), 3));
            row.push_back(formatP(method.at("p_holm")));
            row.push_back(formatEstimate(score.at("mean"), score.at("low"), score.at("high"), 2));
            row.push_back(formatP(score.at("p_holm")));
            row.push_back(byPosition(method.at("mcnemar_holm")));
        }
        table.add(std::move(row));
    }
    return table.text(kTableColumns) + (methods.size() > 1 ? testFootnote(methods) : "");
}

std::string costTable(const json& methods) {
    Table table({"method", "time / first (95 %)", "tokens/s", "peak memory", "passes", "attentions"});
    for (const json& method : methods) {
        table.add({method.at("method"), ratioText(method.at("latency_vs_first")),
                   formatNumber(method.at("tokens_per_second"), 0), bytesOf(method.at("peak_bytes")),
                   method.at("passes").dump(), method.at("attentions_per_layer").dump()});
    }
    const bool few =
        std::ranges::any_of(methods, [](const json& method) { return fewPairs(method.at("latency_vs_first")); });
    return table.text() +
           (few ? fmt::format("No interval of a time below {} pairs of passes\n", analysis::kFewestPairs) : "");
}

}  // namespace

std::string compareText(const json& result) {
    std::string out = fmt::format("Run {}: {}", result.at("run_id").dump(), result.value("state", ""));
    if (!result.contains("methods") || result.at("methods").empty()) return out + "\n";
    const json& methods = result.at("methods");
    out +=
        fmt::format(", {} items of {}, {}\n\n", itemsText(result), result.value("data", ""), result.value("model", ""));
    out += accuracyTable(methods) + "\n" + testTable(methods) + "\n" + costTable(methods) + "\n";
    out +=
        sideBySide(methods, "groups", "group", groupName) + sideBySide(methods, "lengths", "prompt tokens", lengthName);
    out += agreementTable(methods);
    for (const json& method : methods) {
        if (const std::string bases = basesText(method.value("bases_search", json())); !bases.empty())
            out += fmt::format("{}: {}", method.value("method", ""), bases);
        if (method.contains("verdict"))
            out += fmt::format("{}: {}\n", method.value("method", ""), method.value("verdict", ""));
        if (const std::string bias = biasText(method.value("bias", json())); !bias.empty())
            out += fmt::format("{}: {}", method.value("method", ""), bias);
        if (const std::string guard = guardrailText(method.value("guardrail", json())); !guard.empty())
            out += fmt::format("{}: {}", method.value("method", ""), guard);
        if (const std::string unknown = unknownTokensText(method); !unknown.empty())
            out += fmt::format("{}: {}", method.value("method", ""), unknown);
        out += searchedOnText(method.value("searched_on", json())) + provenanceText(method);
    }
    out += notesText(result);
    if (const json skipped = result.value("skipped_too_long", json(0)); skipped != 0) {
        out += fmt::format("{} items are longer than the shortest context and were left out for all; none was cut.\n",
                           skipped.dump());
    }
    return out;
}

std::string benchText(const json& result) {
    Table times({"method", "tokens", "prefill s", "tokens/s", "decode tokens/s", "peak memory", "cache"});
    Table ratios({"method", "tokens", "prefill / first (95 %)", "decode / first (95 %)", "both / LPES (95 %)",
                  "published / LPES"});
    bool few = false, beside = false, published = false;
    for (const json& row : result.at("rows")) {
        times.add({row.at("method"), row.at("length").dump(), formatNumber(row.at("prefill_seconds"), 4),
                   formatNumber(row.at("prefill_tokens_per_second"), 0),
                   formatNumber(row.at("decode_tokens_per_second"), 1), bytesOf(row.at("peak_bytes")),
                   bytesOf(row.at("cache_bytes"))});
        ratios.add({row.at("method"), row.at("length").dump(), ratioText(row.at("prefill_ratio")),
                    ratioText(row.at("decode_ratio")), ratioText(row.at("ratio_to_lpes")),
                    formatNumber(row.at("published_ratio"), 2)});
        few = few || fewPairs(row.at("prefill_ratio"));
        beside = beside || row.at("ratio_to_lpes").is_object();
        published = published || row.at("published_ratio").is_number();
    }
    std::string out = times.text() + "\n" + ratios.text() + "\n";
    if (few) out += fmt::format("No interval below {} rounds; --seconds asks for more\n", analysis::kFewestPairs);
    if (published && !beside)
        out +=
            "The published ratios are to LPES: with lpes:FILE or uniform:S among the methods ours stand beside them\n";
    for (const json& one : result.at("skipped")) {
        out += fmt::format("{} at {} tokens is left out: its context is {} tokens\n", one.value("method", ""),
                           one.at("length").dump(), one.at("context").dump());
    }
    if (result.at("gemm_gflops").is_number()) {
        out += fmt::format("LibTorch's matrix products of these shapes: {} GFLOP/s on {} threads\n",
                           formatNumber(result.at("gemm_gflops"), 0), result.at("threads").dump());
    }
    return out;
}

}  // namespace lpes::cli
