// Plots of a study of a search: its levels side by side.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/analysis/profile_spread.h"
#include "core/analysis/statistics.h"
#include "core/studies/plot_queries.h"
#include "core/studies/search_recorder.h"
#include "core/studies/slope_evaluator.h"
#include "core/studies/study_summary.h"

namespace lpes::studies {

namespace {

using analysis::SeriesRole;
using nlohmann::json;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string countedSearches(const StudyView& study) {
    return fmt::format("{} of {} searches", study.searches.size(), study.parts.size());
}

/// One search's best fitness so far at the end of each generation.
struct Climb {
    std::vector<double> best, prompts;
    std::optional<double> baseline;
};

/// Prompts up to the end of a generation: full candidates, less what those were spared that were given up, are not
/// allowed or failed, and the steps of descents, as many as the settings have.
class PromptCount {
  public:
    explicit PromptCount(const search::SearchSettings& settings) : m_settings(settings) {}
    Result<void> add(store::StoreReader& store, const store::CandidateRow& row) {
        using State = store::CandidateRow::State;
        const bool evaluated = row.state == State::Evaluated;
        if (row.state == State::Duplicate && !m_settings.memo) m_repeated.push_back(row.generation);
        const bool cutShort = row.state != State::Duplicate && !evaluated && row.duplicateGeneration < 0;
        if (!cutShort && !(evaluated && m_full.prompts == 0)) return {};
        auto asked = askedOf(store, row.variantId);
        if (!asked) return fail(asked.error());
        if (evaluated) m_full = *asked;
        if (cutShort) m_cutShort.emplace_back(row.generation, asked->together());
        return {};
    }
    [[nodiscard]] std::int64_t upTo(const store::GenerationRow& row) const {
        std::int64_t prompts = row.evaluations * m_full.together();
        for (const auto& [generation, asked] : m_cutShort) {
            if (generation <= row.generation) prompts -= m_full.together() - asked;
        }
        prompts += m_full.prompts *
                   std::ranges::count_if(m_repeated, [&](int generation) { return generation <= row.generation; });
        const std::int64_t items = std::min<std::int64_t>(m_settings.gradient.items, m_full.items);
        const std::int64_t step = m_full.items > 0 ? kSlopeCost * items * m_full.prompts / m_full.items : 0;
        return prompts + step * m_settings.gradient.steps * search::descentsUpTo(m_settings, row.generation);
    }

  private:
    const search::SearchSettings& m_settings;
    AskedPrompts m_full;
    std::vector<std::pair<int, std::int64_t>> m_cutShort;  ///< generation, prompts
    std::vector<int> m_repeated;                           ///< generations of duplicates that were evaluated again
};

Result<Climb> climbOf(store::StoreReader& store, const store::RunRow& run, const search::SearchSettings& settings) {
    auto generations = store.generations(run.id);
    if (!generations) return fail(generations.error());
    auto candidates = store.candidates(run.id);
    if (!candidates) return fail(candidates.error());
    auto variants = store.variants(run.id);
    if (!variants) return fail(variants.error());
    Climb climb;
    PromptCount count(settings);
    for (const store::CandidateRow& row : *candidates) {
        if (auto added = count.add(store, row); !added) return fail(added.error());
        if (row.state != store::CandidateRow::State::Evaluated) continue;
        const auto variant = std::ranges::find(*variants, row.variantId, &store::VariantRow::id);
        if (variant != variants->end() && changesNothing(*variant)) climb.baseline = row.fitness;
    }
    for (const store::GenerationRow& row : *generations) {
        const double before = climb.best.empty() ? row.best : climb.best.back();
        climb.best.push_back(std::isfinite(before) ? std::fmax(before, row.best) : row.best);
        climb.prompts.push_back(static_cast<double>(count.upTo(row)));
    }
    return climb;
}

/// A search that ended earlier keeps its best.
double held(const std::vector<double>& values, std::size_t generation) {
    return values[std::min(generation, values.size() - 1)];
}

void addClimbs(analysis::ProgressPlot::Series& series, const std::vector<Climb>& climbs) {
    std::size_t generations = 0;
    for (const Climb& climb : climbs) generations = std::max(generations, climb.best.size());
    for (std::size_t generation = 0; generation < generations; ++generation) {
        std::vector<double> best;
        double prompts = 0.0;
        for (const Climb& climb : climbs) {
            best.push_back(held(climb.best, generation));
            prompts += held(climb.prompts, generation) / static_cast<double>(climbs.size());
        }
        const auto [low, high] = std::ranges::minmax(best);
        const double mean = analysis::mean(best);
        series.byGeneration.push_back({static_cast<double>(generation), mean, low, high});
        series.byPrompts.push_back({prompts, mean, low, high});
    }
}

/// The curve plot of one search with its only series under the level's name.
Result<void> addCurveOf(analysis::CurvePlot& plot, store::StoreReader& store, const StudySearch& search,
                        const std::string& name) {
    auto data = plotData(store, search.run, "curve");
    if (!data) return fail(data.error());
    auto& own = std::get<analysis::CurvePlot>(*data);
    for (analysis::CurvePlot::Series& series : own.series) {
        series.name = name;
        series.role = SeriesRole::Other;
        // Those of several curves cannot be told apart.
        series.controlPoints.clear();
        plot.series.push_back(std::move(series));
    }
    return {};
}

analysis::CurvePlot::Series meanCurve(const std::string& name, SeriesRole role,
                                      const std::vector<const StudySearch*>& searches) {
    std::vector<std::vector<double>> profiles;
    for (const StudySearch* search : searches) profiles.push_back(search->scales);
    analysis::ProfileSpread spread = analysis::profileSpread(profiles);
    return {fmt::format("{} (mean of {})", name, searches.size()),
            role,
            std::move(spread.mean),
            {},
            {},
            std::move(spread.low),
            std::move(spread.high)};
}

/// Accuracy, gap and answer NLL of the baseline or a level of a study, with their intervals.
void addScores(analysis::MethodsPlot::Method& method, const json& row) {
    const auto estimate = [&](const char* value, const std::string& ends) -> analysis::Estimate {
        const auto number = [&](const std::string& key) {
            return row[key].is_number() ? row[key].get<double>() : kNaN;
        };
        return {number(value), number(ends + "_low"), number(ends + "_high")};
    };
    method.accuracy = estimate("mean_accuracy", "accuracy");
    method.gap = estimate("gap", "gap");
    method.answerNll = estimate("answer_nll", "answer_nll");
}

analysis::MethodsPlot::Method levelMethod(const json& level) {
    const auto number = [&](const char* key) { return level[key].is_number() ? level[key].get<double>() : kNaN; };
    analysis::MethodsPlot::Method method;
    method.name = level["level"].get<std::string>();
    const auto searches = level["searches"].get<std::int64_t>();
    if (searches > 1) method.name += fmt::format(" (mean of {})", searches);
    addScores(method, level);
    method.nllDifference = {number("nll_difference"), number("nll_low"), number("nll_high")};
    method.pValue = number("p_value");
    method.pHolm = number("p_holm");
    method.verdict = level["verdict"].get<std::string>();
    return method;
}

}  // namespace

Result<analysis::PlotData> studyCurves(store::StoreReader& store, const RunView& view) {
    const auto study = viewOfStudy(store, view.run);
    if (!study) return fail(study.error());
    if (study->searches.empty()) return noData(view, "curve", "no search has finished yet");
    if (!study->settings.search.search.groups.perLayer())
        return noData(view, "curve", "its scales belong to more than a layer; 'lpes report' has them in numbers");
    analysis::CurvePlot plot;
    plot.title = fmt::format("Profiles of the study {}", studyKindName(study->settings.kind));
    plot.subtitle = fmt::format("{} · {}", view.subtitle(0), countedSearches(*study));
    plot.trainedContext = view.model.contextLength;
    plot.scaleMin = study->settings.search.search.constraints.scaleMin;
    plot.scaleMax = study->settings.search.search.constraints.scaleMax;
    plot.gridStep = study->settings.search.search.constraints.gridStep.value_or(0.0);
    std::vector<const StudySearch*> all;
    for (const StudySearch& search : study->searches) all.push_back(&search);
    const bool oneThing = study->settings.kind == StudyKind::Resample || study->settings.kind == StudyKind::Seeds;
    if (oneThing && all.size() > 1) plot.series.push_back(meanCurve("mean", SeriesRole::Best, all));
    for (const StudyLevel& level : study->levels) {
        if (level.searches.size() > 1) {
            plot.series.push_back(meanCurve(level.name, SeriesRole::Other, level.searches));
        } else if (auto added = addCurveOf(plot, store, *level.searches.front(), level.name); !added) {
            return fail(added.error());
        }
    }
    return plot;
}

Result<analysis::PlotData> studyConvergence(store::StoreReader& store, const RunView& view) {
    const auto study = viewOfStudy(store, view.run);
    if (!study) return fail(study.error());
    analysis::ProgressPlot plot;
    plot.title = "Best fitness so far on the search items";
    plot.subtitle = fmt::format("{} · {}", view.subtitle(study->settings.search.searchItems), countedSearches(*study));
    plot.fitnessLabel = fitnessLabel(study->settings.search.score);
    const bool oneThing = study->settings.kind == StudyKind::Resample || study->settings.kind == StudyKind::Seeds;
    std::vector<std::pair<std::string, std::vector<Climb>>> levels;
    bool first = true;
    for (std::size_t i = 0; i < study->begun.size(); ++i) {
        const auto part = std::ranges::find(study->parts, study->begunLabels[i], &StudyPart::label);
        auto climb = climbOf(store, study->begun[i], part->search.search);
        if (!climb) return fail(climb.error());
        if (climb->best.empty()) continue;
        // The baseline is a line where it is the same for all, which other search items make it not.
        const double baseline = climb->baseline.value_or(kNaN);
        if (!first && !(baseline == plot.baselineFitness)) plot.baselineFitness = kNaN;
        if (first) plot.baselineFitness = baseline;
        first = false;
        const std::string level = study->settings.kind == StudyKind::Seeds ? "seeds" : part->level;
        auto own = std::ranges::find(levels, level, &std::pair<std::string, std::vector<Climb>>::first);
        if (own == levels.end()) own = levels.insert(own, {level, {}});
        own->second.push_back(std::move(*climb));
    }
    if (levels.empty()) return noData(view, "convergence", "no generation has been evaluated yet");
    for (const auto& [name, climbs] : levels) {
        analysis::ProgressPlot::Series series{
            name, SeriesRole::Other, static_cast<std::int64_t>(climbs.size()), {}, {}};
        if (oneThing && levels.size() == 1) series.role = SeriesRole::Best;
        addClimbs(series, climbs);
        plot.series.push_back(std::move(series));
    }
    return plot;
}

Result<analysis::PlotData> studyScores(store::StoreReader& store, const RunView& view) {
    const auto study = viewOfStudy(store, view.run);
    if (!study) return fail(study.error());
    if (study->searches.empty()) return noData(view, "methods", "no search has finished yet");
    const json summary = studySummary(*study);
    analysis::MethodsPlot plot;
    plot.title = fmt::format("Held-out scores of the study {}", studyKindName(study->settings.kind));
    const auto items =
        study->searches.front().baseline.size() / std::max<std::size_t>(1, study->searches.front().positions.size());
    plot.subtitle = fmt::format("{} · {}", view.subtitle(static_cast<std::int64_t>(items)), countedSearches(*study));
    analysis::MethodsPlot::Method baseline;
    baseline.name = "baseline";
    baseline.role = SeriesRole::Baseline;
    addScores(baseline, summary["baseline"]);
    plot.methods.push_back(std::move(baseline));
    for (const json& level : summary["levels"]) plot.methods.push_back(levelMethod(level));
    return plot;
}

}  // namespace lpes::studies
