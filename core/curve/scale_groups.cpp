#include "core/curve/scale_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace lpes::curve {
namespace {

constexpr std::string_view kLayer = "layer", kKvHead = "kv-head", kBand = "band:";

std::optional<std::string> brokenBands(const std::vector<int>& ends) {
    if (ends.empty()) return "there are no bands; give the end of at least one";
    for (std::size_t band = 0; band < ends.size(); ++band) {
        const int before = band == 0 ? 0 : ends[band - 1];
        if (ends[band] > before && ends[band] <= kMaxGroupFrequencies) continue;
        return fmt::format("band {} ends at frequency {} and begins at {}; ends must rise, from 1 to at most {}", band,
                           ends[band], before, kMaxGroupFrequencies);
    }
    return std::nullopt;
}

Result<ScaleGroups> parseBands(const std::string& text) {
    std::vector<int> ends;
    std::string_view rest = std::string_view(text).substr(kBand.size());
    for (;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        int end = 0;
        const auto [last, error] = std::from_chars(part.data(), part.data() + part.size(), end);
        if (error != std::errc{} || last != part.data() + part.size()) {
            return fail(ErrorCode::Usage,
                        fmt::format("'{}' in '{}' is no end of a band; write whole numbers that rise to half of what a "
                                    "head rotates, for example band:8,20,32",
                                    part, text));
        }
        ends.push_back(end);
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    if (auto broken = brokenBands(ends)) return fail(ErrorCode::Usage, fmt::format("'{}': {}", text, *broken));
    return ScaleGroups::bands(std::move(ends));
}

}  // namespace

int ScaleGroups::count() const {
    switch (kind) {
        case Kind::Layer:
            return 1;
        case Kind::KvHead:
            return heads;
        case Kind::Band:
            return static_cast<int>(bandEnds.size());
    }
    return 1;
}

Result<ScaleGroups> parseGroups(const std::string& text) {
    if (text == kLayer) return ScaleGroups{};
    if (text == kKvHead) return ScaleGroups::kvHeads(0);
    if (text.starts_with(kBand)) return parseBands(text);
    return fail(ErrorCode::Usage,
                fmt::format("'{}' is nothing that scales can belong to; use layer, kv-head or band:ENDS, for example "
                            "band:8,20,32",
                            text));
}

std::string groupsText(const ScaleGroups& groups) {
    switch (groups.kind) {
        case ScaleGroups::Kind::Layer:
            return std::string(kLayer);
        case ScaleGroups::Kind::KvHead:
            return std::string(kKvHead);
        case ScaleGroups::Kind::Band:
            return fmt::format("{}{}", kBand, fmt::join(groups.bandEnds, ","));
    }
    return std::string(kLayer);
}

std::string groupName(const ScaleGroups& groups, int group) {
    switch (groups.kind) {
        case ScaleGroups::Kind::Layer:
            return {};
        case ScaleGroups::Kind::KvHead:
            return fmt::format("head {}", group);
        case ScaleGroups::Kind::Band: {
            const auto band = static_cast<std::size_t>(group);
            return fmt::format("band {}–{}", band == 0 ? 0 : groups.bandEnds[band - 1], groups.bandEnds[band] - 1);
        }
    }
    return {};
}

std::optional<std::string> violation(const ScaleGroups& groups) {
    switch (groups.kind) {
        case ScaleGroups::Kind::Layer:
            return std::nullopt;
        case ScaleGroups::Kind::KvHead:
            if (groups.heads >= 1 && groups.heads <= kMaxGroupHeads) return std::nullopt;
            return fmt::format("there are {} key/value heads; their number must be from 1 to {}", groups.heads,
                               kMaxGroupHeads);
        case ScaleGroups::Kind::Band:
            return brokenBands(groups.bandEnds);
    }
    return std::nullopt;
}

GroupedCurve::GroupedCurve(ScaleGroups groups, std::vector<ScaleCurve> curves)
    : m_groups(std::move(groups)), m_curves(std::move(curves)) {}

Result<GroupedCurve> GroupedCurve::make(ScaleGroups groups, std::vector<ScaleCurve> curves) {
    if (auto broken = violation(groups)) return fail(ErrorCode::Usage, std::move(*broken));
    if (curves.size() != static_cast<std::size_t>(groups.count())) {
        return fail(ErrorCode::Usage, fmt::format("there are {} curves for {} groups of scales ({}); give one for each",
                                                  curves.size(), groups.count(), groupsText(groups)));
    }
    return GroupedCurve(std::move(groups), std::move(curves));
}

std::vector<double> GroupedCurve::decode(int numLayers) const {
    const std::size_t groups = m_curves.size();
    std::vector<double> scales(static_cast<std::size_t>(numLayers) * groups);
    for (std::size_t group = 0; group < groups; ++group) {
        const std::vector<double> own = m_curves[group].decode(numLayers);
        for (std::size_t layer = 0; layer < own.size(); ++layer) scales[layer * groups + group] = own[layer];
    }
    return scales;
}

std::vector<std::vector<double>> layerRows(std::span<const double> scales, int groups) {
    const auto width = static_cast<std::size_t>(groups);
    std::vector<std::vector<double>> rows;
    for (std::size_t first = 0; first + width <= scales.size(); first += width) {
        const std::span<const double> row = scales.subspan(first, width);
        rows.emplace_back(row.begin(), row.end());
    }
    return rows;
}

std::vector<double> scalesOfGroup(std::span<const double> scales, int groups, int group) {
    std::vector<double> own;
    for (std::size_t i = static_cast<std::size_t>(group); i < scales.size(); i += static_cast<std::size_t>(groups)) {
        own.push_back(scales[i]);
    }
    return own;
}

std::vector<double> scalesByFrequency(std::span<const double> ofBands, std::span<const int> bandEnds) {
    std::vector<double> scales;
    for (std::size_t band = 0; band < bandEnds.size(); ++band) {
        scales.resize(static_cast<std::size_t>(bandEnds[band]), ofBands[band]);
    }
    return scales;
}

}  // namespace lpes::curve
