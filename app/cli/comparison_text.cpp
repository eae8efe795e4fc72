#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/result_text.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

std::string bytesOf(const json& value) {
    return value.is_number() ? formatBytes(value.get<std::int64_t>()) : "–";
}

/// "1.45 (1.43 – 1.47)".
std::string ratioText(const json& ratio) {
    if (!ratio.is_object()) return "–";
    return fmt::format("{} ({} – {})", formatNumber(ratio.at("ratio"), 3), formatNumber(ratio.at("low"), 3),
                       formatNumber(ratio.at("high"), 3));
}

/// One column per position.
std::string accuracyTable(const json& methods) {
    std::vector<std::string> header{"method"};
    for (const json& position : methods.front().at("positions")) header.push_back(position.at("position"));
    header.insert(header.end(), {"mean", "gap", "answer NLL", "p"});
    Table table(header);
    for (const json& method : methods) {
        std::vector<std::string> row{method.at("method")};
        for (const json& position : method.at("positions")) row.push_back(formatNumber(position.at("accuracy"), 3));
        row.push_back(formatNumber(method.at("mean_accuracy"), 3));
        row.push_back(formatNumber(method.at("gap"), 3));
        row.push_back(formatNumber(method.at("mean_answer_nll"), 3));
        row.push_back(formatNumber(method.at("p_value_vs_first"), 4));
        table.add(row);
    }
    return table.text();
}

std::string costTable(const json& methods) {
    Table table({"method", "time / first (95 %)", "tokens/s", "peak memory", "passes", "attentions"});
    for (const json& method : methods) {
        table.add({method.at("method"), ratioText(method.at("latency_vs_first")),
                   formatNumber(method.at("tokens_per_second"), 0), bytesOf(method.at("peak_bytes")),
                   method.at("passes").dump(), method.at("attentions_per_layer").dump()});
    }
    return table.text();
}

}  // namespace

std::string compareText(const json& result) {
    std::string out = fmt::format("Run {}: {}", result.at("run_id").dump(), result.value("state", ""));
    if (!result.contains("methods") || result.at("methods").empty()) return out + "\n";
    const json& methods = result.at("methods");
    out += fmt::format(", {} items of {}, {}\n\n", result.at("items").dump(), result.value("data", ""),
                       result.value("model", ""));
    out += accuracyTable(methods) + "\n" + costTable(methods) + "\n";
    for (const json& method : methods) {
        if (const std::string bases = basesText(method.value("bases_search", json())); !bases.empty())
            out += fmt::format("{}: {}", method.value("method", ""), bases);
        if (method.contains("verdict"))
            out += fmt::format("{}: {}\n", method.value("method", ""), method.value("verdict", ""));
        if (const std::string bias = biasText(method.value("bias", json())); !bias.empty())
            out += fmt::format("{}: {}", method.value("method", ""), bias);
        if (const std::string guard = guardrailText(method.value("guardrail", json())); !guard.empty())
            out += fmt::format("{}: {}", method.value("method", ""), guard);
        out += searchedOnText(method.value("searched_on", json()));
    }
    if (const json skipped = result.value("skipped_too_long", json(0)); skipped != 0) {
        out += fmt::format("{} items are longer than the shortest context and were left out for all; none was cut.\n",
                           skipped.dump());
    }
    return out;
}

std::string benchText(const json& result) {
    Table table({"method", "tokens", "prefill s", "tokens/s", "prefill / first (95 %)", "decode tokens/s",
                 "decode / first (95 %)", "published", "peak memory", "cache"});
    for (const json& row : result.at("rows")) {
        table.add({row.at("method"), row.at("length").dump(), formatNumber(row.at("prefill_seconds"), 4),
                   formatNumber(row.at("prefill_tokens_per_second"), 0), ratioText(row.at("prefill_ratio")),
                   formatNumber(row.at("decode_tokens_per_second"), 1), ratioText(row.at("decode_ratio")),
                   formatNumber(row.at("published_ratio"), 2), bytesOf(row.at("peak_bytes")),
                   bytesOf(row.at("cache_bytes"))});
    }
    std::string out = table.text() + "\n";
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
