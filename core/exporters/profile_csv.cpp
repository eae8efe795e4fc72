#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/exporters/csv_text.h"
#include "core/exporters/guarded_json.h"
#include "core/exporters/profile.h"
#include "core/rope/rope_config.h"

namespace lpes::exporters {
namespace {

enum class Header { None, Layers, Groups };

Header headerOf(std::string_view line) {
    std::string names;
    for (;;) {
        const std::size_t comma = line.find(',');
        names += trimmed(line.substr(0, comma));
        if (comma == std::string_view::npos) break;
        names += ',';
        line.remove_prefix(comma + 1);
    }
    return names == "layer,scale" ? Header::Layers : names == "layer,group,scale" ? Header::Groups : Header::None;
}

/// Scales as they come in, layer by layer.
class Table {
  public:
    explicit Table(const std::string& origin) : m_origin(origin) {}

    Result<void> add(std::string_view line, int lineNumber) {
        const std::size_t comma = line.find(',');
        const auto layer = comma == std::string_view::npos ? std::nullopt : csvNumber<int>(line.substr(0, comma));
        const auto scale = comma == std::string_view::npos ? std::nullopt : csvNumber<double>(line.substr(comma + 1));
        if (!layer || *layer < 0 || *layer >= kMaxProfileLayers || !scale) {
            return bad(
                fmt::format("line {} is {}; it must be LAYER,SCALE with a layer from 0 to {} and a decimal point",
                            lineNumber, shownText(line), kMaxProfileLayers - 1));
        }
        const auto place = static_cast<std::size_t>(*layer);
        if (place >= m_scales.size()) m_scales.resize(place + 1);
        if (m_scales[place])
            return bad(
                fmt::format("line {} gives layer {} a second time; each layer has one line", lineNumber, *layer));
        m_scales[place] = *scale;
        return {};
    }

    [[nodiscard]] Result<std::vector<double>> finish() const {
        std::vector<double> scales;
        for (const std::optional<double>& scale : m_scales) {
            if (!scale) {
                return bad(fmt::format("layer {} has no line, though layer {} has one; layers count from 0",
                                       scales.size(), m_scales.size() - 1));
            }
            scales.push_back(*scale);
        }
        if (scales.empty()) return bad("holds no LAYER,SCALE line; a profile has one per layer");
        if (auto valid = rope::checkScales(scales, static_cast<int>(scales.size())); !valid)
            return bad(valid.error().message);
        return scales;
    }

  private:
    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const {
        return fail(ErrorCode::BadInput, fmt::format("{}: {}", m_origin, what));
    }
    const std::string& m_origin;
    std::vector<std::optional<double>> m_scales;
};

/// A head by its number, or a band by its first and last frequency.
struct Group {
    int first = 0, last = 0;
    bool band = false;
    auto operator<=>(const Group&) const = default;
    [[nodiscard]] std::string text() const {
        return band ? fmt::format("{}-{}", first, last) : fmt::format("{}", first);
    }
};

std::optional<Group> groupOf(std::string_view text) {
    const std::size_t dash = text.find('-', 1);
    const auto first = csvNumber<int>(text.substr(0, dash));
    if (!first || *first < 0) return std::nullopt;
    if (dash == std::string_view::npos)
        return *first < curve::kMaxGroupHeads ? std::optional(Group{*first, *first, false}) : std::nullopt;
    const auto last = csvNumber<int>(text.substr(dash + 1));
    if (!last || *last < *first || *last >= curve::kMaxGroupFrequencies) return std::nullopt;
    return Group{*first, *last, true};
}

/// Scales by layer and group as they come in, line by line.
class GroupTable {
  public:
    explicit GroupTable(const std::string& origin) : m_origin(origin) {}

    Result<void> add(std::string_view line, int lineNumber) {
        const std::size_t comma = line.find(','), second = line.find(',', comma + 1);
        const bool three = comma != std::string_view::npos && second != std::string_view::npos;
        const auto layer = three ? csvNumber<int>(line.substr(0, comma)) : std::nullopt;
        const auto group = three ? groupOf(trimmed(line.substr(comma + 1, second - comma - 1))) : std::nullopt;
        const auto scale = three ? csvNumber<double>(line.substr(second + 1)) : std::nullopt;
        if (!layer || *layer < 0 || *layer >= kMaxProfileLayers || !group || !scale) {
            return bad(
                fmt::format("line {} is {}; it must be LAYER,GROUP,SCALE with a layer from 0 to {}, a key/value "
                            "head (3) or a band's first and last frequency (8-19), and a decimal point",
                            lineNumber, shownText(line), kMaxProfileLayers - 1));
        }
        if (const Group* known = anyGroup(); known != nullptr && known->band != group->band) {
            return bad(
                fmt::format("line {} has the group {} where lines before it have {}; give heads or bands, not both",
                            lineNumber, group->text(), known->text()));
        }
        const auto place = static_cast<std::size_t>(*layer);
        if (place >= m_layers.size()) m_layers.resize(place + 1);
        if (!m_layers[place].emplace(*group, *scale).second) {
            return bad(fmt::format("line {} gives layer {}, group {} a second time; each has one line", lineNumber,
                                   *layer, group->text()));
        }
        return {};
    }

    Result<void> finish(Profile& to) const {
        if (auto valid = makeGroups(to.groups); !valid) return valid;
        for (std::size_t layer = 0; layer < m_layers.size(); ++layer) {
            for (const auto& [group, unused] : m_layers.front()) {
                const auto found = m_layers[layer].find(group);
                if (found == m_layers[layer].end()) {
                    return bad(
                        fmt::format("layer {} has no line for group {}, which layer 0 has; every layer has all of "
                                    "them, and layers count from 0",
                                    layer, group.text()));
                }
                if (!(found->second >= rope::kMinScale && found->second <= rope::kMaxScale)) {
                    return bad(
                        fmt::format("the scale of layer {}, group {} is {}; it must be a finite number from {} to {}",
                                    layer, group.text(), found->second, rope::kMinScale, rope::kMaxScale));
                }
                to.scales.push_back(found->second);
            }
            if (m_layers[layer].size() != m_layers.front().size()) {
                return bad(fmt::format("layer {} has {} groups and layer 0 has {}; every layer has the same ones",
                                       layer, m_layers[layer].size(), m_layers.front().size()));
            }
        }
        to.model.layers = static_cast<int>(m_layers.size());
        return {};
    }

  private:
    [[nodiscard]] const Group* anyGroup() const {
        for (const auto& layer : m_layers) {
            if (!layer.empty()) return &layer.begin()->first;
        }
        return nullptr;
    }

    /// Heads count from 0, bands follow each other from frequency 0.
    Result<void> makeGroups(curve::ScaleGroups& groups) const {
        if (m_layers.empty()) return bad("holds no LAYER,GROUP,SCALE line; a profile has one per layer and group");
        if (m_layers.front().empty()) return bad("layer 0 has no line, though others have; layers count from 0");
        int next = 0;
        for (const auto& [group, unused] : m_layers.front()) {
            if (group.first != next) {
                return bad(
                    fmt::format("layer 0 has the group {} where {} is due; heads count from 0, and bands follow each "
                                "other from frequency 0",
                                group.text(), next));
            }
            next = group.last + 1;
            if (group.band) groups.bandEnds.push_back(next);
        }
        const bool bands = m_layers.front().begin()->first.band;
        groups.kind = bands ? curve::ScaleGroups::Kind::Band : curve::ScaleGroups::Kind::KvHead;
        groups.heads = bands ? 0 : next;
        return {};
    }

    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const {
        return fail(ErrorCode::BadInput, fmt::format("{}: {}", m_origin, what));
    }
    const std::string& m_origin;
    std::vector<std::map<Group, double>> m_layers;
};

std::string groupText(const curve::ScaleGroups& groups, int group) {
    if (groups.kind == curve::ScaleGroups::Kind::KvHead) return fmt::format("{}", group);
    const auto band = static_cast<std::size_t>(group);
    return Group{band == 0 ? 0 : groups.bandEnds[band - 1], groups.bandEnds[band] - 1, true}.text();
}

}  // namespace

std::string toCsv(const Profile& profile) {
    const int groups = profile.groups.count();
    if (!profile.groups.perLayer()) {
        std::string out = "layer,group,scale\n";
        for (int i = 0; i < profile.layers() * groups; ++i) {
            out += fmt::format("{},{},{}\n", i / groups, groupText(profile.groups, i % groups),
                               profile.scales[static_cast<std::size_t>(i)]);
        }
        return out;
    }
    std::string out = "layer,scale\n";
    for (std::size_t layer = 0; layer < profile.scales.size(); ++layer) {
        out += fmt::format("{},{}\n", layer, profile.scales[layer]);  // shortest digits, C locale
    }
    return out;
}

Result<LoadedProfile> profileFromCsv(const std::string& text, const std::string& origin) {
    Table table(origin);
    GroupTable groupTable(origin);
    bool first = true, grouped = false;
    CsvLines lines(text);
    while (const std::optional<std::string_view> line = lines.next()) {
        if (line->empty()) continue;
        const Header header = std::exchange(first, false) ? headerOf(*line) : Header::None;
        // Without its header "0,1,5" is a scale with a decimal comma.
        if (header == Header::Groups) grouped = true;
        if (header != Header::None) continue;
        Result<void> added = grouped ? groupTable.add(*line, lines.number()) : table.add(*line, lines.number());
        if (!added) return fail(added.error());
    }
    LoadedProfile loaded;
    if (grouped) {
        if (auto done = groupTable.finish(loaded.profile); !done) return fail(done.error());
        ProfileModel& model = loaded.profile.model;
        model.kvHeads = loaded.profile.groups.heads;
        if (!loaded.profile.groups.bandEnds.empty()) model.frequencies = loaded.profile.groups.bandEnds.back();
    } else {
        Result<std::vector<double>> scales = table.finish();
        if (!scales) return fail(scales.error());
        loaded.profile.model.layers = static_cast<int>(scales->size());
        loaded.profile.scales = std::move(*scales);
    }
    loaded.warnings.push_back(
        fmt::format("{}: holds scales only, so nothing but {} can be checked before it is applied", origin,
                    loaded.profile.groups.perLayer() ? "the number of layers"
                                                     : "the numbers of layers and of heads or frequencies"));
    return loaded;
}

}  // namespace lpes::exporters
