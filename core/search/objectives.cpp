#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/search/search_settings.h"

namespace lpes::search {
namespace {

constexpr Objective kAll[] = {Objective::Middle, Objective::Ends, Objective::Short};

}  // namespace

std::string objectiveName(Objective objective) {
    switch (objective) {
        case Objective::Middle:
            return "middle";
        case Objective::Ends:
            return "ends";
        case Objective::Short:
            break;
    }
    return "short";
}

std::string objectivesText(const std::vector<Objective>& objectives) {
    std::string text;
    for (const Objective objective : objectives) text += (text.empty() ? "" : ",") + objectiveName(objective);
    return text;
}

Result<std::vector<Objective>> parseObjectives(const std::string& text) {
    std::vector<Objective> objectives;
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, ',');) {
        const auto* const found = std::ranges::find(kAll, name, objectiveName);
        if (found == std::end(kAll)) {
            return fail(ErrorCode::Usage,
                        fmt::format("'{}' is no objective; name two or three of middle, ends and short", name));
        }
        objectives.push_back(*found);
    }
    std::ranges::sort(objectives);
    if (std::ranges::adjacent_find(objectives) != objectives.end()) {
        return fail(ErrorCode::Usage, fmt::format("--objectives {} names one twice; name each once", text));
    }
    if (objectives.size() < 2) {
        return fail(ErrorCode::Usage, fmt::format("--objectives '{}' has fewer than two; name two or three of middle, "
                                                  "ends and short, or none for one fitness",
                                                  text));
    }
    return objectives;
}

}  // namespace lpes::search
