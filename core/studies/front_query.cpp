#include "core/studies/front_query.h"

#include <fmt/format.h>

#include "core/studies/run_view.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

std::vector<curve::ControlPoint> controlPoints(const json& pairs) {
    std::vector<curve::ControlPoint> points;
    for (const json& pair : pairs) points.push_back({pair.at(0).get<double>(), pair.at(1).get<double>()});
    return points;
}

/// The run's own profile with another member's scales, curves and figures.
void becomes(exporters::Profile& profile, const json& member, std::size_t members) {
    profile.scales = scalesOf(member);
    const json& points = member.at("control_points");
    if (profile.curve) profile.curve->points = controlPoints(points);
    for (std::size_t group = 0; group < profile.curves.size(); ++group)
        profile.curves[group].points = controlPoints(points.at(group));
    json& provenance = profile.provenance;
    provenance["fitness"] = member.at("fitness");
    provenance["front"] = {{"number", member.at("number")}, {"of", members}, {"objectives", member.at("objectives")}};
    if (member.value("picked", false)) return;  // everything else is its own
    provenance["select_fitness"] = nullptr;
    provenance["guardrail"] = nullptr;
    const json heldout = member.value("heldout", json());
    if (!heldout.is_object()) {
        provenance["heldout"] = {
            {"better", false}, {"measured", false}, {"verdict", "the held-out items were not asked"}};
        return;
    }
    const json own = provenance.at("heldout");
    provenance["heldout"] = heldout;
    provenance["heldout"]["baseline"] = own.value("baseline", json());
    // Its items are those of the run.
    provenance["heldout"]["best"]["searched_on"] = own.value("best", json::object()).value("searched_on", json());
}

}  // namespace

Result<exporters::Profile> profileOfFront(store::StoreReader& store, const store::RunRow& run, std::int64_t number) {
    const auto profiles = store.profiles(run.id);
    if (!profiles) return fail(profiles.error());
    return profileOfFront(run, profiles->empty() ? std::string() : profiles->back().json, number);
}

Result<exporters::Profile> profileOfFront(const store::RunRow& run, const std::string& profileJson,
                                          std::int64_t number) {
    const json front = parseObject(run.resultJson).value("front", json::array());
    if (front.empty() || profileJson.empty()) {
        return fail(
            ErrorCode::Usage,
            fmt::format("run {} has no front to pick from; a finished search with --objectives has one", run.id));
    }
    if (number < 1 || static_cast<std::size_t>(number) > front.size()) {
        return fail(ErrorCode::Usage, fmt::format("{} is no member of the front of run {}; pick a number from 1 to {}",
                                                  number, run.id, front.size()));
    }
    auto loaded = exporters::profileFromJson(profileJson, fmt::format("profile of run {}", run.id));
    if (!loaded) return fail(loaded.error());
    try {
        becomes(loaded->profile, front[static_cast<std::size_t>(number - 1)], front.size());
    } catch (const json::exception& error) {
        return fail(ErrorCode::Database, fmt::format("the front of run {} is damaged; check the data base", run.id),
                    error.what());
    }
    return std::move(loaded->profile);
}

}  // namespace lpes::studies
