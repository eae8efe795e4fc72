#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/result_text.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

/// "12.3 s", "4.5 min", "6.7 h"; "–" for null.
std::string duration(const json& seconds) {
    if (!seconds.is_number()) return "–";
    const double value = seconds.get<double>();
    if (value < 120.0) return formatNumber(value, 1) + " s";
    return value < 7200.0 ? formatNumber(value / 60.0, 1) + " min" : formatNumber(value / 3600.0, 1) + " h";
}

std::string bytes(const json& value) {
    return value.is_number() ? formatBytes(value.get<std::int64_t>()) : "–";
}

std::string stagesTable(const json& forecast) {
    Table table({"at most", "variants", "prompts", "tokens", "time"});
    std::string derived;
    for (const json& stage : forecast.at("stages")) {
        const json& prompts = stage.at("prompts");
        table.add({stage.at("stage"), stage.at("candidates").dump(), prompts.is_null() ? "–" : prompts.dump(),
                   stage.at("tokens").dump(), duration(stage.at("seconds"))});
        const std::string derivation = stage.at("derivation");
        if (!derivation.empty()) derived += fmt::format("  {}: {}\n", stage.at("stage").get<std::string>(), derivation);
    }
    table.add({"together", "", forecast.at("prompts").dump(), forecast.at("tokens").dump(),
               duration(forecast.at("seconds"))});
    return table.text() + "\nHow the times were found:\n" + derived;
}

std::string calibrationText(const json& calibration) {
    if (!calibration.is_object()) return {};
    std::string passes;
    for (const json& cost : calibration.at("all_workers")) {
        passes += fmt::format("{}{} s for a pass of {} tokens", passes.empty() ? "" : ", ",
                              formatNumber(cost.at("seconds"), 3), cost.at("tokens").dump());
    }
    return fmt::format("Calibration: {} passes of this data in {} s with all {} worker(s) busy: {}\n",
                       calibration.at("passes").dump(), formatNumber(calibration.at("seconds"), 1),
                       calibration.at("workers").dump(), passes);
}

std::string memoryText(const json& memory) {
    return fmt::format(
        "Memory: {} = program {} + loaded {} (weights {} and what loading leaves beside them) + activations {} + "
        "caches "
        "{}; layers that candidates reuse take up to {} more; the calibration, loading included, took {}\n",
        bytes(memory.at("total_bytes")), bytes(memory.at("program_bytes")), bytes(memory.at("loaded_bytes")),
        bytes(memory.at("weight_bytes")), bytes(memory.at("activation_bytes")), bytes(memory.at("cache_bytes")),
        bytes(memory.at("reuse_bytes")), bytes(memory.at("measured_bytes")));
}

}  // namespace

std::string forecastText(const json& forecast) {
    return stagesTable(forecast) + calibrationText(forecast.at("calibration")) + memoryText(forecast.at("memory")) +
           fmt::format("Longest prompt {} tokens, {} thread(s) per worker, {}\n", forecast.at("longest_prompt").dump(),
                       forecast.at("threads_per_worker").dump(), forecast.value("dtype", "")) +
           paperText(forecast.at("paper"));
}

std::string paperText(const json& paper) {
    std::string text = fmt::format(
        "\nThe paper's setting ({}): forecast {} h ({} to {} h), beside the {} to {} h that the paper reports. It is "
        "arithmetic, not a measurement, and rests on:\n",
        paper.value("setting", ""), formatNumber(paper.at("hours"), 1), formatNumber(paper.at("hours_low"), 1),
        formatNumber(paper.at("hours_high"), 1), formatNumber(paper.at("published_hours").at(0), 0),
        formatNumber(paper.at("published_hours").at(1), 0));
    for (const json& assumption : paper.at("assumptions")) text += "  - " + assumption.get<std::string>() + "\n";
    return text;
}

}  // namespace lpes::cli
