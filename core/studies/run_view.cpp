#include "core/studies/run_view.h"

#include <algorithm>

namespace lpes::studies {

using nlohmann::json;

json parseObject(const std::string& text) {
    json parsed = json::parse(text, nullptr, false);
    return parsed.is_object() ? parsed : json::object();
}

std::vector<double> numbers(const json& array) {
    std::vector<double> out;
    for (const json& value : array) {
        if (value.is_number()) out.push_back(value.get<double>());
    }
    return out;
}

std::vector<double> scalesOf(const json& best) {
    std::vector<double> scales;
    for (const json& scale : best.value("scales", json::array())) {
        const std::vector<double> row = scale.is_array() ? numbers(scale) : numbers(json::array({scale}));
        scales.insert(scales.end(), row.begin(), row.end());
    }
    return scales;
}

curve::ScaleGroups groupsOf(const json& settings, std::size_t scales, std::int64_t layers) {
    auto groups = curve::parseGroups(settingOr<std::string>(settings, "per", "layer"));
    if (!groups || layers < 1) return {};
    const auto each = static_cast<int>(scales / static_cast<std::size_t>(layers));
    if (groups->kind == curve::ScaleGroups::Kind::KvHead) groups->heads = each;
    return groups->count() == each && each > 0 ? *groups : curve::ScaleGroups{};
}

Result<RunView> viewOf(store::StoreReader& store, const store::RunRow& run) {
    RunView view;
    view.run = run;
    auto model = store.model(run.modelId);
    if (!model) return fail(model.error());
    auto dataset = store.dataset(run.datasetId);
    if (!dataset) return fail(dataset.error());
    auto variants = store.variants(run.id);
    if (!variants) return fail(variants.error());
    view.model = std::move(*model);
    view.dataset = std::move(*dataset);
    view.variants = std::move(*variants);
    // What a series is compared with is drawn and listed first; a comparison has its own order.
    if (run.kind != "compare")
        std::ranges::stable_partition(view.variants,
                                      [](const store::VariantRow& row) { return row.name == "baseline"; });
    view.result = parseObject(run.resultJson);
    view.settings = parseObject(run.settingsJson);
    if (const auto best = view.result.find("best");
        best != view.result.end() && best->is_object() && best->contains("scales")) {
        const std::vector<double> scales = scalesOf(*best);
        const auto it = std::ranges::find(view.variants, scales, &store::VariantRow::scales);
        if (it != view.variants.end()) view.bestVariant = it->id;
    }
    return view;
}

tl::unexpected<Error> noData(const RunView& view, const char* kind, const char* why) {
    return fail(ErrorCode::Failed, fmt::format("run {} has no {} plot: {}", view.run.id, kind, why));
}

Result<std::optional<store::CandidateRow>> bestCandidate(store::StoreReader& store, std::int64_t runId) {
    auto candidates = store.candidates(runId);
    if (!candidates) return fail(candidates.error());
    std::optional<store::CandidateRow> best;
    for (const store::CandidateRow& row : *candidates) {
        if (row.state == store::CandidateRow::State::Evaluated && (!best || row.fitness > best->fitness)) best = row;
    }
    return best;
}

bool changesNothing(const store::VariantRow& variant) {
    return std::ranges::all_of(variant.scales, [](double scale) { return scale == 1.0; });
}

}  // namespace lpes::studies
