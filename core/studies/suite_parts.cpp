#include "core/studies/suite_parts.h"

#include <fmt/format.h>

#include "core/studies/run_view.h"
#include "core/studies/suite_study.h"

namespace lpes::studies {

using nlohmann::json;

namespace {

/// "RUN/LABEL"; empty: it is no part of a suite.
std::string partOf(const store::RunRow& run) {
    return settingOr<std::string>(parseObject(run.settingsJson), "part_of", "");
}

}  // namespace

bool isPartOfSuite(const store::RunRow& run) {
    return !partOf(run).empty();
}

std::string suitePartName(std::int64_t suiteRun, const std::string& label) {
    return fmt::format("{}/{}", suiteRun, label);
}

Result<std::map<std::string, store::RunRow>> suiteParts(store::StoreReader& reader, std::int64_t suiteRun) {
    auto runs = reader.runs();
    if (!runs) return fail(runs.error());
    const std::string prefix = suitePartName(suiteRun, "");
    std::map<std::string, store::RunRow> parts;
    for (store::RunRow& run : *runs) {
        if (run.kind != "compare") continue;
        const std::string part = partOf(run);
        // The newest comes first.
        if (part.starts_with(prefix)) parts.try_emplace(part.substr(prefix.size()), std::move(run));
    }
    return parts;
}

json suiteTableJson(std::span<const std::string> methods, const json& parts) {
    json labels = json::array(), rows = json::array();
    for (const json& part : parts) labels.push_back(part.at("label"));
    for (std::size_t method = 0; method < methods.size(); ++method) {
        json cells = json::array();
        double sum = 0.0;
        int count = 0;
        for (const json& part : parts) {
            const json of = part.value("methods", json::array());
            const bool finished = part.value("state", "") == "finished" && method < of.size();
            const json accuracy = finished ? of[method].value("mean_accuracy", json()) : json();
            if (accuracy.is_number()) {
                sum += accuracy.get<double>();
                ++count;
            }
            cells.push_back(accuracy);
        }
        rows.push_back({{"method", methods[method]},
                        {"mean_accuracy", std::move(cells)},
                        {"average", count > 0 ? json(sum / count) : json(nullptr)}});
    }
    return {{"benchmarks", std::move(labels)}, {"rows", std::move(rows)}};
}

}  // namespace lpes::studies
