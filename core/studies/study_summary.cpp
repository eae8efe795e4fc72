#include "core/studies/study_summary.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "core/analysis/position_bias.h"
#include "core/analysis/profile_spread.h"
#include "core/analysis/statistics.h"
#include "core/studies/json_rows.h"
#include "core/studies/report_html.h"
#include "core/studies/run_parts.h"

namespace lpes::studies {

namespace {

using analysis::ItemOutcome;
using nlohmann::json;

json bestOf(const json& result) {
    const auto best = result.find("best");
    return best != result.end() && best->is_object() ? *best : json();
}

Result<StudySearch> readSearch(store::StoreReader& store, const StudyPart& part, const store::RunRow& run) {
    auto view = viewOf(store, run);
    if (!view) return fail(view.error());
    StudySearch search{part.label, part.level, run, view->result, {}, positionLabels(*view), {}, {}, {}};
    if (const json best = bestOf(view->result); best.is_object()) search.scales = scalesOf(best);
    auto items = store.split(run.id, "search");
    if (!items) return fail(items.error());
    search.searchItems = std::move(*items);
    for (const store::VariantRow& variant : view->variants) {
        const bool baseline = variant.name == "baseline";
        if (!baseline && view->bestVariant != variant.id) continue;
        auto outcomes = storedOutcomes(store, variant.id, "report");
        if (!outcomes) return fail(outcomes.error());
        (baseline ? search.baseline : search.best) = std::move(*outcomes);
    }
    return search;
}

/// Each item's mean at each position.
std::vector<ItemOutcome> meanOutcomes(const std::vector<const StudySearch*>& searches) {
    std::vector<ItemOutcome> outcomes = searches.front()->best;
    std::map<std::pair<std::string, int>, std::size_t> places;
    for (std::size_t i = 0; i < outcomes.size(); ++i) places[{outcomes[i].itemId, outcomes[i].position}] = i;
    for (auto search = std::next(searches.begin()); search != searches.end(); ++search) {
        for (const ItemOutcome& other : (*search)->best) {
            const auto place = places.find({other.itemId, other.position});
            if (place == places.end()) continue;
            outcomes[place->second].score += other.score;
            outcomes[place->second].nll += other.nll;
        }
    }
    for (ItemOutcome& outcome : outcomes) {
        outcome.score /= static_cast<double>(searches.size());
        outcome.nll /= static_cast<double>(searches.size());
    }
    return outcomes;
}

/// Accuracy and answer NLL, means over positions.
struct Scores {
    double accuracy = 0.0, gap = 0.0, nll = 0.0;
};
Scores scoresOf(const std::vector<ItemOutcome>& outcomes, const std::vector<std::string>& positions) {
    const auto accuracy = analysis::accuracyByPosition(outcomes, positions);
    std::vector<double> nll;
    for (const analysis::PositionResult& position : accuracy.positions) nll.push_back(position.answerNll);
    return {accuracy.meanAccuracy, accuracy.gap, nll.empty() ? 0.0 : analysis::mean(nll)};
}

/// Scores with their intervals over items.
json scoresJson(const std::vector<ItemOutcome>& outcomes, const std::vector<std::string>& positions,
                std::uint64_t seed) {
    const Scores scores = scoresOf(outcomes, positions);
    const auto count = static_cast<int>(positions.size());
    json row{{"mean_accuracy", scores.accuracy}, {"gap", scores.gap}, {"answer_nll", scores.nll}};
    const auto add = [&](const std::string& name, const std::optional<analysis::Interval>& interval) {
        const json ends = intervalJson(interval);
        row[name + "_low"] = ends["low"];
        row[name + "_high"] = ends["high"];
    };
    add("accuracy", analysis::meanAccuracyInterval(outcomes, count, seed));
    add("gap", analysis::positionBias(outcomes, positions, {}, seed).gapInterval);
    add("answer_nll", analysis::nllIntervals(outcomes, count, seed).mean);
    return row;
}

/// Mean and standard deviation over searches.
json spreadJson(const std::vector<const StudySearch*>& searches) {
    std::vector<double> accuracy, nll;
    for (const StudySearch* search : searches) {
        const Scores scores = scoresOf(search->best, search->positions);
        accuracy.push_back(scores.accuracy);
        nll.push_back(scores.nll);
    }
    const auto sd = [](const std::vector<double>& values) {
        return values.size() > 1 ? json(analysis::runNoise(values).standardDeviation) : json(nullptr);
    };
    return {{"searches", searches.size()},
            {"mean_accuracy", analysis::mean(accuracy)},
            {"accuracy_sd", sd(accuracy)},
            {"answer_nll", analysis::mean(nll)},
            {"nll_sd", sd(nll)}};
}

json differenceJson(const analysis::Comparison& comparison) {
    const json interval = intervalJson(comparison.nll.interval);
    return {{"nll_difference", comparison.nll.meanDifference},
            {"nll_low", interval["low"]},
            {"nll_high", interval["high"]},
            {"p_value", optionalJson(comparison.nll.pValue)},
            {"p_holm", optionalJson(comparison.nllHolm)}};
}

json levelsJson(const StudyView& study) {
    const std::uint64_t seed = study.settings.search.search.seed;
    const auto positionsOf = [](const StudyLevel& level) {
        return static_cast<int>(level.searches.front()->positions.size());
    };
    std::vector<analysis::Comparison> comparisons;
    for (const StudyLevel& level : study.levels) {
        comparisons.push_back(
            analysis::compareOutcomes(level.searches.front()->baseline, level.outcomes, positionsOf(level), seed));
    }
    analysis::adjustTogether(comparisons);
    json rows = json::array();
    for (std::size_t i = 0; i < study.levels.size(); ++i) {
        const StudyLevel& level = study.levels[i];
        // A search alone has the intervals that it printed itself.
        const std::uint64_t own = level.searches.size() == 1 ? level.searches.front()->run.seed : seed;
        json row = scoresJson(level.outcomes, level.searches.front()->positions, own);
        row.update(spreadJson(level.searches));
        row.update(differenceJson(comparisons[i]));
        row.update({{"level", level.name}, {"better", comparisons[i].better}, {"verdict", comparisons[i].verdict}});
        rows.push_back(std::move(row));
    }
    return rows;
}

json pairsJson(const StudyView& study) {
    json rows = json::array();
    std::vector<analysis::Comparison> comparisons;
    for (std::size_t a = 0; a < study.levels.size(); ++a) {
        for (std::size_t b = a + 1; b < study.levels.size(); ++b) {
            const StudyLevel &first = study.levels[a], &second = study.levels[b];
            const auto positions = static_cast<int>(first.searches.front()->positions.size());
            comparisons.push_back(analysis::compareOutcomes(first.outcomes, second.outcomes, positions,
                                                            study.settings.search.search.seed, first.name));
            rows.push_back({{"a", first.name}, {"b", second.name}});
        }
    }
    analysis::adjustTogether(comparisons);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].update(differenceJson(comparisons[i]));
    return rows;
}

json profileJson(const std::string& level, const std::vector<const StudySearch*>& searches) {
    std::vector<std::vector<double>> profiles;
    for (const StudySearch* search : searches) profiles.push_back(search->scales);
    const analysis::ProfileSpread spread = analysis::profileSpread(profiles);
    return {{"level", level},
            {"searches", searches.size()},
            {"mean", spread.mean},
            {"stddev", spread.stddev},
            {"low", spread.low},
            {"high", spread.high},
            {"mean_abs_difference", spread.meanAbsDifference},
            {"mean_correlation", optionalJson(spread.meanCorrelation)}};
}

json sharedItemsJson(const StudyView& study) {
    if (study.settings.kind != StudyKind::Resample || study.searches.size() < 2) return nullptr;
    std::vector<double> shares;
    for (std::size_t a = 0; a < study.searches.size(); ++a) {
        const std::vector<std::string>& items = study.searches[a].searchItems;
        const std::set<std::string> own(items.begin(), items.end());
        for (std::size_t b = a + 1; b < study.searches.size(); ++b) {
            const auto& others = study.searches[b].searchItems;
            const auto common = std::ranges::count_if(others, [&](const std::string& id) { return own.contains(id); });
            shares.push_back(static_cast<double>(common) /
                             static_cast<double>(std::max<std::size_t>(1, others.size())));
        }
    }
    return analysis::mean(shares);
}

json searchJson(const StudyView& study, const StudyPart& part) {
    json row{{"label", part.label}, {"level", part.level}, {"state", "not begun"}, {"seed", part.search.search.seed}};
    for (std::size_t i = 0; i < study.begun.size(); ++i) {
        if (study.begunLabels[i] != part.label) continue;
        const store::RunRow& run = study.begun[i];
        row.update({{"run_id", run.id}, {"state", store::runStateName(run.state)}});
        if (!run.error.empty()) row["error"] = run.error;
    }
    const auto search = std::ranges::find(study.searches, part.label, &StudySearch::label);
    if (search == study.searches.end()) return row;
    row.update(scoresJson(search->best, search->positions, search->run.seed));
    for (const char* key : {"evaluations", "prompts", "seconds"}) row[key] = search->result.value(key, json());
    const json best = bestOf(search->result);
    for (const char* key : {"fitness", "scales"}) row[key] = best.is_object() ? best.value(key, json()) : json();
    return row;
}

/// What the search says that saw the most of its report items; null where none saw any.
json searchedOnJson(const StudyView& study) {
    json most;
    double items = 0.0;
    for (const StudySearch& search : study.searches) {
        const json best = memberOf(memberOf(search.result, "heldout"), "best");
        const json said = memberOf(best, "searched_on"), seen = memberOf(said, "searched_items");
        if (!seen.is_number() || seen.get<double>() <= items) continue;
        items = seen.get<double>();
        most = said;
    }
    return most;
}

}  // namespace

Result<StudyView> viewOfStudy(store::StoreReader& store, std::int64_t runId, const StudySettings& settings) {
    StudyView study{settings, {}, {}, {}, {}, {}};
    auto parts = studyParts(settings);
    if (!parts) return fail(parts.error());
    study.parts = std::move(*parts);
    auto stored = partsOf(store, runId, "search");
    if (!stored) return fail(stored.error());
    for (const StudyPart& part : study.parts) {
        const auto run = stored->find(part.label);
        if (run == stored->end()) continue;
        study.begun.push_back(run->second);
        study.begunLabels.push_back(part.label);
        if (run->second.state != store::RunState::Finished) continue;
        auto search = readSearch(store, part, run->second);
        if (!search) return fail(search.error());
        if (!search->best.empty()) study.searches.push_back(std::move(*search));
    }
    for (const StudySearch& search : study.searches) {
        auto level = std::ranges::find(study.levels, search.level, &StudyLevel::name);
        if (level == study.levels.end()) level = study.levels.insert(level, StudyLevel{search.level, {}, {}});
        level->searches.push_back(&search);
    }
    for (StudyLevel& level : study.levels) level.outcomes = meanOutcomes(level.searches);
    return study;
}

Result<StudyView> viewOfStudy(store::StoreReader& store, const store::RunRow& run) {
    const auto settings = studySettingsFromJson(parseObject(run.settingsJson));
    if (!settings) return fail(settings.error());
    return viewOfStudy(store, run.id, *settings);
}

Result<json> studySummary(store::StoreReader& store, std::int64_t runId, const StudySettings& settings) {
    const auto study = viewOfStudy(store, runId, settings);
    if (!study) return fail(study.error());
    return studySummary(*study);
}

json studySummary(const StudyView& study) {
    json searches = json::array(), profiles = json::array();
    for (const StudyPart& part : study.parts) searches.push_back(searchJson(study, part));
    std::vector<const StudySearch*> all;
    for (const StudySearch& search : study.searches) all.push_back(&search);
    const bool alone =
        std::ranges::all_of(study.levels, [](const StudyLevel& level) { return level.searches.size() == 1; });
    const bool oneThing = study.settings.kind == StudyKind::Resample || study.settings.kind == StudyKind::Seeds;
    if (alone && oneThing && all.size() > 1) profiles.push_back(profileJson("all", all));
    for (const StudyLevel& level : study.levels) {
        if (level.searches.size() > 1) profiles.push_back(profileJson(level.name, level.searches));
    }
    json baseline;
    if (!all.empty()) {
        baseline = scoresJson(all.front()->baseline, all.front()->positions, study.settings.search.search.seed);
    }
    return {{"study", studyKindName(study.settings.kind)},
            {"model", study.settings.search.compute.model},
            {"baseline", std::move(baseline)},
            {"levels", levelsJson(study)},
            {"pairs", pairsJson(study)},
            {"spread", all.empty() ? json(nullptr) : spreadJson(all)},
            {"profiles", std::move(profiles)},
            {"shared_items", sharedItemsJson(study)},
            {"searched_on", searchedOnJson(study)},
            {"searches", std::move(searches)}};
}

}  // namespace lpes::studies
