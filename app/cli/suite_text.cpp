#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/result_text.h"
#include "core/studies/suite_study.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

/// Methods by benchmarks: mean accuracy in percent, as papers print it, with its interval.
std::string meansTable(const json& table) {
    std::vector<std::string> header{"mean accuracy, % [95 %]"};
    for (const json& label : table.at("benchmarks")) header.push_back(label);
    header.emplace_back("average");
    Table out(header);
    const auto percent = [](const json& value) {
        return value.is_number() ? json(100.0 * value.get<double>()) : json();
    };
    const auto cell = [&](const json& value, const json& interval, const json& heldOut) {
        const bool known = interval.is_object();
        return formatEstimate(percent(value), known ? percent(interval.at("low")) : json(),
                              known ? percent(interval.at("high")) : json(), 1) +
               (heldOut == json(false) ? studies::kNotHeldOutMark : "");
    };
    for (const json& row : table.at("rows")) {
        std::vector<std::string> cells{row.at("method")};
        const json &means = row.at("mean_accuracy"), &intervals = row.at("intervals"), &heldOut = row.at("held_out");
        for (std::size_t i = 0; i < means.size(); ++i) cells.push_back(cell(means[i], intervals[i], heldOut[i]));
        cells.push_back(cell(row.at("average"), row.at("average_interval"), row.at("average_held_out")));
        out.add(std::move(cells));
    }
    return out.text(kTableColumns);
}

}  // namespace

std::string suiteText(const json& result) {
    std::string out = fmt::format("Run {}: suite {}, {}, {}\n\n", result.at("run_id").dump(), result.value("suite", ""),
                                  result.value("model", ""), studies::stateText(result));
    if (!result.contains("table")) return out;
    out += meansTable(result.at("table"));
    if (const std::string note = studies::heldOutNote(result.at("table")); !note.empty())
        out += warningText(note + "\n");
    if (const std::string note = studies::averageNote(result.at("table")); !note.empty()) out += note + "\n";
    for (const json& part : result.at("benchmarks")) {
        out += fmt::format("\n== {} ==\n", part.value("label", ""));
        out += part.contains("error") ? "failed: " + part.value("error", "") + "\n" : compareText(part);
    }
    return out;
}

}  // namespace lpes::cli
