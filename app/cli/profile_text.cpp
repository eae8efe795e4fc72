#include "app/cli/profile_text.h"

#include <fmt/format.h>

#include "app/cli/output.h"

namespace lpes::cli {

std::string profileText(const exporters::Profile& profile) {
    const exporters::ProfileModel& model = profile.model;
    std::string out = fmt::format("Profile for {} layers", profile.scales.size());
    if (!model.architecture.empty()) out += fmt::format(" of {} (head_dim {})", model.architecture, model.headDim);
    out += "\n";
    if (profile.curve) {
        out += curve::curveKindName(profile.curve->kind) + " through";
        for (const curve::ControlPoint& point : profile.curve->points) out += fmt::format(" {}:{}", point.x, point.y);
        out += "\n";
    }
    out += "Positions are divided by s; 1 = unchanged.\n\n";
    Table table({"layer", "scale s", "1/s"});
    for (std::size_t layer = 0; layer < profile.scales.size(); ++layer) {
        table.add({fmt::format("{}", layer), fmt::format("{}", profile.scales[layer]),
                   fmt::format("{:.4f}", 1.0 / profile.scales[layer])});
    }
    return out + table.text();
}

}  // namespace lpes::cli
