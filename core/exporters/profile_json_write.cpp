#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

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

json modelObject(const Profile& profile) {
    const ProfileModel& model = profile.model;
    json object{{"architecture", orNull(model.architecture)}, {"fingerprint", orNull(model.fingerprint)}};
    object["layers"] = model.layers > 0 ? json(model.layers) : json();
    object["head_dim"] = model.headDim > 0 ? json(model.headDim) : json();
    object["rope_theta"] = model.ropeTheta > 0.0 ? json(model.ropeTheta) : json();
    if (profile.groups.kind == curve::ScaleGroups::Kind::KvHead) object["kv_heads"] = profile.groups.heads;
    if (!model.rope.empty()) object["rope"] = ropeBlock(model.rope);
    return object;
}

json curveObject(const Profile::Curve& curve) {
    json points = json::array();
    for (const curve::ControlPoint& point : curve.points) points.push_back(json::array({point.x, point.y}));
    return {{"kind", curve::curveKindName(curve.kind)}, {"points", std::move(points)}};
}

/// "curve", or "curves" where there are several.
std::pair<const char*, json> curveField(const Profile& profile) {
    if (profile.groups.perLayer()) return {"curve", profile.curve ? curveObject(*profile.curve) : json()};
    if (profile.curves.empty()) return {"curves", json()};
    json curves = json::array();
    for (const Profile::Curve& curve : profile.curves) curves.push_back(curveObject(curve));
    return {"curves", std::move(curves)};
}

json constraintsObject(const std::optional<curve::Constraints>& bounds) {
    if (!bounds) return {};
    return {{"min", bounds->scaleMin},
            {"max", bounds->scaleMax},
            {"step", bounds->gridStep ? json(*bounds->gridStep) : json()}};
}

std::string dumped(const json& value, int indent = -1) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

/// A line for each element.
std::string linesOf(const json& rows) {
    std::string text = "[";
    for (std::size_t i = 0; i < rows.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + dumped(rows[i]);
    return text + "\n  ]";
}

/// Several lines for objects that people read and for what each layer or group has, one line for numbers.
std::string valueText(std::string_view key, const json& value) {
    if ((key == "scales" || key == "curves") && !value.empty() && value.front().is_structured()) return linesOf(value);
    const bool oneLine =
        key == "scales" || key == "curve" || key == "constraints" || key == "band_ends" || value.empty();
    const std::string text = dumped(value, oneLine ? -1 : 2);
    std::string indented;
    for (const char c : text) {  // a line break inside a text is escaped, so these are all between values
        indented += c;
        if (c == '\n') indented += "  ";
    }
    return indented;
}

/// What a reader did not know, into the object that it was in; never over a known key. "curves" has one for each group.
void addKept(json& value, const json& kept) {
    if (value.is_object() && kept.is_object()) {
        for (const auto& [name, one] : kept.items()) value.emplace(name, one);
    } else if (value.is_array() && kept.is_array() && value.size() == kept.size()) {
        for (std::size_t i = 0; i < value.size(); ++i) addKept(value[i], kept[i]);
    }
}

}  // namespace

json scalesJson(const Profile& profile) {
    return profile.groups.perLayer() ? json(profile.scales)
                                     : json(curve::layerRows(profile.scales, std::max(1, profile.groups.count())));
}

std::string toJson(const Profile& profile) {
    // The order in which a reader wants them, which the JSON library would not keep.
    std::vector<std::pair<const char*, json>> known{
        {"format", "lpes-profile"}, {"version", profile.version}, {"model", modelObject(profile)}};
    if (!profile.groups.perLayer()) known.emplace_back("per", kPerNames[static_cast<std::size_t>(profile.groups.kind)]);
    if (profile.groups.kind == curve::ScaleGroups::Kind::Band) known.emplace_back("band_ends", profile.groups.bandEnds);
    known.emplace_back("scales", scalesJson(profile));
    known.push_back(curveField(profile));
    known.emplace_back("constraints", constraintsObject(profile.constraints));
    known.emplace_back("provenance", profile.provenance);
    known.emplace_back("tool_version", orNull(profile.toolVersion));
    std::string out = "{";
    const auto put = [&out](std::string_view key, const json& value) {
        out += out.size() > 1 ? ",\n  " : "\n  ";
        out += dumped(json(key)) + ": " + valueText(key, value);
    };
    json rest = profile.extra.is_object() ? profile.extra : json::object();
    for (auto& [key, value] : known) {
        if (const auto nested = rest.find(key); nested != rest.end()) {
            addKept(value, *nested);
            rest.erase(nested);
        }
        put(key, value);
    }
    for (const auto& [key, value] : rest.items()) put(key, value);
    return out + "\n}\n";
}

}  // namespace lpes::exporters
