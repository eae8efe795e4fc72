#include "core/studies/suite_parts.h"

#include <optional>
#include <vector>

#include "core/analysis/statistics.h"
#include "core/studies/json_rows.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// A method's stored result in a benchmark that has finished, else null.
json finishedMethod(const json& part, std::size_t method) {
    const json methods = part.value("methods", json::array());
    const bool finished = part.value("state", "") == "finished" && methods.is_array() && method < methods.size();
    return finished ? methods[method] : json();
}

std::optional<analysis::Interval> intervalOf(const json& stored) {
    const json interval = stored.value("mean_accuracy_interval", json());
    if (!interval.is_object()) return std::nullopt;
    const json low = interval.value("low", json()), high = interval.value("high", json());
    if (!low.is_number() || !high.is_number()) return std::nullopt;
    return analysis::Interval{low.get<double>(), high.get<double>()};
}

json rowOf(const std::string& method, std::size_t number, const json& parts) {
    json cells = json::array(), intervals = json::array();
    std::vector<double> means;
    std::vector<analysis::Interval> known;
    for (const json& part : parts) {
        const json stored = finishedMethod(part, number);
        const json accuracy = stored.is_object() ? stored.value("mean_accuracy", json()) : json();
        const auto interval = stored.is_object() ? intervalOf(stored) : std::nullopt;
        if (accuracy.is_number()) means.push_back(accuracy.get<double>());
        if (accuracy.is_number() && interval) known.push_back(*interval);
        cells.push_back(accuracy);
        intervals.push_back(interval ? intervalJson(interval) : json());
    }
    const auto average = known.size() == means.size() ? analysis::meanOfEstimatesInterval(means, known) : std::nullopt;
    return {{"method", method},
            {"mean_accuracy", std::move(cells)},
            {"intervals", std::move(intervals)},
            {"average", means.empty() ? json() : json(analysis::mean(means))},
            {"average_interval", average ? intervalJson(average) : json()}};
}

}  // namespace

json suiteTableJson(std::span<const std::string> methods, const json& parts) {
    json labels = json::array(), rows = json::array();
    for (const json& part : parts) labels.push_back(part.at("label"));
    for (std::size_t method = 0; method < methods.size(); ++method)
        rows.push_back(rowOf(methods[method], method, parts));
    return {{"benchmarks", std::move(labels)}, {"rows", std::move(rows)}};
}

}  // namespace lpes::studies
