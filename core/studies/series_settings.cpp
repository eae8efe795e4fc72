// Studies of a search: which searches they consist of.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "core/studies/json_rows.h"
#include "core/studies/search_series.h"
#include "core/studies/search_setup.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

constexpr std::array<std::pair<StudyKind, const char*>, 5> kKinds{{{StudyKind::Curves, "curves"},
                                                                   {StudyKind::Points, "points"},
                                                                   {StudyKind::Resample, "resample"},
                                                                   {StudyKind::Seeds, "seeds"},
                                                                   {StudyKind::Convergence, "convergence"}}};

bool hasLevels(StudyKind kind) {
    return kind != StudyKind::Resample && kind != StudyKind::Seeds;
}

/// Puts a level into the settings; answers its name.
Result<std::string> applyLevel(StudyKind kind, const std::string& value, search::SearchSettings& search) {
    if (kind == StudyKind::Curves) {
        auto curve = curve::parseCurveKind(value);
        if (!curve) return fail(curve.error());
        search.curve = *curve;
        return curve::curveKindName(*curve);
    }
    if (kind == StudyKind::Convergence) {
        auto optimizer = search::parseOptimizer(value);
        if (!optimizer) return fail(optimizer.error());
        search.optimizer = *optimizer;
        return search::optimizerName(*optimizer);
    }
    int points = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), points);
    if (error != std::errc{} || end != value.data() + value.size() || points < curve::kMinPoints) {
        return fail(ErrorCode::Usage,
                    fmt::format("--values: '{}' is no number of control points; give whole numbers of "
                                "{} or more, separated by commas",
                                value, curve::kMinPoints));
    }
    if (search.curve == curve::CurveKind::Free) {
        return fail(
            ErrorCode::Usage,
            "--curve free has a point for every layer, so their number cannot be studied; choose another curve");
    }
    search.points = points;
    return fmt::format("{} points", points);
}

Result<std::vector<std::string>> levelsOf(const StudySettings& settings) {
    const std::string name = studyKindName(settings.kind);
    if (!hasLevels(settings.kind)) {
        if (settings.values.empty()) return std::vector<std::string>{""};
        return fail(ErrorCode::Usage,
                    fmt::format("--values is not for the study {}, whose searches differ by number alone; "
                                "give --repeats",
                                name));
    }
    const std::vector<std::string> values = settings.values.empty() ? studyValues(settings.kind) : settings.values;
    if (const std::set<std::string> distinct(values.begin(), values.end()); distinct.size() != values.size())
        return fail(ErrorCode::Usage,
                    fmt::format("--values names a level of the study {} twice; name each once", name));
    return values;
}

}  // namespace

std::string studyKindName(StudyKind kind) {
    return std::ranges::find(kKinds, kind, &std::pair<StudyKind, const char*>::first)->second;
}

Result<StudyKind> parseStudyKind(const std::string& text) {
    for (const auto& [kind, name] : kKinds) {
        if (text == name) return kind;
    }
    return fail(ErrorCode::Usage,
                fmt::format("'{}' is no study; choose curves, points, resample, seeds or convergence", text));
}

std::vector<std::string> studyValues(StudyKind kind) {
    if (kind == StudyKind::Curves) {
        std::vector<std::string> names;
        for (const curve::CurveKind one : curve::kCurveKinds) names.push_back(curve::curveKindName(one));
        return names;
    }
    if (kind == StudyKind::Points) return {"2", "3", "4", "6", "8"};
    if (kind == StudyKind::Convergence) return {"genetic", "cma-es", "random"};
    return {};
}

int studyRepeats(StudyKind kind) {
    if (!hasLevels(kind)) return 5;
    return kind == StudyKind::Convergence ? 3 : 1;
}

Result<std::vector<StudyPart>> studyParts(const StudySettings& settings) {
    const int repeats = settings.repeats.value_or(studyRepeats(settings.kind));
    if (repeats < 1) {
        return fail(ErrorCode::Usage, fmt::format("--repeats {} is too small; give at least 1", repeats));
    }
    const auto levels = levelsOf(settings);
    if (!levels) return fail(levels.error());
    std::vector<StudyPart> parts;
    for (const std::string& value : *levels) {
        StudyPart part{{}, {}, settings.search};
        part.search.splitSeed = settings.search.splitSeed.value_or(settings.search.search.seed);
        if (hasLevels(settings.kind)) {
            auto name = applyLevel(settings.kind, value, part.search.search);
            if (!name) return fail(name.error());
            part.level = std::move(*name);
        }
        for (int repeat = 0; repeat < repeats; ++repeat) {
            StudyPart one = part;
            if (settings.kind == StudyKind::Resample) {
                one.search.resample = repeat;
                one.search.resamples = repeats;
                one.label = one.level = fmt::format("resample {}", repeat + 1);
            } else {
                one.search.search.seed += static_cast<std::uint64_t>(repeat);
                const std::string seed = fmt::format("seed {}", one.search.search.seed);
                if (one.level.empty()) one.level = seed;
                one.label = hasLevels(settings.kind) && repeats > 1 ? one.level + ", " + seed : one.level;
            }
            parts.push_back(std::move(one));
        }
    }
    if (parts.size() < 2) {
        return fail(ErrorCode::Usage, fmt::format("the study {} has a single search; give --repeats or --values with "
                                                  "more than one",
                                                  studyKindName(settings.kind)));
    }
    for (const StudyPart& part : parts) {
        if (auto valid = checkCounts(part.search); !valid) return fail(valid.error());
    }
    return parts;
}

json toJson(const StudySettings& settings) {
    json plain = toJson(settings.search);
    json values = settings.values;
    if (settings.values.empty()) values = studyValues(settings.kind);
    plain.update(withOrigins({{"study", studyKindName(settings.kind)},
                              {"values", values},
                              {"repeats", settings.repeats.value_or(studyRepeats(settings.kind))}},
                             settings.search.origins));
    return plain;
}

Result<StudySettings> studySettingsFromJson(const json& stored) {
    StudySettings settings;
    json own = json::object(), rest = stored;
    for (const char* key : {"study", "values", "repeats"}) {
        if (!stored.contains(key)) continue;
        own[key] = stored[key];
        rest.erase(key);
    }
    std::string kind;
    JsonFields fields(own, "study settings");
    fields.read("study", kind);
    fields.read("values", settings.values);
    fields.read("repeats", settings.repeats);
    if (auto done = fields.finish(); !done) return fail(done.error());
    auto parsed = parseStudyKind(kind);
    if (!parsed) return fail(parsed.error());
    settings.kind = *parsed;
    auto search = searchSettingsFromJson(rest);
    if (!search) return fail(search.error());
    settings.search = std::move(*search);
    settings.search.origins = readOrigins(stored);
    return settings;
}

}  // namespace lpes::studies
