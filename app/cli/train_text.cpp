#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/result_text.h"

namespace lpes::cli {

using nlohmann::json;

std::string trainText(const json& result) {
    Table table({"step", "loss", "LM loss", "aux loss", "gradient norm", "tokens"});
    for (const json& row : result.at("curve")) {
        table.add({std::to_string(row.at("step").get<int>()), formatNumber(row.at("loss"), 5),
                   formatNumber(row.at("lm_loss"), 5), formatNumber(row.at("aux_loss"), 5),
                   formatNumber(row.at("grad_norm"), 6), std::to_string(row.at("tokens").get<std::int64_t>())});
    }
    std::string text = table.text();
    const json& source = result.at("text");
    text += fmt::format("\nText: {} documents, {} sequences, {} tokens\n", source.at("documents").dump(),
                        source.at("sequences").dump(), source.at("tokens").dump());
    if (result.at("seconds_per_sequence").is_number()) {
        text += fmt::format("Speed: {} s per sequence, {} tokens per second\n",
                            formatNumber(result.at("seconds_per_sequence"), 2),
                            formatNumber(result.at("tokens_per_second"), 0));
    }
    if (!result.at("router").is_string())
        return text + fmt::format("Checkpoint: {}\n", result.at("checkpoint").get<std::string>());
    const auto router = result.at("router").get<std::string>();
    return text + fmt::format("Router: {}; use it with --method 'moice:{}'\n", router, router);
}

}  // namespace lpes::cli
