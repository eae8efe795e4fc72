#include "app/cli/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/cli/output.h"

namespace lpes::cli {

namespace {

constexpr std::size_t kMostColumns = 12;

std::string curveText(const exporters::Profile::Curve& curve) {
    std::string out = curve::curveKindName(curve.kind) + " through";
    for (const curve::ControlPoint& point : curve.points) out += fmt::format(" {}:{}", point.x, point.y);
    return out + "\n";
}

std::string layersTable(const std::vector<double>& scales) {
    Table table({"layer", "scale s", "1/s"});
    for (std::size_t layer = 0; layer < scales.size(); ++layer) {
        table.add(
            {fmt::format("{}", layer), fmt::format("{}", scales[layer]), fmt::format("{:.4f}", 1.0 / scales[layer])});
    }
    return table.text();
}

}  // namespace

std::string groupsTable(const std::vector<std::vector<double>>& rows, const std::vector<std::string>& names) {
    const bool all = names.size() <= kMostColumns;
    std::vector<std::string> header = all ? names : std::vector<std::string>{"smallest s", "mean s", "largest s"};
    header.insert(header.begin(), "layer");
    Table table(std::move(header));
    for (std::size_t layer = 0; layer < rows.size(); ++layer) {
        const std::vector<double>& row = rows[layer];
        std::vector<std::string> cells{fmt::format("{}", layer)};
        if (all) {
            for (const double scale : row) cells.push_back(fmt::format("{:.6g}", scale));
        } else if (!row.empty()) {
            const auto [low, high] = std::minmax_element(row.begin(), row.end());
            const double mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
            for (const double scale : {*low, mean, *high}) cells.push_back(fmt::format("{:.6g}", scale));
        }
        table.add(std::move(cells));
    }
    return table.text();
}

std::string profileText(const exporters::Profile& profile) {
    const exporters::ProfileModel& model = profile.model;
    const curve::ScaleGroups& groups = profile.groups;
    std::string out = fmt::format("Profile for {} layers", profile.layers());
    if (groups.kind == curve::ScaleGroups::Kind::KvHead) out += fmt::format(" and {} key/value heads", groups.heads);
    if (groups.kind == curve::ScaleGroups::Kind::Band) {
        out += fmt::format(" and {} bands of {} frequencies", groups.count(), groups.bandEnds.back());
    }
    if (!model.architecture.empty()) out += fmt::format(" of {} (head_dim {})", model.architecture, model.headDim);
    out += "\n";
    if (profile.curve) out += curveText(*profile.curve);
    std::vector<std::string> names;
    for (int group = 0; group < groups.count(); ++group) names.push_back(curve::groupName(groups, group));
    for (std::size_t group = 0; group < profile.curves.size(); ++group) {
        out += names[group] + ": " + curveText(profile.curves[group]);
    }
    if (groups.perLayer()) return out + "Positions are divided by s; 1 = unchanged.\n\n" + layersTable(profile.scales);
    out += groups.kind == curve::ScaleGroups::Kind::KvHead
               ? "Positions of a head and its query heads are divided by s; 1 = unchanged.\n\n"
               : "Frequencies of a band are divided by s, as if its positions were; 1 = unchanged.\n\n";
    return out + groupsTable(curve::layerRows(profile.scales, std::max(1, groups.count())), names);
}

}  // namespace lpes::cli
