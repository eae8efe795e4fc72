#include "core/studies/suite_parts.h"

namespace lpes::studies {

using nlohmann::json;

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
