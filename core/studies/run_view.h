#pragma once

// Private to core/studies.

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/analysis/position_accuracy.h"
#include "core/base/result.h"
#include "core/curve/scale_groups.h"
#include "core/store/store.h"

namespace lpes::studies {

/// A profile is drawn as what a search found, one that was drawn by hand as the current curve; rivals as others.
[[nodiscard]] analysis::SeriesRole methodRole(const std::string& spelling);

/// What every plot of a run says about itself, and which variant plays which role.
struct RunView {
    store::RunRow run;
    store::ModelRow model;
    store::DatasetRow dataset;
    std::vector<store::VariantRow> variants;
    nlohmann::json result;    ///< object, maybe empty
    nlohmann::json settings;  ///< object
    std::optional<std::int64_t> bestVariant;

    [[nodiscard]] std::string subtitle(std::int64_t items) const {
        return fmt::format("{} · {}{} · run {}", model.name, dataset.name,
                           items > 0 ? fmt::format(" · n = {} items", items) : "", run.id);
    }
    [[nodiscard]] analysis::SeriesRole role(const store::VariantRow& variant) const {
        if (bestVariant == variant.id) return analysis::SeriesRole::Best;
        if (variant.name == "baseline") return analysis::SeriesRole::Baseline;
        if (run.kind == "compare") return methodRole(variant.name);
        return run.kind == "search" ? analysis::SeriesRole::Other : analysis::SeriesRole::Current;
    }
    [[nodiscard]] std::string name(const store::VariantRow& variant) const {
        return bestVariant == variant.id ? "best profile" : variant.name;
    }
};

/// The text as an object; an empty one when it is none.
[[nodiscard]] nlohmann::json parseObject(const std::string& text);
/// The numbers of an array, in order.
[[nodiscard]] std::vector<double> numbers(const nlohmann::json& array);

/// The scales of a search's "best": [L], or rows [L][G] as [L·G].
[[nodiscard]] std::vector<double> scalesOf(const nlohmann::json& best);
/// What the scales of a search belong to besides their layer, by its settings. How many heads there are follows from
/// the number of `scales` of a candidate; a scale per layer where the two contradict each other.
[[nodiscard]] curve::ScaleGroups groupsOf(const nlohmann::json& settings, std::size_t scales, std::int64_t layers);

[[nodiscard]] Result<RunView> viewOf(store::StoreReader& store, const store::RunRow& run);
[[nodiscard]] tl::unexpected<Error> noData(const RunView& view, const char* kind, const char* why);

/// The value of a stored setting ({"value": …, "origin": …}); `otherwise` where it is missing, null or of another type.
template <class T>
[[nodiscard]] T settingOr(const nlohmann::json& settings, const char* key, T otherwise) {
    const auto it = settings.find(key);
    if (it == settings.end() || !it->is_object() || !it->contains("value")) return otherwise;
    const nlohmann::json& value = (*it)["value"];
    try {
        return value.is_null() ? otherwise : value.get<T>();
    } catch (const nlohmann::json::exception&) {
        return otherwise;
    }
}

/// The evaluated candidate with the best fitness so far; nothing before there is one.
[[nodiscard]] Result<std::optional<store::CandidateRow>> bestCandidate(store::StoreReader& store, std::int64_t runId);
/// All scales 1.0, which gives the bits of no profile.
[[nodiscard]] bool changesNothing(const store::VariantRow& variant);

/// What the methods of a comparison scored so far, in the methods' order.
struct MethodOutcomes {
    std::string name;
    std::int64_t variantId = 0;
    std::vector<analysis::ItemOutcome> outcomes;  ///< as keepSharedItems leaves them
};
[[nodiscard]] Result<std::vector<MethodOutcomes>> sharedOutcomes(store::StoreReader& store, const RunView& view);
/// As the settings name them; empty when those are damaged.
[[nodiscard]] std::vector<std::string> positionLabels(const RunView& view);
/// Is this a comparison whose result is not there yet, or no longer that of its items?
[[nodiscard]] bool isUnderWay(const RunView& view);

/// What fitness is in words, with its unit, by the name of its score.
[[nodiscard]] std::string fitnessLabel(const std::string& score);

/// The methods of a comparison: as its result has them; under way, what the items so far say.
[[nodiscard]] Result<analysis::PlotData> methodsPlot(store::StoreReader& store, const RunView& view);

/// Accuracy by position: of an evaluation its items, of a search the held-out items of baseline and winner; before
/// those are reported, the search items of the unchanged model and of the best so far, and says so.
[[nodiscard]] Result<analysis::PlotData> accuracyPlot(store::StoreReader& store, const RunView& view);

/// How the likelihood hangs on every layer's scale, by position: of a finished search with a scale per layer.
[[nodiscard]] Result<analysis::PlotData> sensitivityPlot(store::StoreReader& store, const RunView& view);

/// The candidates of a search with several objectives, and the front that they make so far.
[[nodiscard]] Result<analysis::PlotData> paretoPlot(store::StoreReader& store, const RunView& view);

}  // namespace lpes::studies
