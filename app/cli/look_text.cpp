#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/profile_text.h"
#include "app/cli/result_text.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

/// A token's piece as it can be shown in a table.
std::string pieceText(const json& piece) {
    return piece.is_string() ? piece.get<std::string>() : "–";
}

std::string layersTable(const json& model) {
    Table table({"layer", "scale s", "1/s", "fastest inv_freq", "slowest inv_freq"});
    for (std::size_t layer = 0; layer < model.at("layer_scales").size(); ++layer) {
        const double scale = model.at("layer_scales")[layer].get<double>();
        const json& frequencies = model.at("inv_freq")[layer];
        table.add({fmt::format("{}", layer), fmt::format("{:.4g}", scale), fmt::format("{:.4g}", 1.0 / scale),
                   fmt::format("{:.6g}", frequencies.front().get<double>()),
                   fmt::format("{:.6g}", frequencies.back().get<double>())});
    }
    return table.text();
}

/// What a rope type has beside its base.
std::string ropeFields(const json& rope) {
    std::string out;
    const auto add = [&](const char* key, const char* words) {
        if (rope.contains(key)) out += fmt::format(", {} {}", words, rope.at(key).dump());
    };
    if (rope.at("type") != "default" && rope.at("type") != "longrope" && rope.at("type") != "frequency_factors") {
        add("factor", "factor");
    }
    add("original_context", "original context");
    add("rotary_dim", "rotated values per head");
    add("attention_factor", "attention factor");
    return out;
}

/// What the method does, part by part, and what it costs.
std::string methodText(const json& model) {
    std::string out;
    for (const json& part : model.at("method_meaning")) {
        out +=
            fmt::format("Method {}: {}.\n", part.at("part").get<std::string>(), part.at("meaning").get<std::string>());
    }
    if (model.contains("method_rope")) {
        const json& rope = model.at("method_rope");
        out += fmt::format("RoPE under the method: type {}, theta {} (from {}){}\n", rope.at("type").get<std::string>(),
                           rope.at("theta").dump(), rope.at("origin").get<std::string>(), ropeFields(rope));
    }
    const json& cost = model.at("method_cost");
    return out + fmt::format("Cost: {}; texts up to {} tokens.\n", cost.at("meaning").get<std::string>(),
                             cost.at("context").dump());
}

/// The table above is of the first base; this one says how the others differ.
std::string basesTable(const json& bases) {
    Table table({"path", "RoPE base", "slowest inv_freq"});
    for (std::size_t path = 0; path < bases.size(); ++path) {
        table.add({fmt::format("{}", path), fmt::format("{:.10g}", bases[path].at("base").get<double>()),
                   fmt::format("{:.6g}", bases[path].at("inv_freq")[0].back().get<double>())});
    }
    return table.text();
}

std::string headsTable(const json& scales) {
    const auto rows = scales.get<std::vector<std::vector<double>>>();
    std::vector<std::string> names;
    for (std::size_t head = 0; head < rows.front().size(); ++head) names.push_back(fmt::format("head {}", head));
    return groupsTable(rows, names);
}

std::string memoryTable(const json& memory) {
    Table table({"context", "weights", "activations", "KV cache", "together"});
    for (const json& row : memory) {
        const auto bytes = [&](const char* key) { return formatBytes(row.at(key).get<std::int64_t>()); };
        table.add({row.at("tokens").dump(), bytes("weight_bytes"), bytes("activation_bytes"), bytes("kv_cache_bytes"),
                   bytes("total_bytes")});
    }
    return table.text();
}

}  // namespace

std::string inspectText(const json& model) {
    const auto number = [&](const char* key) { return model.at(key).dump(); };
    const json& rope = model.at("rope");
    std::string out = fmt::format("{} ({}, {})\n{}\n\n", model.at("name").get<std::string>(),
                                  model.at("architecture").get<std::string>(), model.at("format").get<std::string>(),
                                  model.at("path").get<std::string>());
    out +=
        fmt::format("{} layers, {} heads ({} for keys and values) of {}, hidden size {}, vocabulary {}, context {}\n",
                    number("layers"), number("heads"), number("kv_heads"), number("head_dim"), number("hidden"),
                    number("vocab"), number("context"));
    out += fmt::format("{} parameters, {} as stored ({})\n", number("parameters"),
                       formatBytes(model.at("weight_bytes").get<std::int64_t>()),
                       model.at("weight_types").get<std::string>());
    const json tokenizer = model.value("tokenizer", json(nullptr));
    if (tokenizer.is_object()) out += fmt::format("Tokenizer: {}\n", tokenizer.at("description").get<std::string>());
    for (const auto& [field, origin] : model.at("origins").items()) {
        out += fmt::format("{}: from {}\n", field, origin.get<std::string>());
    }
    out += fmt::format("\nRoPE: type {}, theta {} (from {})", rope.at("type").get<std::string>(),
                       rope.at("theta").dump(), rope.at("origin").get<std::string>());
    out += ropeFields(rope);
    out += fmt::format("; method {}\n", model.value("method", "baseline"));
    if (rope.contains("sliding")) {
        const json& sliding = rope.at("sliding");
        out += fmt::format("RoPE of sliding layers: type {}, theta {} (from {}){}\n",
                           sliding.at("type").get<std::string>(), sliding.at("theta").dump(),
                           sliding.at("origin").get<std::string>(), ropeFields(sliding));
    }
    if (model.contains("sliding_window")) {
        const json& window = model.at("sliding_window");
        out += fmt::format("Sliding window: {} tokens in layers {}\n", window.at("tokens").dump(),
                           window.at("layers").dump());
    }
    out += fmt::format("Meaning: {}.\n", rope.at("meaning").get<std::string>());
    if (model.contains("method_cost")) out += methodText(model);
    out += "\n" + layersTable(model);
    if (model.contains("head_scales")) out += "\nScales by key/value head:\n" + headsTable(model.at("head_scales"));
    if (model.contains("bases")) out += "\n" + basesTable(model.at("bases"));
    if (model.contains("memory")) {
        out +=
            fmt::format("\nMemory, estimated ({}, under {}):\n",
                        model.at("memory").front().at("dtype").get<std::string>(), model.value("method", "baseline"));
        out += memoryTable(model.at("memory"));
    }
    if (model.contains("fits")) {
        const json& fits = model.at("fits");
        const bool onGpus = fits.contains("gpus");
        const std::string free = formatBytes(fits.at("available_bytes").get<std::int64_t>()) + " are free" +
                                 (onGpus ? " on " + fits.at("device").get<std::string>() : std::string());
        out += fits.at("weights_fit").get<bool>() ? fmt::format("{}: the longest context that fits is {} tokens\n",
                                                                free, fits.at("longest_context").dump())
                                                  : fmt::format("{}: the weights do not fit{}\n", free,
                                                                onGpus ? "" : " and would stay as they are stored");
        for (const json& gpu : onGpus ? fits.at("gpus") : json::array()) {
            out += fmt::format("  {}: {} free, {} layers\n", gpu.at("device").get<std::string>(),
                               formatBytes(gpu.at("free_bytes").get<std::int64_t>()), gpu.at("layers").dump());
        }
    }
    for (const json& warning : model.at("warnings")) out += "\nWarning: " + warning.get<std::string>() + "\n";
    return out;
}

std::string tokensText(const json& tokens) {
    Table table({"piece", "id"});
    for (std::size_t i = 0; i < tokens.at("ids").size(); ++i) {
        table.add({pieceText(tokens.at("pieces")[i]), tokens.at("ids")[i].dump()});
    }
    return table.text() + fmt::format("\n{} tokens{}\n", tokens.at("ids").size(),
                                      tokens.at("bos_added").get<bool>() ? ", the first one added (BOS)" : "");
}

std::string scoreText(const json& score) {
    Table table({"piece", "id", "log-probability"});
    for (std::size_t i = 0; i < score.at("ids").size(); ++i) {
        const json& pieces = score.at("pieces");
        table.add({pieceText(pieces.is_array() ? pieces[i] : json(nullptr)), score.at("ids")[i].dump(),
                   i == 0 ? "–" : formatNumber(score.at("logprobs")[i - 1], 4)});
    }
    std::string out = table.text();
    if (!score.at("top").empty()) {
        Table top({"next token", "id", "log-probability"});
        for (const json& token : score.at("top")) {
            top.add({pieceText(token.at("piece")), token.at("id").dump(), formatNumber(token.at("logprob"), 4)});
        }
        out += "\n" + top.text();
    }
    return out + fmt::format("\nPerplexity {} over {} tokens in one window ({}, {} s)\n",
                             formatNumber(score.at("perplexity"), 4), score.at("logprobs").size(),
                             score.at("dtype").get<std::string>(), formatNumber(score.at("seconds"), 2));
}

}  // namespace lpes::cli
