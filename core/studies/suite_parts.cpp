#include "core/studies/suite_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/analysis/statistics.h"
#include "core/studies/json_rows.h"
#include "core/studies/suite_study.h"

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

/// Null: nobody knows, or it has not finished.
json heldOut(const json& stored) {
    if (!stored.is_object()) return nullptr;
    // Of a method with several files one may be known to have seen items, whatever the others do not say.
    if (stored.value("searched_on", json()).is_object()) return false;
    return stored.value("provenance", json()) == json("unknown") ? json() : json(true);
}

/// Of a mean over cells.
json allHeldOut(const std::vector<json>& cells) {
    if (std::ranges::find(cells, json(false)) != cells.end()) return false;
    return cells.empty() || std::ranges::find(cells, json()) != cells.end() ? json() : json(true);
}

bool isFinished(const json& parts, const std::string& label) {
    return std::ranges::any_of(
        parts, [&](const json& part) { return part.at("label") == label && part.value("state", "") == "finished"; });
}

json rowOf(const std::string& method, std::size_t number, const json& parts, bool independent) {
    json cells = json::array(), intervals = json::array(), apart = json::array();
    std::vector<json> apartOfMean;
    std::vector<double> means;
    std::vector<analysis::Interval> known;
    for (const json& part : parts) {
        const json stored = finishedMethod(part, number);
        const json accuracy = stored.is_object() ? stored.value("mean_accuracy", json()) : json();
        const auto interval = stored.is_object() ? intervalOf(stored) : std::nullopt;
        if (accuracy.is_number()) means.push_back(accuracy.get<double>());
        if (accuracy.is_number() && interval) known.push_back(*interval);
        apart.push_back(heldOut(stored));
        if (accuracy.is_number()) apartOfMean.push_back(apart.back());
        cells.push_back(accuracy);
        intervals.push_back(interval ? intervalJson(interval) : json());
    }
    const bool complete = independent && known.size() == means.size();
    const auto average = complete ? analysis::meanOfEstimatesInterval(means, known) : std::nullopt;
    return {{"method", method},
            {"mean_accuracy", std::move(cells)},
            {"intervals", std::move(intervals)},
            {"average", means.empty() ? json() : json(analysis::mean(means))},
            {"average_interval", average ? intervalJson(average) : json()},
            {"held_out", std::move(apart)},
            {"average_held_out", allHeldOut(apartOfMean)}};
}

}  // namespace

json suiteTableJson(std::span<const std::string> methods, const json& parts,
                    std::span<const std::pair<std::string, std::string>> sharedItems) {
    json labels = json::array(), rows = json::array(), shared = json::array();
    for (const json& part : parts) labels.push_back(part.at("label"));
    for (const auto& [one, other] : sharedItems) {
        if (isFinished(parts, one) && isFinished(parts, other)) shared.push_back(json::array({one, other}));
    }
    for (std::size_t method = 0; method < methods.size(); ++method)
        rows.push_back(rowOf(methods[method], method, parts, shared.empty()));
    return {{"benchmarks", std::move(labels)}, {"rows", std::move(rows)}, {"shared_items", std::move(shared)}};
}

std::string averageNote(const json& table) {
    const json shared = table.value("shared_items", json::array());
    if (shared.empty()) return {};
    const json& first = shared[0];
    return fmt::format(
        "The average has no interval: it would take the benchmarks for independent, and '{}' and '{}'{} ask some of "
        "the same items.",
        first[0].get<std::string>(), first[1].get<std::string>(), shared.size() > 1 ? ", among others," : "");
}

std::string heldOutNote(const json& table) {
    const json rows = table.value("rows", json::array());
    const bool all = std::ranges::none_of(rows, [](const json& row) {
        const json cells = row.value("held_out", json::array());
        return std::ranges::find(cells, json(false)) != cells.end();
    });
    if (all) return {};
    return fmt::format(
        "{} NOT HELD OUT: the method's profile was searched on items of the benchmark, and its result there is too "
        "good, "
        "as is an average over it; what is said of the benchmark has the profile and the number of items.",
        kNotHeldOutMark);
}

}  // namespace lpes::studies
