#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/result_text.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

/// Methods by benchmarks: mean accuracy in percent, as papers print it.
std::string meansTable(const json& table) {
    std::vector<std::string> header{"mean accuracy, %"};
    for (const json& label : table.at("benchmarks")) header.push_back(label);
    header.emplace_back("average");
    Table out(header);
    const auto percent = [](const json& value) {
        return value.is_number() ? formatNumber(100.0 * value.get<double>(), 1) : std::string("–");
    };
    for (const json& row : table.at("rows")) {
        std::vector<std::string> cells{row.at("method")};
        for (const json& value : row.at("mean_accuracy")) cells.push_back(percent(value));
        cells.push_back(percent(row.at("average")));
        out.add(std::move(cells));
    }
    return out.text();
}

}  // namespace

std::string suiteText(const json& result) {
    std::string out = fmt::format("Run {}: suite {}, {}, {}\n\n", result.at("run_id").dump(), result.value("suite", ""),
                                  result.value("model", ""), result.value("state", ""));
    if (!result.contains("table")) return out;
    out += meansTable(result.at("table"));
    for (const json& part : result.at("benchmarks")) {
        out += fmt::format("\n== {} ==\n", part.value("label", ""));
        out += part.contains("error") ? "failed: " + part.value("error", "") + "\n" : compareText(part);
    }
    return out;
}

}  // namespace lpes::cli
