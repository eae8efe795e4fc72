#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/exporters/guarded_json.h"
#include "core/exporters/profile.h"
#include "core/rope/rope_config.h"

namespace lpes::exporters {
namespace {

using nlohmann::json;

/// Reads one parsed file, field by field. The first fault ends the reading.
class Reader {
  public:
    explicit Reader(const std::string& origin) : m_origin(origin) {}

    [[nodiscard]] Result<LoadedProfile> read(const json& root) {
        if (!root.is_object()) return bad(fmt::format("holds {} instead of a profile object", shown(root)));
        for (const auto step : {&Reader::readHeader, &Reader::readGroups, &Reader::readModel, &Reader::readScales,
                                &Reader::readConstraints, &Reader::readCurves, &Reader::readRest}) {
            if (Result<void> done = (this->*step)(root); !done) return fail(done.error());
        }
        warnOfUnknownKeys();
        return std::move(m_loaded);
    }

  private:
    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const {
        return fail(ErrorCode::BadInput, fmt::format("{}: {}", m_origin, what));
    }
    [[nodiscard]] tl::unexpected<Error> wrong(std::string_view field, const json& value,
                                              std::string_view wanted) const {
        return bad(fmt::format("'{}' is {}; it must be {}", field, shown(value), wanted));
    }
    [[nodiscard]] static const json* find(const json& object, const char* key) {
        const auto it = object.find(key);
        return it == object.end() || it->is_null() ? nullptr : &*it;
    }

    Result<void> readHeader(const json& root) {
        const json* format = find(root, "format");
        if (format == nullptr || *format != "lpes-profile") {
            return bad(fmt::format("'format' is {} instead of \"lpes-profile\"; this is not a profile of this program",
                                   format == nullptr ? "missing" : shown(*format)));
        }
        const json* version = find(root, "version");
        if (version == nullptr) return bad("'version' is missing; this is not a complete profile");
        if (!version->is_number_integer() || version->get<double>() < 1)
            return wrong("version", *version, "a whole number from 1");
        if (version->get<double>() > kProfileVersion) {
            return bad(
                fmt::format("'version' is {} and this program knows profiles up to version {}; use a newer program",
                            shown(*version), kProfileVersion));
        }
        m_loaded.profile.version = version->get<int>();
        return {};
    }

    Result<void> readText(const json& object, const char* key, const std::string& field, std::string& target) {
        const json* value = find(object, key);
        if (value == nullptr) return {};
        if (!value->is_string()) return wrong(field, *value, "a text");
        target = value->get<std::string>();
        return {};
    }

    Result<void> readCount(const json& object, const char* key, int largest, int& target) {
        const json* value = find(object, key);
        if (value == nullptr) return {};
        if (!value->is_number_integer() || value->get<double>() < 1 || value->get<double>() > largest) {
            return wrong(fmt::format("model.{}", key), *value, fmt::format("a whole number from 1 to {}", largest));
        }
        target = value->get<int>();
        return {};
    }

    [[nodiscard]] curve::ScaleGroups& groups() { return m_loaded.profile.groups; }
    [[nodiscard]] bool byHead() { return groups().kind == curve::ScaleGroups::Kind::KvHead; }

    Result<void> readGroups(const json& root) {
        const json* per = find(root, "per");
        if (per == nullptr) return {};
        const auto found =
            std::find_if(kPerNames.begin(), kPerNames.end(), [&](const char* name) { return *per == name; });
        if (found == kPerNames.end()) return wrong("per", *per, "\"layer\", \"kv_head\" or \"band\"");
        groups().kind = static_cast<curve::ScaleGroups::Kind>(found - kPerNames.begin());
        if (groups().kind != curve::ScaleGroups::Kind::Band) return {};
        const json* ends = find(root, "band_ends");
        constexpr const char* kWanted =
            "an array with the first frequency behind each band, up to half of what a head rotates";
        if (ends == nullptr)
            return bad(fmt::format("'band_ends' is missing; with \"per\": \"band\" it must be {}", kWanted));
        if (!ends->is_array() || ends->size() > static_cast<std::size_t>(curve::kMaxGroupFrequencies)) {
            return wrong("band_ends", *ends, kWanted);
        }
        for (const json& end : *ends) {
            if (!end.is_number_integer() || end.get<double>() < 1 || end.get<double>() > curve::kMaxGroupFrequencies) {
                return wrong(fmt::format("band_ends[{}]", groups().bandEnds.size()), end,
                             fmt::format("a whole number from 1 to {}", curve::kMaxGroupFrequencies));
            }
            groups().bandEnds.push_back(end.get<int>());
        }
        if (const auto broken = curve::violation(groups())) return bad(fmt::format("'band_ends': {}", *broken));
        m_loaded.profile.model.frequencies = groups().bandEnds.back();
        return {};
    }

    Result<void> readModel(const json& root) {
        if (!root.contains("model")) {
            m_loaded.warnings.push_back(fmt::format(
                "{}: names no model, so nothing but the number of layers can be checked before it is applied",
                m_origin));
        }
        const json* model = find(root, "model");
        if (model == nullptr) return {};
        if (!model->is_object()) return wrong("model", *model, "an object");
        ProfileModel& to = m_loaded.profile.model;
        if (auto done = readText(*model, "architecture", "model.architecture", to.architecture); !done) return done;
        if (auto done = readText(*model, "fingerprint", "model.fingerprint", to.fingerprint); !done) return done;
        if (auto done = readCount(*model, "layers", kMaxProfileLayers, to.layers); !done) return done;
        if (auto done = readCount(*model, "head_dim", 1 << 20, to.headDim); !done) return done;
        if (byHead()) {
            if (auto done = readCount(*model, "kv_heads", curve::kMaxGroupHeads, to.kvHeads); !done) return done;
            groups().heads = to.kvHeads;
        }
        if (const json* theta = find(*model, "rope_theta")) {
            if (!theta->is_number() || !(theta->get<double>() > 0.0)) {
                return wrong("model.rope_theta", *theta, "a positive number");
            }
            to.ropeTheta = theta->get<double>();
        }
        if (const auto rope = model->find("rope"); rope != model->end()) {
            // A block that is no JSON value of its own was written as a text.
            to.rope = rope->is_string() ? rope->get<std::string>() : rope->dump();
        }
        // What says nothing of a scale per layer stays what it always was there: a key of another program.
        keepUnknown(*model, "model",
                    {"architecture", "fingerprint", "layers", "head_dim", "rope_theta", "rope",
                     byHead() ? "kv_heads" : "rope"});
        return {};
    }

    Result<void> readScales(const json& root) {
        const json* scales = find(root, "scales");
        if (scales == nullptr) return bad("'scales' is missing; a profile has one scale per layer");
        if (!scales->is_array() || scales->empty()) {
            return wrong(
                "scales", *scales,
                groups().perLayer() ? "an array with one number per layer" : "an array with one row per layer");
        }
        int& layers = m_loaded.profile.model.layers;
        if (layers == 0 && scales->size() > static_cast<std::size_t>(kMaxProfileLayers)) {
            return wrong("scales", *scales, fmt::format("at most {} layers long", kMaxProfileLayers));
        }
        if (layers == 0) layers = static_cast<int>(scales->size());
        if (scales->size() != static_cast<std::size_t>(layers)) {
            return bad(fmt::format("'scales' has {} values and 'model.layers' is {}; there must be one {} per layer",
                                   scales->size(), layers, groups().perLayer() ? "scale" : "row of scales"));
        }
        return groups().perLayer() ? readLayerScales(*scales) : readRows(*scales);
    }

    Result<void> readLayerScales(const json& scales) {
        std::vector<double>& to = m_loaded.profile.scales;
        for (const json& scale : scales) {
            if (scale.is_array()) {
                return bad(
                    fmt::format("layer {} has several scales, which need \"per\": \"kv_head\" (one per KV head) or "
                                "\"per\": \"band\"; add it, or give one number per layer",
                                to.size()));
            }
            if (!scale.is_number()) {
                return bad(fmt::format("the scale of layer {} is {}; it must be a finite number from {} to {}",
                                       to.size(), shown(scale), rope::kMinScale, rope::kMaxScale));
            }
            to.push_back(scale.get<double>());
        }
        if (Result<void> valid = rope::checkScales(to, m_loaded.profile.model.layers); !valid)
            return bad(valid.error().message);
        return {};
    }

    Result<void> readRows(const json& rows) {
        for (std::size_t layer = 0; layer < rows.size(); ++layer) {
            const json& row = rows[layer];
            if (!row.is_array()) {
                return bad(fmt::format("the scales of layer {} are {}; with \"per\": \"{}\" a layer has a row of them",
                                       layer, shown(row), kPerNames[static_cast<std::size_t>(groups().kind)]));
            }
            // A profile that does not name the heads of its model has as many as its first layer.
            if (byHead() && groups().heads == 0 && row.size() <= static_cast<std::size_t>(curve::kMaxGroupHeads)) {
                groups().heads = m_loaded.profile.model.kvHeads = static_cast<int>(row.size());
            }
            if (const auto broken = curve::violation(groups())) return bad(fmt::format("'scales': {}", *broken));
            if (row.size() != static_cast<std::size_t>(groups().count())) {
                return bad(fmt::format("layer {} has {} scales and there are {} {}; give one for each", layer,
                                       row.size(), groups().count(), byHead() ? "key/value heads" : "bands"));
            }
            for (const json& scale : row) {
                const double value = scale.is_number() ? scale.get<double>() : 0.0;
                if (!std::isfinite(value) || value < rope::kMinScale || value > rope::kMaxScale) {
                    const auto group = static_cast<int>(m_loaded.profile.scales.size()) % groups().count();
                    return bad(fmt::format("the scale of layer {}, {} is {}; it must be a finite number from {} to {}",
                                           layer, curve::groupName(groups(), group), shown(scale), rope::kMinScale,
                                           rope::kMaxScale));
                }
                m_loaded.profile.scales.push_back(value);
            }
        }
        return {};
    }

    Result<void> readConstraints(const json& root) {
        const json* bounds = find(root, "constraints");
        if (bounds == nullptr) return {};
        if (!bounds->is_object()) return wrong("constraints", *bounds, "an object");
        curve::Constraints to;
        for (const auto& [key, target] : {std::pair{"min", &to.scaleMin}, std::pair{"max", &to.scaleMax}}) {
            const json* value = find(*bounds, key);
            if (value == nullptr) return bad(fmt::format("'constraints.{}' is missing; it must be a number", key));
            if (!value->is_number()) return wrong(fmt::format("constraints.{}", key), *value, "a number");
            *target = value->get<double>();
        }
        to.gridStep.reset();
        if (const json* step = find(*bounds, "step")) {
            if (!step->is_number()) return wrong("constraints.step", *step, "a number, or null for no grid");
            to.gridStep = step->get<double>();
        }
        const std::vector<curve::ControlPoint> widest{{0.0, to.scaleMin}, {1.0, to.scaleMax}};
        if (const auto broken = curve::violation(curve::CurveKind::Linear, widest, to)) {
            return bad(fmt::format("'constraints' cannot be met: {}", *broken));
        }
        m_loaded.profile.constraints = to;
        keepUnknown(*bounds, "constraints", {"min", "max", "step"});
        return {};
    }

    /// "curve", or "curves" with one for each group.
    Result<void> readCurves(const json& root) {
        const bool one = groups().perLayer();
        const std::string key = one ? "curve" : "curves";
        if (!root.contains(key)) {
            m_loaded.warnings.push_back(
                fmt::format("{}: has no {}, so it cannot be carried to another number of layers", m_origin, key));
        }
        if (!one && find(root, "curve") != nullptr) {
            return bad(
                fmt::format("'curve' is given and there are {} groups of scales; give 'curves' with one for each",
                            groups().count()));
        }
        const json* found = find(root, key.c_str());
        if (found == nullptr) return {};
        if (one) {
            auto curve = readCurve(*found, key, 0);
            if (!curve) return fail(curve.error());
            m_loaded.profile.curve = std::move(*curve);
            keepUnknown(*found, "curve", {"kind", "points"});
            return {};
        }
        if (!found->is_array() || found->size() != static_cast<std::size_t>(groups().count())) {
            return wrong(key, *found, fmt::format("an array of {} curves, one for each group", groups().count()));
        }
        for (const json& read : *found) {
            const auto group = static_cast<int>(m_loaded.profile.curves.size());
            const std::string field = fmt::format("curves[{}]", group);
            auto curve = readCurve(read, field, group);
            if (!curve) return fail(curve.error());
            m_loaded.profile.curves.push_back(std::move(*curve));
            keepUnknownOfCurve(read, field, *found);
        }
        return {};
    }

    Result<Profile::Curve> readCurve(const json& found, const std::string& field, int group) {
        if (!found.is_object()) return wrong(field, found, "an object");
        std::string kindName;
        if (auto done = readText(found, "kind", field + ".kind", kindName); !done) return fail(done.error());
        const Result<curve::CurveKind> kind = curve::parseCurveKind(kindName);
        if (!kind) {
            return bad(
                fmt::format("'{}.kind' is {}; it must be {}", field, shownText(kindName), curve::curveKindNames()));
        }
        const json* points = find(found, "points");
        if (points == nullptr || !points->is_array() || points->size() > static_cast<std::size_t>(kMaxProfileLayers)) {
            return wrong(field + ".points", points == nullptr ? json() : *points, "an array of [x, y] pairs");
        }
        Profile::Curve to{*kind, {}};
        for (const json& point : *points) {
            if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number()) {
                return wrong(fmt::format("{}.points[{}]", field, to.points.size()), point, "a pair of numbers [x, y]");
            }
            to.points.push_back({point[0].get<double>(), point[1].get<double>()});
        }
        if (Result<void> valid = checkCurve(to, field, group); !valid) return fail(valid.error());
        return to;
    }

    Result<void> checkCurve(const Profile::Curve& read, const std::string& field, int group) {
        const Profile& profile = m_loaded.profile;
        const auto layers = static_cast<std::size_t>(profile.layers());
        const curve::Constraints bounds =
            profile.constraints.value_or(curve::Constraints{rope::kMinScale, rope::kMaxScale, std::nullopt});
        const Result<curve::ScaleCurve> made = curve::ScaleCurve::make(read.kind, read.points, bounds);
        if (!made) return bad(fmt::format("'{}' is broken: {}", field, made.error().message));
        if (read.kind == curve::CurveKind::Free && read.points.size() != layers) {
            return bad(fmt::format("'{}' is free with {} points and there are {} layers; it needs one point per layer",
                                   field, read.points.size(), layers));
        }
        // Without constraints the grid that rounded the scales is unknown, so they cannot be compared.
        if (!profile.constraints || m_differs) return {};
        const std::vector<double> decoded = made->decode(static_cast<int>(layers));
        const std::vector<double> scales = curve::scalesOfGroup(profile.scales, profile.groups.count(), group);
        for (std::size_t layer = 0; layer < layers; ++layer) {
            if (std::abs(decoded[layer] - scales[layer]) <= 1e-9) continue;
            const std::string name = curve::groupName(profile.groups, group);
            m_loaded.warnings.push_back(fmt::format(
                "{}: the scale of layer {}{} is {} but the curve gives {}; the scales are used, not the curve",
                m_origin, layer, name.empty() ? name : ", " + name, scales[layer], decoded[layer]));
            m_differs = true;
            break;
        }
        return {};
    }

    Result<void> readRest(const json& root) {
        if (auto done = readText(root, "tool_version", "tool_version", m_loaded.profile.toolVersion); !done)
            return done;
        if (const json* provenance = find(root, "provenance")) {
            if (!provenance->is_object()) return wrong("provenance", *provenance, "an object");
            m_loaded.profile.provenance = *provenance;
        }
        keepUnknown(root, "",
                    {"format", "version", "model", "per", "scales", groups().perLayer() ? "curve" : "curves",
                     groups().kind == curve::ScaleGroups::Kind::Band ? "band_ends" : "scales", "constraints",
                     "provenance", "tool_version"});
        return {};
    }

    /// Keys of later versions and other programs are kept, below the key of the object that they were in.
    void keepUnknown(const json& object, const char* inside, std::initializer_list<std::string_view> known) {
        for (const auto& [key, value] : object.items()) {
            if (std::find(known.begin(), known.end(), key) != known.end()) continue;
            json& extra = m_loaded.profile.extra;
            (*inside == '\0' ? extra[key] : extra[inside][key]) = value;
            m_unknown.push_back(*inside == '\0' ? key : fmt::format("{}.{}", inside, key));
        }
    }

    /// The same for one of several curves: an array beside theirs.
    void keepUnknownOfCurve(const json& curve, const std::string& field, const json& all) {
        for (const auto& [key, value] : curve.items()) {
            if (key == "kind" || key == "points") continue;
            json& kept = m_loaded.profile.extra["curves"];
            if (kept.is_null()) kept = json(all.size(), json::object());
            kept[m_loaded.profile.curves.size() - 1][key] = value;
            m_unknown.push_back(field + "." + key);
        }
    }

    void warnOfUnknownKeys() {
        if (m_unknown.empty()) return;
        constexpr std::size_t kNamed = 8;
        std::string names;
        for (std::size_t i = 0; i < std::min(kNamed, m_unknown.size()); ++i) {
            names += (i == 0 ? "" : ", ") + shownText(m_unknown[i]);
        }
        if (m_unknown.size() > kNamed) names += fmt::format(" and {} more", m_unknown.size() - kNamed);
        m_loaded.warnings.push_back(fmt::format("{}: unknown keys are kept but have no effect: {}", m_origin, names));
    }

    const std::string& m_origin;
    LoadedProfile m_loaded;
    std::vector<std::string> m_unknown;
    bool m_differs = false;  ///< scales differ from a curve, of which the first one was warned of
};

}  // namespace

Result<LoadedProfile> profileFromJson(const std::string& text, const std::string& origin) {
    try {
        const Result<json> root = parseGuarded(text, origin);
        if (root) return Reader(origin).read(*root);
        // NaN and infinities are no JSON, but the user should read which layer holds one, not which byte.
        if (const Result<json> quoted = parseGuarded(quoteNonFinite(text), origin)) {
            if (Result<LoadedProfile> loaded = Reader(origin).read(*quoted); !loaded) return loaded;
        }
        return fail(root.error());
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, fmt::format("{}: cannot be read as a profile", origin), error.what());
    }
}

}  // namespace lpes::exporters
