#include <array>
#include <string_view>
#include <utility>

#include "core/exporters/guarded_json.h"
#include "core/exporters/profile.h"

namespace lpes::exporters {
namespace {

using nlohmann::json;

json orNull(const std::string& text) {
    return text.empty() ? json() : json(text);
}

/// The block as a JSON value; as a text when it is not JSON (or is a text), so that nothing is lost.
json ropeBlock(const std::string& rope) {
    Result<json> block = parseGuarded(rope, "rope");
    return block && !block->is_string() ? std::move(*block) : json(rope);
}

json modelObject(const ProfileModel& model) {
    json object{{"architecture", orNull(model.architecture)}, {"fingerprint", orNull(model.fingerprint)}};
    object["layers"] = model.layers > 0 ? json(model.layers) : json();
    object["head_dim"] = model.headDim > 0 ? json(model.headDim) : json();
    object["rope_theta"] = model.ropeTheta > 0.0 ? json(model.ropeTheta) : json();
    if (!model.rope.empty()) object["rope"] = ropeBlock(model.rope);
    return object;
}

json curveObject(const std::optional<Profile::Curve>& curve) {
    if (!curve) return {};
    json points = json::array();
    for (const curve::ControlPoint& point : curve->points) points.push_back(json::array({point.x, point.y}));
    return {{"kind", curve::curveKindName(curve->kind)}, {"points", std::move(points)}};
}

json constraintsObject(const std::optional<curve::Constraints>& bounds) {
    if (!bounds) return {};
    return {{"min", bounds->scaleMin},
            {"max", bounds->scaleMax},
            {"step", bounds->gridStep ? json(*bounds->gridStep) : json()}};
}

/// Several lines for objects that people read, one line for numbers.
std::string valueText(std::string_view key, const json& value) {
    const bool oneLine = key == "scales" || key == "curve" || key == "constraints" || value.empty();
    const std::string text = value.dump(oneLine ? -1 : 2, ' ', false, json::error_handler_t::replace);
    std::string indented;
    for (const char c : text) {  // a line break inside a text is escaped, so these are all between values
        indented += c;
        if (c == '\n') indented += "  ";
    }
    return indented;
}

}  // namespace

std::string toJson(const Profile& profile) {
    // The order in which a reader wants them, which the JSON library would not keep.
    std::array<std::pair<const char*, json>, 8> known{{{"format", "lpes-profile"},
                                                       {"version", profile.version},
                                                       {"model", modelObject(profile.model)},
                                                       {"scales", profile.scales},
                                                       {"curve", curveObject(profile.curve)},
                                                       {"constraints", constraintsObject(profile.constraints)},
                                                       {"provenance", profile.provenance},
                                                       {"tool_version", orNull(profile.toolVersion)}}};
    std::string out = "{";
    const auto put = [&out](std::string_view key, const json& value) {
        out += out.size() > 1 ? ",\n  " : "\n  ";
        out += json(key).dump(-1, ' ', false, json::error_handler_t::replace) + ": " + valueText(key, value);
    };
    json rest = profile.extra.is_object() ? profile.extra : json::object();
    for (auto& [key, value] : known) {
        if (const auto nested = rest.find(key); nested != rest.end()) {
            if (value.is_object() && nested->is_object()) {
                for (const auto& [name, kept] : nested->items()) value.emplace(name, kept);  // never over a known key
            }
            rest.erase(nested);
        }
        put(key, value);
    }
    for (const auto& [key, value] : rest.items()) put(key, value);
    return out + "\n}\n";
}

}  // namespace lpes::exporters
