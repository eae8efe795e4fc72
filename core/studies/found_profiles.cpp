#include "core/studies/found_profiles.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/exporters/longrope_csv.h"
#include "core/exporters/profile.h"
#include "core/studies/report_html.h"
#include "core/studies/run_view.h"

namespace lpes::studies {

namespace {

using nlohmann::json;
using Factors = std::vector<std::vector<double>>;  // [L][G], or [L][d/2]

/// Both may be rounded to four decimals.
bool areSame(double one, double other) {
    constexpr double kHalfADigit = 0.5e-4, kRounding = 1e-9;
    return std::abs(one - other) <= kHalfADigit + kRounding;
}

/// A single row stands for all layers.
bool areSame(const Factors& file, const Factors& found) {
    if (file.empty() || (file.size() != 1 && file.size() != found.size())) return false;
    for (std::size_t layer = 0; layer < found.size(); ++layer) {
        const bool same = std::ranges::equal(file[file.size() == 1 ? 0 : layer], found[layer],
                                             [](double one, double other) { return areSame(one, other); });
        if (!same) return false;
    }
    return true;
}

bool changesNothing(const Factors& factors) {
    return std::ranges::all_of(factors, [](const std::vector<double>& row) {
        return std::ranges::all_of(row, [](double factor) { return areSame(factor, 1.0); });
    });
}

/// What a file holds; `groups` of a profile, none of factors by frequency.
struct FileScales {
    Factors factors;
    std::optional<curve::ScaleGroups> groups;
};

std::optional<FileScales> scalesOfFile(const rope::MethodPart& part) {
    if (part.kind == rope::MethodPart::Kind::LongRope) {
        auto rows = exporters::readLongRope(part.file);
        if (!rows) return std::nullopt;
        return FileScales{std::move(*rows), std::nullopt};
    }
    if (part.kind != rope::MethodPart::Kind::Lpes) return std::nullopt;
    const auto loaded = exporters::readProfile(part.file);
    if (!loaded) return std::nullopt;
    const exporters::Profile& profile = loaded->profile;
    return FileScales{curve::layerRows(profile.scales, profile.groups.count()), profile.groups};
}

bool holds(const FileScales& file, const exporters::Profile& found) {
    if (file.groups) {
        return *file.groups == found.groups &&
               areSame(file.factors, curve::layerRows(found.scales, found.groups.count()));
    }
    const auto text = exporters::profileToLongRope(found, static_cast<int>(file.factors.front().size()));
    if (!text) return false;  // scales by head, or of another number of frequencies
    const auto rows = exporters::longRopeFromCsv(*text, {});
    return rows && areSame(file.factors, *rows);
}

/// The profile that a search wrote, and the scales of its front's members in it.
std::vector<exporters::Profile> profilesOf(const json& result) {
    const auto written = exporters::profileFromJson(memberOf(result, "profile").dump(), "a stored profile");
    if (!written) return {};
    std::vector<exporters::Profile> profiles{written->profile};
    for (const json& member : listIn(result, "front")) {
        if (!member.is_object()) continue;
        std::vector<double> scales = scalesOf(member);
        if (scales.size() != written->profile.scales.size()) continue;
        profiles.push_back(written->profile);
        profiles.back().scales = std::move(scales);
    }
    return profiles;
}

}  // namespace

Result<std::vector<FoundProfile>> searchesThatFound(const rope::MethodPart& part, store::StoreReader& store) {
    std::vector<FoundProfile> searches;
    const std::optional<FileScales> file = scalesOfFile(part);
    if (!file || changesNothing(file->factors)) return searches;
    const auto runs = store.runs();
    if (!runs) return fail(runs.error());
    for (const store::RunRow& run : *runs) {
        if (run.kind != "search" || run.state != store::RunState::Finished) continue;
        const json result = parseObject(run.resultJson);
        const std::vector<exporters::Profile> profiles = profilesOf(result);
        if (std::ranges::none_of(profiles, [&](const exporters::Profile& found) { return holds(*file, found); }))
            continue;
        searches.push_back({run.id, profiles.front().provenance});
    }
    return searches;
}

}  // namespace lpes::studies
